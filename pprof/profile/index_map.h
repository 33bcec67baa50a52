/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Place map: translates the indexes of objects in a profile or dictionary to
 * their indexes in the profile or dictionary to which they are added.
 *
 * Ownership: the map owns its array until vec_fini(&map.to).
 * Threads: used by one thread at a time.
 */
#ifndef PPROF_PROFILE_INDEX_MAP_H
#define PPROF_PROFILE_INDEX_MAP_H

#include "pprof/profile/profile.h"

/*
 * The map for one kind of object. The array is indexed by the object's index in
 * the source.
 */
struct place_map {
	/* Index in the target; PPROF_NONE: not known yet. */
	VEC(uint32_t) to;
};

/* Make room for n entries, which are PPROF_NONE; the array is never NULL. */
static inline void placemap_reset(struct place_map *map, size_t n)
{
	if (!map->to.v || map->to.cap < n) {
		map->to.v = mem_realloc(map->to.v, n + 1, sizeof(*map->to.v));
		map->to.cap = n + 1;
	}
	memset(map->to.v, 0xff, n * sizeof(*map->to.v));
}

/* Make room for n entries, of which the first `known` stay as they are. */
static inline void placemap_extend(struct place_map *map, size_t known,
				   size_t n)
{
	map->to.count = known;
	if (n <= known)
		return;
	vec_reserve(&map->to, n - known);
	memset(map->to.v + known, 0xff, (n - known) * sizeof(*map->to.v));
}

#endif
