/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include <assert.h>

#include "base/hash.h"
#include "base/mem.h"

/* Initial number of slots, a power of two. */
#define SLOTS_MIN 16

#define FREE ((uint64_t)0)
/*
 * Value of a deleted slot. Its lower half is 0, unlike that of a stored pair.
 */
#define GONE ((uint64_t)1 << 32)

/*
 * Return the value of a slot that stores a pair: the upper half of the hash,
 * then the number plus 1.
 */
static uint64_t table_make_pair(uint64_t hash, uint32_t number)
{
	return (hash >> 32) << 32 | ((uint64_t)number + 1);
}

/*
 * Return the home of a hash: a number whose low bits choose the first slot to
 * look at. The home depends on the upper half of the hash alone, because slots
 * keep only that half and table_resize() computes homes from slots. The
 * multiplication spreads the homes over all slots.
 */
static uint64_t table_home_of(uint64_t hash)
{
	return hash_number(hash >> 32) >> 20;
}

/*
 * Comparing the upper half of the hash excludes nearly all other keys before
 * same() is called. Deleted slots are skipped and do not end the search.
 */
uint32_t table_find(const struct table *t, uint64_t hash, table_same_fn same,
		    const void *ctx, const void *key)
{
	if (!t->slots)
		return TABLE_NONE;
	for (size_t i = table_home_of(hash) & t->mask; t->slots[i] != FREE;
	     i = (i + 1) & t->mask) {
		uint64_t slot = t->slots[i];

		if (!(uint32_t)slot || slot >> 32 != hash >> 32)
			continue;
		if (same(ctx, (uint32_t)slot - 1, key))
			return (uint32_t)slot - 1;
	}
	return TABLE_NONE;
}

/*
 * Store the value `slot` in the first free slot at or after the home. Deleted
 * slots are not reused; table_resize() removes them.
 */
static void table_put(struct table *t, uint64_t home, uint64_t slot)
{
	size_t i = home & t->mask;

	while (t->slots[i] != FREE)
		i = (i + 1) & t->mask;
	t->slots[i] = slot;
}

/*
 * Move all pairs to an array of `want` slots, a power of two, without the
 * deleted slots.
 */
static void table_resize(struct table *t, size_t want)
{
	size_t slots = t->slots ? t->mask + 1 : 0;
	struct table bigger = { .count = t->count, .used = t->count };

	bigger.mask = want - 1;
	bigger.slots = mem_zalloc(bigger.mask + 1, sizeof(*bigger.slots));
	for (size_t i = 0; i < slots; i++) {
		if ((uint32_t)t->slots[i])
			table_put(&bigger, table_home_of(t->slots[i]),
				  t->slots[i]);
	}
	mem_free(t->slots);
	*t = bigger;
}

/*
 * Grow when three quarters of the slots are used: to twice the number of slots,
 * or to the same number when most of the used slots are deleted ones.
 */
static void table_grow(struct table *t)
{
	size_t slots = t->slots ? t->mask + 1 : 0;
	size_t want = slots && t->count < slots / 4 ? slots : slots * 2;

	table_resize(t, want ? want : SLOTS_MIN);
}

void table_reserve(struct table *t, size_t n)
{
	size_t want = SLOTS_MIN;

	while (t->used + n > want / 4 * 3)
		want *= 2;
	if (!t->slots || want > t->mask + 1)
		table_resize(t, want);
}

void table_add(struct table *t, uint64_t hash, uint32_t number)
{
	assert(number != TABLE_NONE);
	if (!t->slots || t->used + 1 > (t->mask + 1) / 4 * 3)
		table_grow(t);
	table_put(t, table_home_of(hash), table_make_pair(hash, number));
	t->used++;
	t->count++;
}

/* Return the slot of a pair, which must be stored. */
static uint64_t *table_slot(struct table *t, uint64_t hash, uint32_t number)
{
	uint64_t want = table_make_pair(hash, number);
	size_t i = table_home_of(hash) & t->mask;

	while (t->slots[i] != want) {
		assert(t->slots[i] != FREE);
		i = (i + 1) & t->mask;
	}
	return &t->slots[i];
}

/*
 * The slot is marked as deleted rather than free, because other keys may have
 * been stored in later slots while this slot was in use, and a search for those
 * keys ends at the first free slot.
 */
void table_remove(struct table *t, uint64_t hash, uint32_t number)
{
	*table_slot(t, hash, number) = GONE;
	t->count--;
}

void table_move(struct table *t, uint64_t hash, uint32_t from, uint32_t to)
{
	assert(to != TABLE_NONE);
	*table_slot(t, hash, from) = table_make_pair(hash, to);
}

void table_fini(struct table *t)
{
	mem_free(t->slots);
	*t = (struct table){ 0 };
}
