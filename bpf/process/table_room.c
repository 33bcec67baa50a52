/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/table_room.h"

#include <stdlib.h>

void table_room_fini(struct table_room *r)
{
	vec_fini(&r->parts);
}

uint32_t table_room_left(const struct table_room *r)
{
	uint32_t left = r->capacity;

	for (size_t i = 0; i < r->parts.count; i++) {
		if (!r->parts.v[i].may_go)
			left -= r->parts.v[i].extent.count;
	}
	return left;
}

static int room_part_compare(const void *a, const void *b)
{
	const struct room_part *x = a;
	const struct room_part *y = b;

	return (x->extent.first > y->extent.first) -
	       (x->extent.first < y->extent.first);
}

/*
 * Find the first neighbours that leave a free piece of at least `count` entries
 * when they go: the parts [*first, *end). Only parts with `may_go` that were
 * not used after the time `until` may go. False: there are no such neighbours.
 */
static bool table_room_find_until(const struct table_room *r, uint32_t count,
				  uint64_t until, size_t *first, size_t *end)
{
	uint32_t begin = 0;

	*first = 0;
	for (*end = 0; *end < r->parts.count; ++*end) {
		const struct room_part *p = &r->parts.v[*end];

		if (p->extent.first - begin >= count)
			return true;
		if (p->may_go && p->used_at <= until)
			continue;
		begin = p->extent.first + p->extent.count;
		*first = *end + 1;
	}
	return r->capacity - begin >= count;
}

/*
 * Exclude parts at the front of [*first, end), as long as the remaining parts
 * leave a free piece of at least `count` entries.
 */
static void table_room_shrink(const struct table_room *r, uint32_t count,
			      size_t *first, size_t end)
{
	uint32_t stop = end < r->parts.count ? r->parts.v[end].extent.first :
					       r->capacity;

	for (; *first < end; ++*first) {
		const struct extent *e = &r->parts.v[*first].extent;

		if (stop - (e->first + e->count) < count)
			break;
	}
}

bool table_room_find(struct table_room *r, uint32_t count, size_t *first,
		     size_t *end)
{
	uint64_t low = 0;
	uint64_t high =
		UINT64_MAX; /* the earliest time that is known to be enough */

	if (r->parts.count)
		qsort(r->parts.v, r->parts.count, sizeof(*r->parts.v),
		      room_part_compare);
	if (!table_room_find_until(r, count, high, first, end))
		return false;
	/*
	 * The later `until`, the more parts may go, so a binary search finds
	 * the earliest time that is enough.
	 */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (table_room_find_until(r, count, middle, first, end))
			high = middle;
		else
			low = middle + 1;
	}
	if (!table_room_find_until(r, count, high, first, end))
		return false;
	table_room_shrink(r, count, first, *end);
	return true;
}
