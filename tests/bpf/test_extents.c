/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extents: parts of an array are taken and given back; no element is ever taken
 * twice, and none is lost.
 */
#include "bpf/process/extents.h"
#include "tests/check.h"

TestSuite(extents, .timeout = 60);

static struct extent take(struct extents *e, uint32_t count)
{
	struct extent x = { 0 };

	cr_assert(extents_take(e, count, 0, &x));
	cr_assert(x.count == count);
	return x;
}

Test(extents, neighbours_become_one_part)
{
	struct extents e;
	struct extent a;
	struct extent b;
	struct extent c;
	struct extent all;

	extents_init(&e, 30);
	a = take(&e, 10);
	b = take(&e, 10);
	c = take(&e, 10);
	cr_expect(!extents_take(&e, 1, 0, &all));
	extents_give(&e, a, 0);
	extents_give(&e, c, 0);
	cr_expect(!extents_take(&e, 11, 0, &all));
	cr_assert(e.free.count == 2);
	cr_expect(e.used == 10);
	extents_give(&e, b, 0);
	all = take(&e, 30);
	cr_assert(!all.first);
	cr_assert(!e.free.count);
	cr_expect(e.used == 30);
	extents_fini(&e);
}

Test(extents, the_smallest_part_that_fits_is_taken)
{
	struct extents e;
	struct extent wide;
	struct extent narrow;

	extents_init(&e, 100);
	wide = take(&e, 20);
	take(&e, 10);
	narrow = take(&e, 5);
	take(&e, 65);
	extents_give(&e, wide, 0);
	extents_give(&e, narrow, 0);
	cr_expect(take(&e, 5).first == narrow.first);
	cr_expect(take(&e, 6).first == wide.first);
	extents_fini(&e);
}

Test(extents, an_extent_is_free_at_its_time)
{
	struct extents e;
	struct extent x;

	extents_init(&e, 10);
	x = take(&e, 10);
	extents_give(&e, x, 2000);
	extents_give(&e, (struct extent){ 0 }, 3000);
	cr_expect(!extents_take(&e, 1, 1999, &x));
	cr_expect(extents_take(&e, 10, 2000, &x));
	cr_expect(!e.held.count);
	/* What is free now does not wait for what was given back before. */
	extents_give(&e, (struct extent){ 0, 5 }, 5000);
	extents_give(&e, (struct extent){ 5, 5 }, 3000);
	cr_assert(extents_take(&e, 5, 3000, &x));
	cr_expect(x.first == 5);
	cr_expect(!extents_take(&e, 1, 3000, &x));
	extents_fini(&e);
	extents_init(&e, 0);
	cr_expect(!extents_take(&e, 1, 0, &x));
	extents_fini(&e);
}

/* Random takes and gifts, beside a plain array of flags. */
Test(extents, no_element_is_taken_twice_or_lost)
{
	enum {
		SIZE = 512,
		HELD = 64,
	};
	struct extents e;
	struct extent held[HELD];
	bool taken[SIZE] = { 0 };
	size_t count = 0;
	uint64_t state = 88172645463325252;

	extents_init(&e, SIZE);
	for (int turn = 0; turn < 20000; turn++) {
		struct extent x;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		if (state % 2 && count < HELD) {
			uint32_t want = 1 + (uint32_t)(state >> 8) % 32;

			if (!extents_take(&e, want, 0, &x))
				continue;
			for (uint32_t i = 0; i < x.count; i++) {
				cr_assert(!taken[x.first + i]);
				taken[x.first + i] = true;
			}
			held[count++] = x;
		} else if (count) {
			size_t at = (state >> 8) % count;

			x = held[at];
			held[at] = held[--count];
			memset(&taken[x.first], 0, x.count);
			extents_give(&e, x, 0);
		}
	}
	while (count)
		extents_give(&e, held[--count], 0);
	take(&e, SIZE);
	extents_fini(&e);
}
