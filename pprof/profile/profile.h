/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile in memory: profile.proto's message as arrays, everything by place
 * instead of by id. What samples have in common (stacks, sets of labels)
 * stands apart, so that filters and graphs look at it once.
 *
 * Source: github.com/google/pprof/proto/profile.proto.
 *
 * Ownership: a profile owns its arrays; a decoded one borrows its texts from
 * the bytes that it was decoded from.
 * Threads: one thread at a time.
 */
#ifndef PPROF_PROFILE_PROFILE_H
#define PPROF_PROFILE_PROFILE_H

#include "model/types.h"
#include "pprof/wire/strtab.h"

/* No mapping. */
#define PPROF_NONE UINT32_MAX

/* The label that pprof's -diff_base puts on the base's samples. */
#define PPROF_BASE_KEY   "pprof::base"
#define PPROF_BASE_VALUE "true"

struct pprof_type {
	uint32_t type; /* strings */
	uint32_t unit;
};

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

struct pprof_function {
	uint32_t name;
	uint32_t system_name;
	uint32_t file;
	int64_t start_line;
};

struct pprof_line {
	uint32_t function; /* a place */
	int64_t line;
	int64_t column;
};

/* A run of an array. */
struct pprof_run {
	uint32_t first;
	uint32_t count;
};

/* The innermost inlined function is its first line, its caller the next. */
struct pprof_location {
	uint64_t address;
	uint32_t mapping; /* a place, or PPROF_NONE */
	struct pprof_run lines;
	bool folded;
};

/* A text, or a number with a unit. */
struct pprof_label {
	uint32_t key;
	uint32_t str;       /* when it is a text */
	uint32_t is_number; /* no padding: labels are hashed as they lie */
	uint32_t unit;
	int64_t num;
};

struct pprof_sample {
	uint32_t stack;
	uint32_t labels; /* a set */
};

struct pprof {
	struct strtab strings;
	VEC(struct pprof_type) types;
	VEC(struct pprof_mapping) mappings;
	VEC(struct pprof_function) functions;
	VEC(struct pprof_line) lines;
	VEC(struct pprof_location) locations;
	VEC(uint32_t) frames; /* of stacks: places of locations, leaf first */
	VEC(struct pprof_run) stacks;
	VEC(struct pprof_label) labels;
	VEC(struct pprof_run) label_sets;
	VEC(struct pprof_sample) samples;
	VEC(int64_t) values; /* a row of types.count for each sample */

	int64_t time_ns;
	int64_t duration_ns;
	int64_t period;
	struct pprof_type period_type;
	uint32_t default_type;
	uint32_t drop_frames;
	uint32_t keep_frames;
	uint32_t doc_url;
	VEC(uint32_t) comments;
};

static inline struct str pprof_str(const struct pprof *p, uint32_t i)
{
	return strtab_get(&p->strings, i);
}

static inline int64_t *pprof_values(const struct pprof *p, size_t sample)
{
	return p->values.v + sample * p->types.count;
}

/* Of a sample, leaf first. */
static inline const struct pprof_run *pprof_stack(const struct pprof *p,
						  size_t sample)
{
	return &p->stacks.v[p->samples.v[sample].stack];
}

/* The end of a path, as Go's filepath.Base, but nothing of nothing. */
struct str pprof_base_name(struct str path);

/*
 * Forget everything, but keep the memory of arrays; to be called before a
 * zeroed one is filled.
 */
void pprof_reset(struct pprof *p);
void pprof_fini(struct pprof *p);

/* Bytes that it takes. */
size_t pprof_memory(const struct pprof *p);

/*
 * The sample type that name stands for, as pprof's sample_index: a name, a
 * number from 0, or nothing for the default one. ERR_INVALID lists them.
 */
NODISCARD int pprof_type_index(const struct pprof *p, struct str name,
			       size_t *out, struct err *err);

/*
 * Multiply the values of each type by its ratio, rounding half away from zero,
 * and drop samples that this leaves without value: pprof's ScaleN.
 */
void pprof_scale(struct pprof *p, const double *ratios);

/*
 * Keep the samples whose stack and whose set of labels are marked; NULL marks
 * all.
 */
void pprof_keep(struct pprof *p, const bool *stacks, const bool *label_sets);

/* Put a text label on every sample, in place of another of that key. */
void pprof_set_label(struct pprof *p, struct str key, struct str value);

#endif
