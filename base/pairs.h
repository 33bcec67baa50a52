/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs: a hash table from two 32-bit numbers to a third, for the edges of
 * graphs and the nodes of trees.
 *
 *	uint32_t *slot = pairs_at(&p, parent, node);
 *	if (!*slot)
 *		*slot = add_node() + 1;
 *
 * Ownership: the table owns its slots; pairs_fini() frees them.
 * Threads: one thread at a time.
 */
#ifndef BASE_PAIRS_H
#define BASE_PAIRS_H

#include "base/defs.h"

/* One entry: the pair and the number stored for it. */
struct pairs_slot {
	/*
	 * the pair: its first number in the upper half, its second number in
	 * the lower half
	 */
	uint64_t key;
	uint32_t number; /* number stored for the pair; 0: the slot is free */
};

/* The hash table. The zero value is an empty table. */
struct pairs {
	struct pairs_slot *slots;
	size_t mask;  /* number of slots, a power of two, minus 1 */
	size_t count; /* number of slots in use */
};

/*
 * Return a pointer to the number stored for the pair (a, b). When the number is
 * 0, the pair is new and the caller must set the number to anything but 0
 * before the next call; the pointer is valid until then.
 */
uint32_t *pairs_at(struct pairs *p, uint32_t a, uint32_t b);

/* Free the slots; the table is empty and usable again. */
void pairs_fini(struct pairs *p);

/* Return the memory, in bytes, that the slots take. */
static inline size_t pairs_memory(const struct pairs *p)
{
	return p->slots ? (p->mask + 1) * sizeof(*p->slots) : 0;
}

#endif
