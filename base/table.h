/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash table from a 64-bit hash to 32-bit numbers, which are indexes into an
 * array of the caller's: open addressing, 8 bytes a slot.
 *
 * The caller compares keys: table_find() goes through the numbers whose hash
 * agrees in 32 bits, until `same` says yes.
 *
 * Ownership: table_fini() frees; the table holds numbers, never the things
 * themselves.
 * Threads: the caller locks.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include "base/defs.h"

/* The zero value is an empty table. */
struct table {
	uint64_t *
		slots; /* hash bits << 32 | number + 1; 0: free, 1 << 32: gone */
	size_t mask;   /* slots - 1 */
	size_t used;   /* taken and gone ones */
	size_t count;
};

#define TABLE_NONE UINT32_MAX

typedef bool (*table_same_fn)(const void *ctx, uint32_t number,
			      const void *key);

/* The number stored for key, or TABLE_NONE. */
uint32_t table_find(const struct table *t, uint64_t hash, table_same_fn same,
		    const void *ctx, const void *key);

/* Add number (below TABLE_NONE) under hash. It must not be there already. */
void table_add(struct table *t, uint64_t hash, uint32_t number);

/* Room for n numbers more, so that adding them moves nothing. */
void table_reserve(struct table *t, size_t n);

/* Remove that pair, which must be there. */
void table_remove(struct table *t, uint64_t hash, uint32_t number);

void table_fini(struct table *t);

/* What its slots take. */
static inline size_t table_memory(const struct table *t)
{
	return t->slots ? (t->mask + 1) * sizeof(*t->slots) : 0;
}

#endif
