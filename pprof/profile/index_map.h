/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Place map: from the places of one profile's things to those of what it is
 * added to.
 *
 * Ownership: owns its array, freed by vec_fini(&map.to). Threads: one thread.
 */
#ifndef PPROF_PROFILE_INDEX_MAP_H
#define PPROF_PROFILE_INDEX_MAP_H

#include "pprof/profile/profile.h"

struct place_map {
	VEC(uint32_t) to; /* PPROF_NONE: not met yet */
};

/* Room for n places, none of them known. */
static inline void placemap_reset(struct place_map *map, size_t n)
{
	if (map->to.cap < n) {
		map->to.v = mem_realloc(map->to.v, n, sizeof(*map->to.v));
		map->to.cap = n;
	}
	if (n)
		memset(map->to.v, 0xff, n * sizeof(*map->to.v));
}

#endif
