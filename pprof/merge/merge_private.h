/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the merge share. No file outside of them includes it.
 *
 * Ownership: the merge owns what it holds, and borrows the profile being added.
 * Threads: one thread a merge.
 */
#ifndef PPROF_MERGE_MERGE_PRIVATE_H
#define PPROF_MERGE_MERGE_PRIVATE_H

#include "base/hash.h"
#include "base/table.h"
#include "pprof/merge.h"
#include "pprof/profile/index_map.h"

/*
 * What stands in the result, to be found by its hash. Profiles of one program
 * name the same things in the same order: what follows the last thing found
 * is looked at first, and mostly is it.
 */
struct merge_index {
	struct table table;
	uint32_t next;
};

struct merge {
	struct pprof out;
	size_t count;
	uint32_t next_string; /* as in an index */
	struct table mappings;
	struct merge_index functions;
	struct merge_index locations;
	struct merge_index stacks;
	struct merge_index label_sets;
	struct merge_index samples;
	struct table comments;
	VEC(int64_t) pending; /* rows of what MERGE_AVERAGE gathers */

	/* The profile being added. */
	const struct pprof *src;
	struct place_map string_map;
	struct place_map mapping_map;
	struct place_map function_map;
	struct place_map location_map;
	VEC(uint64_t) scratch; /* a location's key */
	VEC(uint32_t) frames;  /* a stack being looked up */
	VEC(struct pprof_label) labels;
	VEC(struct pprof_label) extra; /* labels that every sample gets */
	double ratios[TYPES_MAX];
	bool scaled;
	bool keep_zero;
};

/* A key, and the bytes that it is found by. */
struct merge_key {
	const void *key;
	const void *bytes;
	size_t size;
	uint64_t hash; /* once it was needed */
};

static inline uint64_t merge_hash(const void *p, size_t size)
{
	return hash_bytes((struct bytes){ .ptr = p, .len = size });
}

/* The place of a thing among the count that there are, or TABLE_NONE. */
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

/* It is not there: it will be the last one. */
static inline void merge_index_add(struct merge_index *x,
				   const struct merge_key *k, size_t place)
{
	table_add(&x->table, k->hash, (uint32_t)place);
	x->next = (uint32_t)place + 1;
}

#endif
