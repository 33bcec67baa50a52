/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table store: tables are shared, remain for a while, and are evicted when
 * their room is needed.
 */
#include "bpf/process/table_store.h"
#include "tests/check.h"

TestSuite(table_store, .timeout = 60);

enum {
	ROWS = 100,
};

static struct unwind_row in_kernel[ROWS];

static struct table_key key_of(const char *name)
{
	struct table_key key = { .len = strlen(name) };

	memcpy(key.bytes, name, key.len);
	return key;
}

/* Add a table whose entries have a number in them. */
static uint32_t add_table_of(struct table_store *s, const char *name,
			     uint32_t owner, uint32_t count, uint64_t now)
{
	struct unwind_row entries[ROWS];
	const struct unwind_pack pack = { entries, count, count / 2 };
	struct table_key key = key_of(name);

	for (uint32_t i = 0; i < count; i++)
		entries[i] =
			(struct unwind_row){ .pc = i, .cfa = (int16_t)name[0] };
	return table_store_add(s, &key, owner, &pack, now);
}

static uint32_t add_table(struct table_store *s, const char *name,
			  uint32_t count, uint64_t now)
{
	return add_table_of(s, name, 0, count, now);
}

/* Whether a table has all its entries in the kernel. */
static bool has_entries(const struct table_store *s, uint32_t number, char name,
			uint32_t count)
{
	const struct stored_table *t = table_store_at(s, number);
	struct extent e = t->entries;

	for (uint32_t i = 0; i < e.count; i++) {
		if (in_kernel[e.first + i].pc != i ||
		    in_kernel[e.first + i].cfa != name)
			return false;
	}
	return e.count == count && t->pages == count / 2;
}

static uint32_t find_table(struct table_store *s, const char *name)
{
	struct table_key key = key_of(name);

	return table_store_find(s, &key);
}

Test(table_store, tables_are_shared)
{
	struct table_store s;
	uint32_t a;

	table_store_init(&s, in_kernel, ROWS);
	cr_expect(find_table(&s, "a") == TABLE_STORE_NONE);
	a = add_table(&s, "a", 40, 0);
	cr_expect(find_table(&s, "a") == a);
	cr_assert(s.extents.used == 40);
	cr_expect(has_entries(&s, a, 'a', 40));
	/* A file without entries is known, too, and is not read again. */
	cr_expect(add_table(&s, "empty", 0, 0) == find_table(&s, "empty"));
	cr_expect(!s.crowded_out);
	table_store_fini(&s);
}

Test(table_store, unused_tables_stay_until_their_room_is_needed)
{
	struct table_store s;
	uint32_t a;
	uint32_t b;
	uint32_t c;

	table_store_init(&s, in_kernel, ROWS);
	a = add_table(&s, "a", 40, 0);
	b = add_table(&s, "b", 40, 0);
	table_store_drop(&s, a, 1000);
	table_store_drop(&s, b, 2000);
	cr_assert(find_table(&s, "a") == a);
	cr_expect(has_entries(&s, a, 'a', 40));
	table_store_drop(&s, a, 3000);
	/* b was not used for longer. */
	c = add_table(&s, "c", 50, 10000);
	cr_assert(has_entries(&s, c, 'c', 50));
	cr_expect(has_entries(&s, a, 'a', 40));
	cr_expect(find_table(&s, "b") == TABLE_STORE_NONE);
	cr_assert(s.evicted == 1);
	cr_expect(!s.crowded_out);
	table_store_fini(&s);
}

Test(table_store, tables_that_are_sampled_are_not_evicted)
{
	struct table_store s;
	uint32_t a;
	uint32_t b;

	table_store_init(&s, in_kernel, ROWS);
	a = add_table(&s, "a", 80, 0);
	cr_expect(!table_store_sampled(&s, a, 5000));
	b = add_table(&s, "b", 40, 5000 + TABLE_IDLE_MS - 1);
	cr_assert(has_entries(&s, b, 'b', 0));
	cr_expect(s.crowded_out == 1);
	cr_expect(table_store_sampled(&s, b, 15000), "it is to be read again");
	cr_assert(has_entries(&s, a, 'a', 80));
	cr_expect(!s.evicted);
	/* The next process tries again, as soon as a may be evicted. */
	cr_expect(find_table(&s, "b") == TABLE_STORE_NONE);
	table_store_drop(&s, a, 20000);
	b = add_table(&s, "b", 40, 20000 + EXTENTS_DELAY_MS - 1);
	cr_assert(has_entries(&s, b, 'b', 0));
	cr_expect(s.crowded_out == 2);
	table_store_drop(&s, b, 20000);
	b = add_table(&s, "b", 40, 20000 + EXTENTS_DELAY_MS);
	cr_assert(has_entries(&s, b, 'b', 40));
	cr_expect(s.evicted == 1);
	table_store_fini(&s);
}

