/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Id map: translates the ids of one table of a profile (mappings, functions or
 * locations) into places, that is positions in that table. Ids 1, 2, 3 … need
 * no memory at all, other dense ids an array indexed by id, and all others a
 * sorted list, so memory follows the number of ids, not their size.
 *
 * Ownership: the map owns its memory until idmap_fini().
 * Threads: used by one thread at a time.
 */
#ifndef PPROF_WIRE_IDMAP_H
#define PPROF_WIRE_IDMAP_H

#include "base/vec.h"

/* Result of a lookup for an id that is not in the table. */
#define IDMAP_NONE UINT32_MAX

/* An id and its place in the table. */
struct idmap_pair {
	uint64_t id;
	uint32_t place;
};

/*
 * A map in one of three forms: in sequence, dense, or sorted. The zero value is
 * an empty map; idmap_reset() prepares it for the next profile.
 */
struct idmap {
	VEC(struct idmap_pair) pairs; /* used unless in sequence */
	size_t count;                 /* ids added */
	uint64_t max;                 /* largest id in pairs */
	uint32_t *places;             /* indexed by id, if dense */
	size_t places_cap;
	bool scattered; /* the ids are not 1, 2, 3 … */
	bool dense;     /* lookups use places instead of pairs */
};

/*
 * Empties the map and keeps its memory, unless an exceptionally large profile
 * made it grow; then the memory is freed.
 */
void idmap_reset(struct idmap *m);

/* Frees the map's memory and leaves an empty map. */
void idmap_fini(struct idmap *m);

/* Records the id of the next place of the table; places count from 0. */
void idmap_add(struct idmap *m, uint64_t id);

/*
 * Prepares the map for lookups; call once, after the last idmap_add() and
 * before the first idmap_find(). Returns false if two places have the same id.
 */
bool idmap_seal(struct idmap *m);

/*
 * Implements idmap_find() for ids that are not 1, 2, 3 …; returns the place of
 * id, or IDMAP_NONE.
 */
uint32_t idmap_find_scattered(const struct idmap *m, uint64_t id);

/* Returns the place of id, or IDMAP_NONE if the table does not have it. */
static inline uint32_t idmap_find(const struct idmap *m, uint64_t id)
{
	if (m->scattered)
		return idmap_find_scattered(m, id);
	return id - 1 < m->count ? (uint32_t)(id - 1) : IDMAP_NONE;
}

/* Returns whether the table has an entry with this id. */
static inline bool idmap_has(const struct idmap *m, uint64_t id)
{
	return idmap_find(m, id) != IDMAP_NONE;
}

/* Returns the heap memory of the map, in bytes. */
static inline size_t idmap_memory(const struct idmap *m)
{
	return vec_memory(&m->pairs) + m->places_cap * sizeof(*m->places);
}

#endif
