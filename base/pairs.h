/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs: a hash table from two 32-bit numbers to a third, for edges and trees.
 *
 *	uint32_t *slot = pairs_at(&p, parent, node);
 *
 *	if (!*slot)
 *		*slot = add_node() + 1;
 *
 * Ownership: pairs_fini() frees. Threads: one thread at a time.
 */
#ifndef BASE_PAIRS_H
#define BASE_PAIRS_H

#include "base/defs.h"

struct pairs_slot {
	uint64_t key;
	uint32_t number; /* 0: free */
};

/* The zero value is empty. */
struct pairs {
	struct pairs_slot *slots;
	size_t mask; /* slots - 1 */
	size_t count;
};

/*
 * The number of a pair. Where it is 0 the pair is new: the caller sets it, to
 * anything but 0, before the next call.
 */
uint32_t *pairs_at(struct pairs *p, uint32_t a, uint32_t b);

void pairs_fini(struct pairs *p);

/* What its slots take. */
static inline size_t pairs_memory(const struct pairs *p)
{
	return p->slots ? (p->mask + 1) * sizeof(*p->slots) : 0;
}

#endif