Test(table_store, tables_of_idle_processes_give_way)
{
	struct table_store s;
	uint64_t now = 5000 + TABLE_IDLE_MS;
	uint32_t idle;
	uint32_t busy;
	uint32_t fresh;

	table_store_init(&s, in_kernel, ROWS);
	idle = add_table(&s, "idle", 50, 0);
	busy = add_table(&s, "busy", 50, 0);
	table_store_sampled(&s, idle, 5000);
	table_store_sampled(&s, busy, now - 1000);
	fresh = add_table(&s, "fresh", 40, now);
	cr_expect(has_entries(&s, fresh, 'f', 0),
		  "the kernel may read the entries for a moment");
	cr_assert(s.withdrawn.count == 1);
	cr_expect(s.withdrawn.v[0] == idle);
	cr_assert(has_entries(&s, idle, 'i', 0));
	cr_expect(has_entries(&s, busy, 'b', 50));
	now += EXTENTS_DELAY_MS;
	table_store_drop(&s, fresh, now);
	fresh = add_table(&s, "fresh", 40, now);
	cr_expect(has_entries(&s, fresh, 'f', 40));
	/* The idle program runs again. */
	cr_expect(table_store_sampled(&s, idle, now));
	table_store_drop(&s, idle, now);
	now += TABLE_IDLE_MS;
	table_store_sampled(&s, busy, now);
	idle = add_table(&s, "idle", 50, now);
	cr_assert(has_entries(&s, idle, 'i', 0));
	cr_expect(s.withdrawn.count == 2);
	now += EXTENTS_DELAY_MS;
	table_store_drop(&s, idle, now);
	cr_expect(has_entries(&s, add_table(&s, "idle", 50, now), 'i', 50));
	table_store_fini(&s);
}

Test(table_store, a_table_larger_than_the_store_evicts_nothing)
{
	struct table_store s;
	uint32_t a;

	table_store_init(&s, in_kernel, ROWS / 2);
	a = add_table(&s, "a", 50, 0);
	cr_expect(has_entries(&s, add_table(&s, "large", 60, 1000000), 'l', 0));
	cr_assert(has_entries(&s, a, 'a', 50));
	cr_expect(!s.withdrawn.count);
	table_store_fini(&s);
}

/* One user with many programs does not keep the room from others. */
Test(table_store, a_user_with_more_than_half_gives_way)
{
	struct table_store s;
	uint64_t now = 1000;
	uint32_t first;
	uint32_t other;

	table_store_init(&s, in_kernel, ROWS);
	first = add_table_of(&s, "first", 7, 30, now - 1);
	add_table_of(&s, "second", 7, 30, now);
	add_table_of(&s, "third", 7, 30, now);
	add_table_of(&s, "own", 7, 20, now);
	cr_expect(!s.withdrawn.count, "it is the same user's");
	other = add_table_of(&s, "other", 8, 20, now);
	cr_assert(s.withdrawn.count == 1);
	cr_expect(s.withdrawn.v[0] == first);
	now += EXTENTS_DELAY_MS;
	table_store_drop(&s, other, now);
	other = add_table_of(&s, "other", 8, 20, now);
	cr_expect(has_entries(&s, other, 'o', 20));
	/* Of the other half, nothing is taken. */
	add_table_of(&s, "large", 8, 60, now);
	cr_expect(s.withdrawn.count == 1);
	add_table_of(&s, "small", 8, 25, now);
	cr_expect(s.withdrawn.count == 2);
	add_table_of(&s, "large", 8, 60, now);
	cr_expect(s.withdrawn.count == 2);
	table_store_fini(&s);
}

