/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ids of a profile's table, and at which place of the table each stands:
 * nothing at all for 1, 2, 3 …, an array for other dense ones, a sorted list
 * for the rest, so that memory follows the number of ids, not their size.
 *
 * Ownership: idmap_fini() frees.
 * Threads: one thread at a time.
 */
#ifndef PPROF_WIRE_IDMAP_H
#define PPROF_WIRE_IDMAP_H

#include "base/vec.h"

#define IDMAP_NONE UINT32_MAX

struct idmap_pair {
	uint64_t id;
	uint32_t place;
};

/* The zero value is an empty map; reset it to use its memory again. */
struct idmap {
	VEC(struct idmap_pair) pairs; /* when not in sequence */
	size_t count;
	uint64_t max;
	uint32_t *places; /* by id, when dense */
	size_t places_cap;
	bool scattered; /* the ids are not 1, 2, 3 … */
	bool dense;
};

void idmap_reset(struct idmap *m);
void idmap_fini(struct idmap *m);

/* The id of the next place of the table. */
void idmap_add(struct idmap *m, uint64_t id);

/* To be called once, before idmap_find(). False: an id stands there twice. */
bool idmap_seal(struct idmap *m);

uint32_t idmap_find_scattered(const struct idmap *m, uint64_t id);

/* The place of id, or IDMAP_NONE. */
static inline uint32_t idmap_find(const struct idmap *m, uint64_t id)
{
	if (m->scattered)
		return idmap_find_scattered(m, id);
	return id - 1 < m->count ? (uint32_t)(id - 1) : IDMAP_NONE;
}

static inline bool idmap_has(const struct idmap *m, uint64_t id)
{
	return idmap_find(m, id) != IDMAP_NONE;
}

static inline size_t idmap_memory(const struct idmap *m)
{
	return vec_memory(&m->pairs) + m->places_cap * sizeof(*m->places);
}

#endif
