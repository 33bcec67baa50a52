/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/extents.h"

void extents_init(struct extents *e, uint32_t count)
{
	*e = (struct extents){ .count = count };
	if (count)
		*vec_add(&e->free) = (struct extent){ .count = count };
}

void extents_fini(struct extents *e)
{
	vec_fini(&e->free);
	vec_fini(&e->held);
}

/*
 * Return the position in e->free of the first part that begins behind
 * `element`.
 */
static size_t extents_after(const struct extents *e, uint32_t element)
{
	return vec_partition_point(&e->free, x, x->first <= element);
}

/* Whether the second extent begins where the first one ends. */
static bool extents_touch(const struct extent *a, const struct extent *b)
{
	return a->first + a->count == b->first;
}

/* Free an extent, and join it with the free parts that it touches. */
static void extents_merge(struct extents *e, struct extent extent)
{
	size_t at = extents_after(e, extent.first);

	e->used -= extent.count;
	e->leaving -= extent.count;
	if (at < e->free.count && extents_touch(&extent, &e->free.v[at])) {
		extent.count += e->free.v[at].count;
		vec_remove(&e->free, at, 1);
	}
	if (at && extents_touch(&e->free.v[at - 1], &extent))
		e->free.v[at - 1].count += extent.count;
	else
		*vec_insert(&e->free, at) = extent;
}

/* Free the extents whose delay is over. */
static void extents_settle(struct extents *e, uint64_t now)
{
	size_t n = 0;

	while (n < e->held.count && e->held.v[n].free_at <= now)
		extents_merge(e, e->held.v[n++].extent);
	vec_remove(&e->held, 0, n);
}

bool extents_take(struct extents *e, uint32_t count, uint64_t now,
		  struct extent *out)
{
	size_t best = SIZE_MAX;

	extents_settle(e, now);
	for (size_t i = 0; i < e->free.count; i++) {
		if (e->free.v[i].count >= count &&
		    (best == SIZE_MAX ||
		     e->free.v[i].count < e->free.v[best].count))
			best = i;
	}
	if (best == SIZE_MAX)
		return false;
	*out = (struct extent){ .first = e->free.v[best].first,
				.count = count };
	e->free.v[best].first += count;
	e->free.v[best].count -= count;
	if (!e->free.v[best].count)
		vec_remove(&e->free, best, 1);
	e->used += count;
	return true;
}

void extents_give(struct extents *e, struct extent extent, uint64_t free_at)
{
	size_t at = vec_partition_point(&e->held, x, x->free_at <= free_at);

	if (!extent.count)
		return;
	e->leaving += extent.count;
	*vec_insert(&e->held, at) = (struct extent_held){
		.extent = extent,
		.free_at = free_at,
	};
}
