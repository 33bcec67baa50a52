/* SPDX-License-Identifier: Apache-2.0 */
/* Radix sort, beside a sort that compares. */
#include "base/radix.h"

#include <inttypes.h>

#include "tests/check.h"

TestSuite(radix, .timeout = 30);

enum {
	MAX = 3000
};

/* Whether items are sorted, and equal ones in the order of their indexes. */
static bool is_sorted(const struct radix_item *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (v[i - 1].key > v[i].key)
			return false;
		if (v[i - 1].key == v[i].key && v[i - 1].index > v[i].index)
			return false;
	}
	return true;
}

/* Sort n items whose keys differ in the bits of a mask. */
static void check_sort(size_t n, uint64_t mask)
{
	static struct radix_item v[MAX];
	static struct radix_item scratch[MAX];
	uint64_t state = n * 2 + 1;
	bool seen[MAX] = { false };

	for (uint32_t i = 0; i < n; i++) {
		state = state * 6364136223846793005 + 1442695040888963407;
		v[i] = (struct radix_item){ (state ^ state >> 32) & mask, i };
	}
	radix_sort(v, n, scratch);
	cr_expect(is_sorted(v, n), "%zu %" PRIx64, n, mask);
	for (size_t i = 0; i < n; i++) {
		cr_assert(!seen[v[i].index], "%zu", i);
		seen[v[i].index] = true;
	}
}

Test(radix, items_are_sorted_and_equal_ones_keep_their_order)
{
	static const uint64_t masks[] = {
		0, 1, 0xff, 0xff00, 0xffffff, 0xff00000000000000, UINT64_MAX
	};

	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		for (size_t n = 0; n < 40; n++)
			check_sort(n, masks[i]);
		check_sort(MAX, masks[i]);
	}
}