/* The kernel may still read the entries of a process that ended a moment ago. */
Test(table_store, entries_that_were_in_use_a_moment_ago_are_not_overwritten)
{
	struct table_store s;
	uint64_t now = 1000;
	uint32_t first;
	uint32_t other;

	table_store_init(&s, in_kernel, ROWS);
	first = add_table_of(&s, "first", 7, 60, now);
	table_store_drop(&s, first, now);
	other = add_table_of(&s, "other", 8, 50, now);
	cr_assert(s.evicted == 1);
	cr_expect(!s.withdrawn.count);
	table_store_drop(&s, other, now);
	other = add_table_of(&s, "other", 8, 50, now + EXTENTS_DELAY_MS - 1);
	cr_expect(has_entries(&s, other, 'o', 0));
	table_store_drop(&s, other, now);
	other = add_table_of(&s, "other", 8, 50, now + EXTENTS_DELAY_MS);
	cr_expect(has_entries(&s, other, 'o', 50));
	table_store_fini(&s);
}

/* Old tables that lie far apart would leave no room for a large one. */
Test(table_store, neighbours_give_way_together)
{
	struct table_store s;
	uint64_t now = 1000;
	char name[16];

	table_store_init(&s, in_kernel, ROWS);
	for (int i = 0; i < 20; i++) {
		uint32_t number;

		snprintf(name, sizeof(name), "%c", 'a' + i);
		number = add_table(&s, name, 5, now);
		/* Each second one was used later, but not those at the end. */
		table_store_drop(&s, number, i < 16 && i % 2 ? 3000 : 2000);
	}
	now = 6000;
	cr_expect(has_entries(&s, add_table(&s, "X", 20, now), 'X', 20));
	cr_assert(s.evicted == 4, "%zu", (size_t)s.evicted);
	cr_expect(!s.crowded_out, "%zu", (size_t)s.evicted);
	cr_expect(find_table(&s, "p") != TABLE_STORE_NONE);
	cr_expect(find_table(&s, "q") == TABLE_STORE_NONE);
	table_store_fini(&s);
}

/* Free room in many pieces is room: tables between them are moved. */
Test(table_store, tables_between_free_pieces_are_moved)
{
	struct table_store s;
	uint64_t now = 1000;
	uint32_t tables[20];
	uint32_t fresh;
	char name[16];

	table_store_init(&s, in_kernel, ROWS);
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "%c", 'a' + i);
		tables[i] = add_table(&s, name, 5, now);
		if (i % 2)
			table_store_drop(&s, tables[i], now);
	}
	now += TABLE_IDLE_MS;
	for (int i = 0; i < 20; i += 2)
		table_store_sampled(&s, tables[i], now - (i < 10));
	/* Too little would be free for those that are moved. */
	fresh = add_table(&s, "X", 45, now);
	cr_assert(has_entries(&s, fresh, 'X', 0));
	cr_expect(!s.evicted);
	fresh = add_table(&s, "X", 25, now);
	cr_expect(has_entries(&s, fresh, 'X', 0));
	cr_assert(s.withdrawn.count == 3);
	cr_expect(s.evicted == 5);
	table_store_drop(&s, fresh, now);
	now += EXTENTS_DELAY_MS;
	cr_expect(has_entries(&s, add_table(&s, "X", 25, now), 'X', 25));
	for (size_t i = 0; i < s.withdrawn.count; i++)
		cr_expect(has_entries(&s, add_table(&s, "moved", 5, now), 'm',
				      5));
	table_store_fini(&s);
}

/* Numbers are used again, and the entries of others stay as they are. */
Test(table_store, many_tables_come_and_go)
{
	struct table_store s;
	uint64_t now = 0;
	char name[16];

	table_store_init(&s, in_kernel, ROWS);
	for (int i = 0; i < 1000; i++) {
		uint32_t number;

		now += EXTENTS_DELAY_MS;
		snprintf(name, sizeof(name), "%c%d", 'a' + i % 26, i);
		number = add_table(&s, name, 1 + (uint32_t)i % 60, now);
		cr_expect(
			has_entries(&s, number, name[0], 1 + (uint32_t)i % 60),
			"%d", i);
		table_store_drop(&s, number, now);
	}
	cr_assert(s.tables.count < 100);
	cr_expect(!s.crowded_out);
	table_store_fini(&s);
}
