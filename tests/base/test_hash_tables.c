/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash tables: numbers by hash, and numbers by pairs of numbers.
 */
#include "base/pairs.h"
#include "base/table.h"
#include "tests/check.h"

TestSuite(hash_tables, .timeout = 60);

/* The key of each number. */
struct keyed {
	uint64_t keys[4096];
};

/* How many keys were compared since `compared` was set to 0. */
static size_t compared;

static bool same_key_counted(const void *ctx, uint32_t number, const void *key)
{
	const struct keyed *k = ctx;

	compared++;
	return k->keys[number] == *(const uint64_t *)key;
}

static uint32_t find_key(const struct table *t, struct keyed *k, uint64_t hash,
			 uint64_t key)
{
	return table_find(t, hash, same_key_counted, k, &key);
}

/* Returns a hash of i. Hashes of different i differ in their upper halves. */
static uint64_t spread(uint64_t i)
{
	return i * 0x9e3779b97f4a7c15u;
}

Test(hash_tables, an_empty_table_finds_nothing)
{
	static struct keyed k;
	struct table t = { 0 };

	cr_expect(find_key(&t, &k, 0, 0) == TABLE_NONE);
	cr_expect(table_memory(&t) == 0);
	table_fini(&t);
	table_reserve(&t, 1);
	cr_assert(find_key(&t, &k, 0, 0) == TABLE_NONE);
	cr_expect(!t.count);
	cr_expect(table_memory(&t) == (t.mask + 1) * sizeof(uint64_t));
	table_fini(&t);
	cr_expect(table_memory(&t) == 0);
}

Test(hash_tables, keys_of_one_hash_are_told_apart)
{
	static struct keyed k;
	struct table t = { 0 };

	for (uint32_t i = 0; i < 100; i++) {
		k.keys[i] = 1000 + i;
		table_add(&t, 42ull << 32, i);
	}
	for (uint32_t i = 0; i < 100; i++)
		cr_expect(find_key(&t, &k, 42ull << 32, 1000 + i) == i);
	cr_expect(find_key(&t, &k, 42ull << 32, 5) == TABLE_NONE);
	compared = 0;
	for (uint64_t hash = 43; hash < 1000; hash++)
		cr_expect(find_key(&t, &k, hash << 32, 1000) == TABLE_NONE);
	cr_expect(!compared, "other hashes are not compared");
	table_fini(&t);
}

Test(hash_tables, the_extreme_numbers_and_hashes_are_kept)
{
	static const uint64_t hashes[] = { 0, 1, UINT64_MAX, 1ull << 32,
					   UINT32_MAX };
	static struct keyed k;

	for (size_t i = 0; i < ARRAY_SIZE(hashes); i++) {
		struct table t = { 0 };

		table_add(&t, hashes[i], 0);
		cr_expect(find_key(&t, &k, hashes[i], 0) == 0, "hash %zu", i);
		table_remove(&t, hashes[i], 0);
		cr_expect(find_key(&t, &k, hashes[i], 0) == TABLE_NONE);
		cr_expect(!t.count);
		/*
		 * The largest number can be added. Its key is not compared
		 * here, so it need not exist.
		 */
		table_add(&t, hashes[i], TABLE_NONE - 1);
		table_move(&t, hashes[i], TABLE_NONE - 1, 0);
		cr_expect(find_key(&t, &k, hashes[i], 0) == 0, "hash %zu", i);
		cr_expect(t.count == 1);
		table_remove(&t, hashes[i], 0);
		cr_expect(!t.count);
		table_fini(&t);
	}
}

