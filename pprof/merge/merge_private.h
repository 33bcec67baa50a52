/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of pprof/merge/ share. No other file includes
 * this header.
 *
 * The source is the profile that is being added; the result is what has been
 * merged so far.
 *
 * Ownership: the merge owns its data and borrows the profile that is being
 * added.
 * Threads: one thread per merge.
 */
#ifndef PPROF_MERGE_MERGE_PRIVATE_H
#define PPROF_MERGE_MERGE_PRIVATE_H

#include "base/hash.h"
#include "base/table.h"
#include "pprof/merge/merge.h"
#include "pprof/profile/index_map.h"

/*
 * An index that finds objects of the result by hash. Profiles of one program
 * have the same objects in the same order, so a lookup first compares the
 * object that follows the last one found. Most of the time that object matches,
 * and no hash is computed (docs/decisions.md, 40).
 */
struct merge_index {
	struct table table;
	uint32_t next; /* index of the object to compare first */
};

/* The state of a merge. */
struct merge {
	struct pprof out;     /* the result */
	size_t count;         /* number of profiles added */
	uint32_t next_string; /* index of the string to compare first */
	/*
	 * Find equal objects in the result; one index for each kind of object.
	 */
	struct table mappings;
	struct merge_index functions;
	struct merge_index locations;
	struct merge_index stacks;
	struct merge_index label_sets;
	struct merge_index samples;
	struct table comments;
	/*
	 * Sums of the types with MERGE_AVERAGE, until merge_average() divides
	 * them; in the order of out.values. If values are collected, those of
	 * all types, until merge_collected() takes them.
	 */
	VEC(int64_t) pending;
	/* The samples that have a value in `pending`; some of them twice. */
	VEC(uint32_t) touched;
	bool collects; /* whether all values are collected */

	/* The source, and where its objects are in the result. */
	const struct pprof *src;
	struct place_map string_map;
	struct place_map mapping_map;
	struct place_map function_map;
	struct place_map location_map;
	struct place_map sample_map; /* of sums only */
	/*
	 * How many objects of the last source have an entry in these maps;
	 * samples: 0 if it was no sum, or other labels are added now.
	 */
	size_t placed_mappings;
	size_t placed_locations;
	size_t placed_samples;
	VEC(uint64_t) scratch; /* lookup key of a location, as 64-bit words */
	VEC(uint32_t) frames;  /* locations of the stack being looked up */
	VEC(struct pprof_label) labels; /* labels of the set being looked up */
	VEC(struct pprof_label) extra;  /* labels that merge_label() set */
	/*
	 * Unit conversion from the source to the result: a factor for each
	 * type.
	 */
	double ratios[TYPES_MAX];
	bool scaled;    /* whether any of the ratios is not 1 */
	bool keep_zero; /* also add samples whose values are all 0 */
	bool continues; /* the source is the last sum, with other values */
	/*
	 * The sample type that is merged, and the type of the period; with
	 * `by_name`, only the name of the sample type counts.
	 */
	bool is_projected;
	bool by_name;
	struct value_type only;
	struct value_type period;
	VEC(int64_t) column; /* its values in the source */
	/*
	 * The matchers of samples, and for each label set of the source whether
	 * they match it.
	 */
	const struct matcher *match;
	size_t match_count;
	const struct limits *match_limits;
	VEC(bool) passes;
};

/*
 * The lookup key of an object: the argument for the equality callback, and the
 * bytes to hash.
 */
struct merge_key {
	const void *key;
	const void *bytes;
	size_t size;
	uint64_t hash; /* set if the lookup had to compute it */
};

/* Return the hash of `size` bytes at `p`. */
static inline uint64_t merge_hash(const void *p, size_t size)
{
	return hash_key((struct bytes){ .ptr = p, .len = size });
}

/*
 * Return the array index of the result's object with key k, or TABLE_NONE.
 * `count` is the number of objects of this kind in the result. If the result is
 * TABLE_NONE, k->hash is set, which merge_index_add() needs.
 */
static inline uint32_t merge_index_find(const struct merge *m,
					struct merge_index *x, size_t count,
					table_same_fn same, struct merge_key *k)
{
	uint32_t to = x->next;

	if (to >= count || !same(m, to, k->key)) {
		k->hash = merge_hash(k->bytes, k->size);
		to = table_find(&x->table, k->hash, same, m, k->key);
	}
	if (to != TABLE_NONE)
		x->next = to + 1;
	return to;
}

/*
 * Add an object that merge_index_find() did not find; `place` is the array
 * index at which the caller appends the object to the result.
 */
static inline void merge_index_add(struct merge_index *x,
				   const struct merge_key *k, size_t place)
{
	table_add(&x->table, k->hash, (uint32_t)place);
	x->next = (uint32_t)place + 1;
}

/*
 * Find out which label sets of p the matchers match. Errors of the limits of
 * merge_match().
 */
NODISCARD int merge_judge_labels(struct merge *m, const struct pprof *p,
				 struct err *err);

/* Whether the matchers match any sample of p, which was judged. */
bool merge_takes_any(const struct merge *m, const struct pprof *p);

/*
 * Return whether all `width` values of a row are 0, apart from the values of
 * sample types with MERGE_SKIP in `ops`. `ops` may be NULL: all values count.
 */
bool merge_is_zero(const int64_t *v, size_t width, const enum merge_op *ops);

/*
 * Add the samples of m->src to the result. `ops` has one operation for each
 * sample type; NULL adds all values.
 */
void merge_add_samples(struct merge *m, const enum merge_op *ops);

/*
 * Add all samples of the source, which is a sum, also those whose values are 0.
 * Remembers their places in m->sample_map.
 */
void merge_add_sum_samples(struct merge *m, const enum merge_op *ops);

/*
 * For each sample type, chooses the finer of the units of the result and of p.
 * If that is the unit of p, converts the result's values now; otherwise sets
 * m->ratios, by which the values of p are to be multiplied. The types must
 * agree.
 */
void merge_common_units(struct merge *m, const struct pprof *p);

/*
 * Return the period of p in the unit of the result; convert the result's
 * period first if p has the finer unit.
 */
int64_t merge_common_period(struct merge *m, const struct pprof *p);

/*
 * Copy the sample types, the period with its type, drop_frames and
 * keep_frames of the first profile to the empty result.
 */
void merge_take_types(struct merge *m, const struct pprof *p);

/*
 * Return 0 if p can be added to the result. ERR_INVALID: the number of sample
 * types differs, or the name or kind of unit (bytes, times …) of a sample type
 * or of the period; the message names the types of both profiles.
 */
NODISCARD int merge_check_types(struct merge *m, const struct pprof *p,
				struct err *err);

/*
 * Return the index that string i of m->src has in the result. A string that
 * the result does not have is added.
 */
uint32_t merge_map_string(struct merge *m, uint32_t i);

/*
 * Return the index that mapping i of m->src has in the result. A mapping that
 * the result does not have is added.
 */
uint32_t merge_map_mapping(struct merge *m, uint32_t i);

/*
 * Return the index that a stack of m->src has in the result. A stack that the
 * result does not have is added, with its locations.
 */
uint32_t merge_map_stack(struct merge *m, const struct pprof_run *stack);

#endif
