/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Place map: translates positions in the tables of one profile to positions in
 * the tables of the profile that it is merged into.
 *
 * Ownership: the map owns its array until vec_fini(&map.to).
 * Threads: used by one thread at a time.
 */
#ifndef PPROF_PROFILE_INDEX_MAP_H
#define PPROF_PROFILE_INDEX_MAP_H

#include "pprof/profile/profile.h"

/*
 * The translation of one table, as an array that is indexed by the position in
 * the source table.
 */
struct place_map {
	/* Position in the target table; PPROF_NONE: not known yet. */
	VEC(uint32_t) to;
};

/* Makes room for n entries and sets all of them to PPROF_NONE. */
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