Test(hash_tables, numbers_that_come_and_go_do_not_fill_the_table)
{
	static struct keyed k;
	struct table t = { 0 };

	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t n = i % 100;

		k.keys[n] = i;
		table_add(&t, spread(i), n);
		if (i >= 50)
			table_remove(&t, spread(i - 50), (i - 50) % 100);
		cr_assert(find_key(&t, &k, spread(i), i) == n);
	}
	cr_expect(t.count == 50);
	cr_expect(t.mask + 1 <= 512, "%zu slots", t.mask + 1);
	for (uint32_t i = 99950; i < 100000; i++)
		cr_expect(find_key(&t, &k, spread(i), i) == i % 100);
	for (uint32_t i = 99900; i < 99950; i++)
		cr_expect(find_key(&t, &k, spread(i), i) == TABLE_NONE);
	table_fini(&t);
}

Test(hash_tables, reserved_room_is_not_moved)
{
	static struct keyed k;

	for (uint32_t n = 1; n <= 1000; n += 37) {
		struct table t = { 0 };
		uint64_t *slots;

		table_add(&t, spread(0), 0);
		table_reserve(&t, n);
		slots = t.slots;
		for (uint32_t i = 1; i <= n; i++) {
			k.keys[i] = i;
			table_add(&t, spread(i), i);
		}
		cr_expect(t.slots == slots, "%u numbers", n);
		cr_expect(t.count == n + 1);
		for (uint32_t i = 0; i <= n; i++)
			cr_expect(find_key(&t, &k, spread(i), i) == i);
		table_reserve(&t, 0);
		cr_expect(t.slots == slots, "nothing more takes nothing");
		table_fini(&t);
	}
}

Test(hash_tables, a_look_goes_through_few_slots)
{
	static struct keyed k;
	struct table t = { 0 };
	size_t longest = 0;
	size_t run = 0;

	/* A bad hash function gives hashes that are consecutive numbers. */
	for (uint32_t i = 0; i < ARRAY_SIZE(k.keys); i++) {
		k.keys[i] = i;
		table_add(&t, (uint64_t)i << 32, i);
	}
	for (size_t i = 0; i <= t.mask; i++) {
		run = t.slots[i] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	cr_expect(longest < 200, "%zu slots in a row", longest);
	table_fini(&t);
}

Test(hash_tables, a_pair_is_not_the_pair_reversed)
{
	static const uint32_t parts[] = { 0, 1, 2, 1000, UINT32_MAX };
	struct pairs p = { 0 };
	uint32_t n = 0;

	cr_expect(pairs_memory(&p) == 0);
	for (size_t a = 0; a < ARRAY_SIZE(parts); a++) {
		for (size_t b = 0; b < ARRAY_SIZE(parts); b++) {
			uint32_t *at = pairs_at(&p, parts[a], parts[b]);

			cr_expect(!*at, "%u, %u is new", parts[a], parts[b]);
			*at = ++n;
		}
	}
	cr_expect(p.count == n);
	n = 0;
	for (size_t a = 0; a < ARRAY_SIZE(parts); a++) {
		for (size_t b = 0; b < ARRAY_SIZE(parts); b++)
			cr_expect(*pairs_at(&p, parts[a], parts[b]) == ++n);
	}
	cr_expect(p.count == n, "looking adds none");
	pairs_fini(&p);
	cr_assert(!p.slots);
	cr_expect(!pairs_memory(&p));
	cr_expect(!*pairs_at(&p, 0, 0), "usable again, and empty");
	pairs_fini(&p);
}

Test(hash_tables, pairs_survive_the_growth_of_their_table)
{
	struct pairs p = { 0 };

	for (uint32_t i = 0; i < 20000; i++)
		*pairs_at(&p, i / 7, i * 3) = i + 1;
	cr_expect(p.count == 20000);
	cr_expect(pairs_memory(&p) == (p.mask + 1) * sizeof(*p.slots));
	cr_assert(p.mask + 1 >= 20000);
	cr_expect(p.mask + 1 <= 4 * 20000);
	for (uint32_t i = 0; i < 20000; i++)
		cr_assert(*pairs_at(&p, i / 7, i * 3) == i + 1);
	*pairs_at(&p, 0, 0) = 77;
	cr_expect(*pairs_at(&p, 0, 0) == 77, "a number may be changed");
	pairs_fini(&p);
}
