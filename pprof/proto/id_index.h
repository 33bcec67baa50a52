/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Id map: translates the ids of one table of a profile (mappings, functions or
 * locations) into places, that is positions in that table. Ids 1, 2, 3 … need
 * no memory at all, other dense ids an array indexed by id, and all others a
 * sorted list, so memory follows the number of ids, not their size.
 *
 * Ownership: the map owns its memory until id_index_fini().
 * Threads: used by one thread at a time.
 */
#ifndef PPROF_PROTO_ID_INDEX_H
#define PPROF_PROTO_ID_INDEX_H

#include "base/vec.h"

/* Returned as the place of an id that is not in the table. */
#define ID_INDEX_NONE UINT32_MAX

/* An id and its place in the table. */
struct id_index_pair {
	uint64_t id;
	uint32_t place;
};

/*
 * A map in one of three forms: in sequence, dense, or sorted. The zero value is
 * an empty map; id_index_reset() prepares it for the next profile.
 */
struct id_index {
	/* The ids and their places, unless the ids are in sequence. */
	VEC(struct id_index_pair) pairs;
	size_t count;     /* number of ids added */
	uint64_t max;     /* largest id in `pairs` */
	uint32_t *places; /* if `dense`: place of each id */
	size_t places_cap;
	bool scattered; /* the ids are not 1, 2, 3 … */
	bool dense;     /* lookups use `places` instead of `pairs` */
};

/*
 * Empty the map. Its memory is kept for the next profile, but freed if an
 * exceptionally large profile made it grow.
 */
void id_index_reset(struct id_index *m);

/* Free the map's memory and leave an empty map. */
void id_index_fini(struct id_index *m);

/* Record the id of the next place of the table; places count from 0. */
void id_index_add(struct id_index *m, uint64_t id);

/*
 * Prepare the map for lookups; call once, after the last id_index_add() and
 * before the first id_index_find(). Returns false if two places have the same
 * id.
 */
bool id_index_seal(struct id_index *m);

/*
 * Implement id_index_find() for ids other than 1, 2, 3 …: returns the place of
 * id, or ID_INDEX_NONE.
 */
uint32_t id_index_find_scattered(const struct id_index *m, uint64_t id);

/* Return the place of id, or ID_INDEX_NONE if the table does not have it. */
static inline uint32_t id_index_find(const struct id_index *m, uint64_t id)
{
	if (m->scattered)
		return id_index_find_scattered(m, id);
	return id - 1 < m->count ? (uint32_t)(id - 1) : ID_INDEX_NONE;
}

/* Return whether the table has an entry with this id. */
static inline bool id_index_has(const struct id_index *m, uint64_t id)
{
	return id_index_find(m, id) != ID_INDEX_NONE;
}

/* Return the heap memory of the map, in bytes. */
static inline size_t id_index_memory(const struct id_index *m)
{
	return vec_memory(&m->pairs) + m->places_cap * sizeof(*m->places);
}

#endif
