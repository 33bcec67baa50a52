/* SPDX-License-Identifier: Apache-2.0 */
/* Which tables give way: neighbours, the oldest of which there are. */
#include "bpf/process/table_room.h"
#include "tests/check.h"

TestSuite(table_room, .timeout = 60);

static void add_part(struct table_room *r, uint32_t first, uint32_t count,
		     uint64_t used_at, bool may_go)
{
	*vec_add(&r->parts) = (struct room_part){ .extent = { first, count },
						  .used_at = used_at,
						  .may_go = may_go };
}

Test(table_room, free_ends_and_gaps_count)
{
	struct table_room r = { .capacity = 100 };
	size_t first;
	size_t end;

	cr_assert(table_room_find(&r, 100, &first, &end));
	cr_expect(first == end);
	cr_expect(!table_room_find(&r, 101, &first, &end));
	add_part(&r, 60, 10, 5, true);
	add_part(&r, 20, 10, 7, true);
	/* Free already: between them, and behind the last one. */
	cr_assert(table_room_find(&r, 30, &first, &end));
	cr_expect(first == end);
	cr_expect(table_room_find(&r, 31, &first, &end));
	cr_assert(first == 1, "30 to 100, for the one at 60 is older");
	cr_expect(end == 2, "30 to 100, for the one at 60 is older");
	cr_expect(table_room_find(&r, 71, &first, &end));
	cr_assert(first == 0);
	cr_expect(end == 2);
	cr_expect(table_room_find(&r, 100, &first, &end));
	r.parts.v[0].may_go = false;
	cr_assert(table_room_find(&r, 70, &first, &end));
	cr_expect(first == 1);
	cr_expect(!table_room_find(&r, 71, &first, &end));
	table_room_fini(&r);
}

/* Whether neighbours would do, and how recently they were used. */
static bool neighbours_do(const struct table_room *r, size_t first, size_t end,
			  uint32_t count, uint64_t *newest)
{
	uint32_t begin = first ? r->parts.v[first - 1].extent.first +
					 r->parts.v[first - 1].extent.count :
				 0;
	uint32_t stop = end < r->parts.count ? r->parts.v[end].extent.first :
					       r->capacity;

	*newest = 0;
	for (size_t i = first; i < end; i++) {
		if (!r->parts.v[i].may_go)
			return false;
		if (*newest < r->parts.v[i].used_at)
			*newest = r->parts.v[i].used_at;
	}
	return stop - begin >= count;
}

/* All neighbours of random parts, beside those that are found. */
Test(table_room, no_older_neighbours_would_do)
{
	uint64_t state = 88172645463325252;

	for (int turn = 0; turn < 2000; turn++) {
		struct table_room r = { .capacity = 200 };
		uint64_t best = UINT64_MAX;
		uint64_t newest;
		size_t first;
		size_t end;
		uint32_t count;

		for (uint32_t at = 0; at < 180;) {
			uint32_t size;

			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			at += (uint32_t)state % 4;
			size = 1 + (uint32_t)(state >> 8) % 16;
			add_part(&r, at, size, (state >> 16) % 32,
				 (state >> 32) % 8);
			at += size;
		}
		count = 1 + (uint32_t)(state >> 40) % 100;
		if (!table_room_find(&r, count, &first, &end)) {
			first = end = SIZE_MAX;
			newest = UINT64_MAX;
		} else {
			cr_assert(
				neighbours_do(&r, first, end, count, &newest));
		}
		for (size_t i = 0; i <= r.parts.count; i++) {
			for (size_t j = i; j <= r.parts.count; j++) {
				uint64_t n;

				if (neighbours_do(&r, i, j, count, &n) &&
				    n < best)
					best = n;
			}
		}
		cr_assert(best == newest);
		table_room_fini(&r);
	}
}
