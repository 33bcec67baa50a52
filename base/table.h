/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash table from a 64-bit hash to 32-bit numbers, which are usually indexes
 * into an array of the caller. Open addressing, 8 bytes a slot. In the comments
 * below, a pair is a stored number with its hash.
 *
 * The table stores no keys, so the caller compares them: table_find() calls
 * `same` for each number whose hash agrees in its upper 32 bits, until `same`
 * returns true.
 *
 * Ownership: the table owns its slots, not what the numbers refer to;
 * table_fini() frees the slots.
 * Threads: the caller locks.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/defs.h"

/* The hash table. The zero value is an empty table. */
struct table {
	/*
	 * Each slot holds the upper half of the hash and, in its lower half,
	 * the number plus 1. A free slot is 0; a deleted one is 1 << 32, and a
	 * search continues after it.
	 */
	uint64_t *slots;
	size_t mask;  /* number of slots, a power of two, minus 1 */
	size_t used;  /* number of slots that hold a pair or are deleted */
	size_t count; /* number of stored pairs */
};

/* Returned when no number is found; never a stored number. */
#define TABLE_NONE UINT32_MAX

/*
 * Whether the key to which `number` refers equals `key`; `ctx` and `key` are
 * passed through from table_find().
 */
typedef bool (*table_same_fn)(const void *ctx, uint32_t number,
			      const void *key);

/*
 * Return the number stored under `hash` for which same() returns true, or
 * TABLE_NONE.
 */
uint32_t table_find(const struct table *t, uint64_t hash, table_same_fn same,
		    const void *ctx, const void *key);

/*
 * Add `number`, which is below TABLE_NONE, under `hash`. The pair must not be
 * stored already: the table does not check for duplicates.
 */
void table_add(struct table *t, uint64_t hash, uint32_t number);

/* Make room for n more numbers, so that adding them does not reallocate. */
void table_reserve(struct table *t, size_t n);

/* Remove the pair of `hash` and `number`, which must be stored. */
void table_remove(struct table *t, uint64_t hash, uint32_t number);

/*
 * Give the pair of `hash` and `from`, which must be stored, the number `to`; for
 * arrays whose last element takes the place of one that is removed.
 */
void table_move(struct table *t, uint64_t hash, uint32_t from, uint32_t to);

/* Free the slots; the table is empty and usable again. */
void table_fini(struct table *t);

/* Return the memory, in bytes, that the slots take. */
static inline size_t table_memory(const struct table *t)
{
	return t->slots ? (t->mask + 1) * sizeof(*t->slots) : 0;
}

#endif
