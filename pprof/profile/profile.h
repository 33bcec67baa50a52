/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile in memory: the message of profile.proto as arrays in which objects
 * refer to each other by array index instead of by id. Stacks and label sets
 * are stored apart from samples, so that filters and graphs process each of
 * them once, however many samples share it.
 *
 * Source: github.com/google/pprof/proto/profile.proto.
 *
 * Ownership: a profile owns its arrays; a decoded profile borrows its strings
 * from the bytes that it was decoded from.
 * Threads: used by one thread at a time.
 */
#ifndef PPROF_PROFILE_PROFILE_H
#define PPROF_PROFILE_PROFILE_H

#include "model/types.h"
#include "pprof/profile/strtab.h"

/* Stands for "none" or "not known" where an index is expected. */
#define PPROF_NONE UINT32_MAX

/* The label that pprof's -diff_base puts on the samples of the base profile. */
#define PPROF_BASE_KEY   "pprof::base"
#define PPROF_BASE_VALUE "true"

/* A sample type or period type: name and unit, as indexes of strings. */
struct pprof_type {
	uint32_t type;
	uint32_t unit;
};

/*
 * A binary that is mapped into the process at addresses start <= a < limit.
 * file and build_id are indexes of strings.
 */
struct pprof_mapping {
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
	uint32_t file;
	uint32_t build_id;
	bool has_functions;
	bool has_filenames;
	bool has_lines;
	bool has_inlines;
};

/*
 * A function. name, system_name (the mangled name) and file are indexes of
 * strings.
 */
struct pprof_function {
	uint32_t name;
	uint32_t system_name;
	uint32_t file;
	int64_t start_line;
};

/* A source line of a location. */
struct pprof_line {
	uint32_t function; /* index in pprof.functions */
	int64_t line;
	int64_t column;
};

/* A run: elements first … first + count - 1 of some array. */
struct pprof_run {
	uint32_t first;
	uint32_t count;
};

/*
 * A code address. lines[0] is the innermost inlined function, the next line is
 * its caller, and so on.
 */
struct pprof_location {
	uint64_t address;
	uint32_t mapping; /* index in pprof.mappings, or PPROF_NONE */
	struct pprof_run lines;
	/*
	 * Whether functions with equal code were folded into one: lines may be
	 * wrong.
	 */
	bool folded;
};

/*
 * A label of a sample: either a text, or a number with a unit. key, str and
 * unit are indexes of strings.
 */
struct pprof_label {
	uint32_t key;
	uint32_t str; /* value of a text label */
	/*
	 * Whether the label is a number. 32 bits wide, because labels are
	 * hashed as bytes, so the struct must have no padding.
	 */
	uint32_t is_number;
	uint32_t unit;
	int64_t num;
};

/* A sample: a stack with labels. Its values are a row of pprof.values. */
struct pprof_sample {
	uint32_t stack;  /* index in pprof.stacks */
	uint32_t labels; /* index in pprof.label_sets */
};

/*
 * A profile. Strings are referred to by their index in the string table
 * `strings`, all other objects by their index in the array that holds them.
 */
struct pprof {
	struct strtab strings;
	VEC(struct pprof_type) types;
	VEC(struct pprof_mapping) mappings;
	VEC(struct pprof_function) functions;
	VEC(struct pprof_line) lines;
	VEC(struct pprof_location) locations;
	VEC(uint32_t) frames; /* indexes of locations, leaf first */
	VEC(struct pprof_run) stacks;
	VEC(struct pprof_label) labels;
	VEC(struct pprof_run) label_sets;
	VEC(struct pprof_sample) samples;
	VEC(int64_t) values; /* rows of types.count values, one per sample */

	int64_t time_ns;
	int64_t duration_ns;
	int64_t period;
	struct pprof_type period_type;
	uint32_t default_type;
	uint32_t drop_frames;
	uint32_t keep_frames;
	uint32_t doc_url;
	VEC(uint32_t) comments;

	/*
	 * Merged profiles only: whether the first mappings of the profiles, which
	 * are their programs, have different names, and different build IDs.
	 */
	bool several_programs;
	bool several_builds;
};

/* Return the string with index i, borrowed from the profile. */
static inline struct str pprof_str(const struct pprof *p, uint32_t i)
{
	return strtab_get(&p->strings, i);
}

/* Return the values of a sample, one for each sample type. */
static inline int64_t *pprof_values(const struct pprof *p, size_t sample)
{
	return p->values.v + sample * p->types.count;
}

/* Return the stack of a sample: a run of p->frames, leaf first. */
static inline const struct pprof_run *pprof_stack(const struct pprof *p,
						  size_t sample)
{
	return &p->stacks.v[p->samples.v[sample].stack];
}

/*
 * Note the program of a profile that is merged into p, the first mapping of which
 * is that of the first profile; see several_programs.
 */
void pprof_note_program(struct pprof *p, struct str file, struct str build_id);

/*
 * Return the last element of a path, borrowed, as Go's filepath.Base does,
 * except that the base name of an empty path is empty.
 */
struct str pprof_base_name(struct str path);

/*
 * Empty the profile but keeps the memory of its arrays. A zeroed profile must
 * be reset before it is filled.
 */
void pprof_reset(struct pprof *p);

/* Free the profile's arrays and leave it zeroed. */
void pprof_fini(struct pprof *p);

/* Return the heap memory of the profile, in bytes. */
size_t pprof_memory(const struct pprof *p);

/*
 * Find a sample type and store its index in *out. As in pprof's option
 * sample_index, `name` is the type's name, or the type's number counted from 0,
 * or empty for the default type. ERR_INVALID: there is no such type; the
 * message lists the types.
 */
NODISCARD int pprof_type_index(const struct pprof *p, struct str name,
			       size_t *out, struct err *err);

/*
 * Multiply the values of each sample type by ratios[type], rounding half away
 * from zero, as pprof's ScaleN does. Unless all ratios are 1, drops the samples
 * whose values are all 0 afterwards. ScaleN also drops samples whose only values
 * are of types with ratio 1: they would be missing from the totals.
 */
void pprof_scale(struct pprof *p, const double *ratios);

/*
 * Multiply `count` values, each `stride` after the one before, by a factor. What
 * rounding takes from one is given to the next, so that their sum is right although
 * all may be small.
 */
void pprof_scale_sum(int64_t *v, size_t count, size_t stride, double factor);

/*
 * Keep only the samples whose stack is marked in `stacks` and whose label set
 * is marked in `label_sets`. NULL instead of an array marks everything.
 */
void pprof_keep(struct pprof *p, const bool *stacks, const bool *label_sets);

/*
 * Return whether a label says that its samples belong to the base of a diff
 * that keeps both sides apart.
 */
bool pprof_label_is_base(const struct pprof *p, const struct pprof_label *l);

/*
 * Return whether the profile is such a diff: whether any of its label sets has
 * the label of the base. Profiles have fewer label sets than samples, so
 * callers ask this before they check each sample.
 */
bool pprof_has_base(const struct pprof *p);

/* Return whether a sample belongs to the base of a diff. */
bool pprof_sample_is_base(const struct pprof *p, size_t sample);

/*
 * Put a text label on every sample, and remove the sample's other text labels
 * with this key. The profile's strings must be interned, as in the result of a
 * merge.
 */
void pprof_set_label(struct pprof *p, struct str key, struct str value);

#endif
