/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pairs.h"

#include "base/hash.h"
#include "base/mem.h"

/* Initial number of slots, a power of two. */
#define SLOTS_MIN 64

/*
 * Return a hash of the key. Both halves of the key must affect the low bits of
 * the hash, which choose the slot: otherwise keys whose halves grow together,
 * as in a deep recursion, would collide.
 */
static size_t pairs_home_of(uint64_t key)
{
	uint64_t h = hash_number(key);

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
	return (size_t)(h ^ h >> 32);
}

/*
 * Find the slot of a key, or the free slot where it belongs (linear probing). A
 * free slot always exists, because at most three quarters are in use.
 */
static struct pairs_slot *pairs_find(const struct pairs *p, uint64_t key)
{
	size_t i = pairs_home_of(key) & p->mask;

	while (p->slots[i].number && p->slots[i].key != key)
		i = (i + 1) & p->mask;
	return &p->slots[i];
}

/* Double the number of slots and insert all pairs again. */
static void pairs_grow(struct pairs *p)
{
	struct pairs bigger = { .count = p->count };
	size_t slots = p->slots ? p->mask + 1 : 0;

	bigger.mask = (slots ? 2 * slots : SLOTS_MIN) - 1;
	bigger.slots = mem_zalloc(bigger.mask + 1, sizeof(*bigger.slots));
	for (size_t i = 0; i < slots; i++) {
		if (p->slots[i].number)
			*pairs_find(&bigger, p->slots[i].key) = p->slots[i];
	}
	mem_free(p->slots);
	*p = bigger;
}

uint32_t *pairs_at(struct pairs *p, uint32_t a, uint32_t b)
{
	uint64_t key = (uint64_t)a << 32 | b;
	struct pairs_slot *slot;

	if (!p->slots || p->count > p->mask / 4 * 3)
		pairs_grow(p);
	slot = pairs_find(p, key);
	/*
	 * A new pair is counted now, but its slot looks free until the caller
	 * sets the number.
	 */
	if (!slot->number) {
		slot->key = key;
		p->count++;
	}
	return &slot->number;
}

void pairs_fini(struct pairs *p)
{
	mem_free(p->slots);
	*p = (struct pairs){ 0 };
}
