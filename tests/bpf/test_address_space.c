/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address spaces: ranges replace what they overlap, as mmap() does.
 */
#include "bpf/process/address_space.h"
#include "tests/check.h"

TestSuite(address_space, .timeout = 60);

enum {
	PAGES = 200,
	PAGE = 4096,
};

static struct address_pool pool;

/* Map pages, from a place in a file. */
static bool map_pages(struct address_space *a, uint64_t first, uint64_t count,
		      uint32_t file, uint64_t offset)
{
	return address_space_map(&pool, a,
				 (struct address_range){
					 .start = first * PAGE,
					 .end = (first + count) * PAGE,
					 .offset = offset * PAGE,
					 .file = file,
				 });
}

/* The page of the file that is at a page, or UINT64_MAX. */
static uint64_t page_at(const struct address_space *a, uint64_t page,
			uint32_t *file)
{
	const struct address_range *r = address_space_find(a, page * PAGE);

	if (!r)
		return UINT64_MAX;
	*file = r->file;
	return (r->offset + page * PAGE - r->start) / PAGE;
}

Test(address_space, a_range_in_the_middle_leaves_both_ends)
{
	struct address_space a = { 0 };
	uint32_t file = 0;

	cr_expect(map_pages(&a, 10, 10, 1, 0));
	cr_expect(map_pages(&a, 13, 3, 2, 5));
	cr_expect(address_space_count(&a) == 3);
	cr_assert(page_at(&a, 12, &file) == 2);
	cr_expect(file == 1);
	cr_assert(page_at(&a, 13, &file) == 5);
	cr_expect(file == 2);
	cr_assert(page_at(&a, 15, &file) == 7);
	cr_expect(file == 2);
	cr_assert(page_at(&a, 16, &file) == 6);
	cr_expect(file == 1);
	cr_expect(page_at(&a, 19, &file) == 9);
	cr_expect(page_at(&a, 20, &file) == UINT64_MAX);
	cr_expect(page_at(&a, 9, &file) == UINT64_MAX);
	address_space_clear(&pool, &a);
}

/* Random ranges, beside an array of pages. */
Test(address_space, random_ranges_are_those_of_a_plain_array)
{
	struct address_space a = { 0 };
	uint64_t offsets[PAGES];
	uint32_t files[PAGES] = { 0 };
	uint64_t state = 88172645463325252;

	for (size_t i = 0; i < PAGES; i++)
		offsets[i] = UINT64_MAX;
	for (uint32_t turn = 1; turn < 5000; turn++) {
		uint64_t first;
		uint64_t count;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		first = (state >> 8) % PAGES;
		count = 1 + (state >> 32) % (PAGES - first);
		count = state % 4 ? 1 + count % 8 : count;
		if (first + count > PAGES)
			count = PAGES - first;
		cr_assert(map_pages(&a, first, count, turn, 7));
		for (uint64_t i = 0; i < count; i++) {
			offsets[first + i] = 7 + i;
			files[first + i] = turn;
		}
		for (uint64_t i = 0; i < PAGES; i++) {
			uint32_t file = 0;

			cr_assert(page_at(&a, i, &file) == offsets[i]);
			cr_assert(file == files[i]);
		}
	}
	for (size_t i = 1; i < address_space_count(&a); i++)
		cr_expect(address_space_at(&a, i - 1)->end <=
			  address_space_at(&a, i)->start);
	address_space_clear(&pool, &a);
}

Test(address_space, there_are_never_more_ranges_than_the_limit)
{
	struct address_space a = { 0 };
	uint32_t file = 0;
	uint64_t mapped = 0;

	for (uint64_t i = 0; i < 2 * ADDRESS_RANGES_MAX; i++)
		mapped += map_pages(&a, 10 * i, 5, 1, 0);
	cr_expect(mapped <= ADDRESS_RANGES_MAX);
	cr_expect(address_space_count(&a) == mapped);
	/* Neither by cuts in the middle. */
	for (uint64_t i = 0; i < ADDRESS_RANGES_MAX; i++)
		cr_expect(!map_pages(&a, 10 * i + 2, 1, 2, 0) ||
			  address_space_count(&a) <= ADDRESS_RANGES_MAX);
	cr_expect(address_space_count(&a) <= ADDRESS_RANGES_MAX);
	/* Mappings that the new one overlaps have been removed. */
	cr_expect(page_at(&a, 102, &file) == UINT64_MAX || file == 2);
	/* One large range makes room. */
	cr_expect(map_pages(&a, 0, 100000, 3, 0));
	cr_expect(address_space_count(&a) == 1);
	address_space_clear(&pool, &a);
}

Test(address_space, ranges_are_shared_until_one_side_changes)
{
	struct address_space parent = { 0 };
	struct address_space children[3] = { 0 };
	uint32_t file = 0;
	size_t before;

	for (uint64_t i = 0; i < 1000; i++)
		cr_assert(map_pages(&parent, 10 * i, 5, 1, 0));
	before = pool.ranges;
	for (size_t i = 0; i < ARRAY_SIZE(children); i++)
		address_space_share(&children[i], &parent);
	cr_assert(pool.ranges == before);
	cr_expect(before >= 1000);
	cr_expect(map_pages(&children[1], 7, 1, 2, 0));
	cr_expect(map_pages(&parent, 8, 1, 3, 0));
	cr_assert(pool.ranges <= 4 * before);
	cr_expect(pool.ranges >= 3000);
	cr_expect(page_at(&children[0], 7, &file) == UINT64_MAX);
	cr_expect(page_at(&children[0], 8, &file) == UINT64_MAX);
	cr_assert(!page_at(&children[1], 7, &file));
	cr_expect(file == 2);
	cr_expect(page_at(&children[1], 8, &file) == UINT64_MAX);
	cr_expect(page_at(&parent, 7, &file) == UINT64_MAX);
	cr_assert(!page_at(&parent, 8, &file));
	cr_expect(file == 3);
	address_space_clear(&pool, &parent);
	cr_assert(!page_at(&children[2], 10, &file));
	cr_expect(file == 1);
	for (size_t i = 0; i < ARRAY_SIZE(children); i++)
		address_space_clear(&pool, &children[i]);
	cr_expect(!pool.ranges);
}

Test(address_space, a_full_pool_leaves_nothing_wrong)
{
	enum {
		SPACES = ADDRESS_POOL_MAX / 1000 + 1
	};
	struct address_space *spaces =
		mem_zalloc(SPACES, sizeof(struct address_space));
	struct address_space child = { 0 };
	uint32_t file = 0;

	for (size_t i = 0; i < SPACES; i++) {
		for (uint64_t k = 0; k < 1000; k++)
			(void)!map_pages(&spaces[i], 10 * k, 5, 1, 0);
	}
	cr_expect(address_pool_is_full(&pool));
	cr_expect(pool.ranges < ADDRESS_POOL_MAX + 2 * ADDRESS_RANGES_MAX);
	/* The mappings of the child are other ones now, and not known. */
	address_space_share(&child, &spaces[0]);
	cr_expect(!map_pages(&child, 0, 1, 2, 0));
	cr_expect(!address_space_count(&child));
	cr_assert(!page_at(&spaces[0], 0, &file));
	cr_expect(file == 1);
	address_space_clear(&pool, &spaces[1]);
	cr_expect(map_pages(&child, 0, 1, 2, 0));
	address_space_clear(&pool, &child);
	for (size_t i = 0; i < SPACES; i++)
		address_space_clear(&pool, &spaces[i]);
	cr_expect(!pool.ranges);
	mem_free(spaces);
}
