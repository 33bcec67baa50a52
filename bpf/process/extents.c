/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/extents.h"

#include <string.h>

void extents_init(struct extents *e, uint32_t count)
{
	*e = (struct extents){ 0 };
	if (count)
		*vec_add(&e->free) = (struct extent){ .count = count };
}

void extents_fini(struct extents *e)
{
	vec_fini(&e->free);
	vec_fini(&e->held);
}

/* The position of the first free part behind an element. */
static size_t extents_after(const struct extents *e, uint32_t element)
{
	return vec_partition_point(&e->free, x, x->first <= element);
}

static void extents_remove(struct extents *e, size_t at)
{
	memmove(&e->free.v[at], &e->free.v[at + 1],
		(e->free.count - at - 1) * sizeof(*e->free.v));
	e->free.count--;
}

static void extents_insert(struct extents *e, size_t at, struct extent extent)
{
	vec_reserve(&e->free, 1);
	memmove(&e->free.v[at + 1], &e->free.v[at],
		(e->free.count - at) * sizeof(*e->free.v));
	e->free.v[at] = extent;
	e->free.count++;
}

/* Make an extent free, as one part with those that it touches. */
static void extents_merge(struct extents *e, struct extent extent)
{
	size_t at = extents_after(e, extent.first);
	struct extent *before = at ? &e->free.v[at - 1] : NULL;
	struct extent *after = at < e->free.count ? &e->free.v[at] : NULL;

	e->used -= extent.count;
	if (after && extent.first + extent.count == after->first) {
		after->first = extent.first;
		after->count += extent.count;
		extent = *after;
		if (before && before->first + before->count == extent.first) {
			before->count += extent.count;
			extents_remove(e, at);
		}
	} else if (before && before->first + before->count == extent.first) {
		before->count += extent.count;
	} else {
		extents_insert(e, at, extent);
	}
}

/* Make those free whose time has come. */
static void extents_settle(struct extents *e, uint64_t now)
{
	size_t n = 0;

	while (n < e->held.count && e->held.v[n].free_at <= now)
		extents_merge(e, e->held.v[n++].extent);
	if (!n)
		return;
	memmove(e->held.v, &e->held.v[n],
		(e->held.count - n) * sizeof(*e->held.v));
	e->held.count -= n;
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
		extents_remove(e, best);
	e->used += count;
	return true;
}

void extents_give(struct extents *e, struct extent extent, uint64_t free_at)
{
	if (!extent.count)
		return;
	*vec_add(&e->held) = (struct extent_held){
		.extent = extent,
		.free_at = free_at,
	};
}
