/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the merge share; no other file includes this header.
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
#include "pprof/merge.h"
#include "pprof/profile/index_map.h"

/*
 * Finds objects of the result by hash. Profiles of one program have the same
 * objects in the same order, so the object behind the last one found is
 * compared first; it is the wanted one most of the time, and no hash is
 * computed (docs/decisions.md, 40).
 */
struct merge_index {
	struct table table;
	uint32_t next; /* object to compare first */
};

/* The state of a merge. */
struct merge {
	struct pprof out;      /* the result */
	size_t count;          /* profiles added */
	uint32_t next_string;  /* string to compare first */
	struct table mappings; /* these find objects of the result */
	struct merge_index functions;
	struct merge_index locations;
	struct merge_index stacks;
	struct merge_index label_sets;
	struct merge_index samples;
	struct table comments;
	VEC(int64_t) pending; /* sums of MERGE_AVERAGE, as out.values */

	/* The source, and where its objects are in the result. */
	const struct pprof *src;
	struct place_map string_map;
	struct place_map mapping_map;
	struct place_map function_map;
	struct place_map location_map;
	VEC(uint64_t) scratch;          /* key of a location */
	VEC(uint32_t) frames;           /* stack being looked up */
	VEC(struct pprof_label) labels; /* label set being looked up */
	VEC(struct pprof_label) extra;  /* set by merge_label() */
	double ratios[TYPES_MAX];       /* unit conversion by sample type */
	bool scaled;                    /* some ratio is not 1 */
	bool keep_zero;                 /* add samples without values, too */
};

/*
 * An object to be found: the argument for the equality callback, and the bytes
 * that are hashed.
 */
struct merge_key {
	const void *key;
	const void *bytes;
	size_t size;
	uint64_t hash; /* set by a lookup that needed it */
};

/* Returns the hash of size bytes at p. */
static inline uint64_t merge_hash(const void *p, size_t size)
{
	return hash_bytes((struct bytes){ .ptr = p, .len = size });
}

/*
 * Returns the place of an object among the count objects of the result, or
 * TABLE_NONE. In the latter case k->hash is set, as merge_index_add() needs it.
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
 * Records an object that merge_index_find() did not find; the caller appends it
 * at this place.
 */
static inline void merge_index_add(struct merge_index *x,
				   const struct merge_key *k, size_t place)
{
	table_add(&x->table, k->hash, (uint32_t)place);
	x->next = (uint32_t)place + 1;
}

#endif
