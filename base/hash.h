/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXH3-64 (xxHash 0.8): the hash that is stored with every profile, to verify
 * its bytes, and the hash of in-memory tables. Anybody can make two inputs with
 * the same value of hash_bytes(), so equal hashes never mean equal things:
 * compare the things, or take a digest (base/digest.h).
 *
 * Threads: any.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/bytes.h"

/*
 * Return the hash of b, with seed 0. Hashes are stored on disk, so the function
 * must never change.
 */
uint64_t hash_bytes(struct bytes b);

/*
 * Return the hash of b for a table in memory. Its seed is chosen at random when
 * the process starts, so that others cannot choose keys that all fall on one
 * place of a table.
 */
uint64_t hash_key(struct bytes b);

/*
 * Return the hash of a number that no outsider can choose, such as an address,
 * for a table in memory. The highest bits of the hash depend on all bits of the
 * number. Source: Fibonacci hashing, Knuth, The Art of Computer Programming,
 * volume 3, 6.4.
 */
static inline uint64_t hash_number(uint64_t n)
{
	return n * 0x9e3779b97f4a7c15u;
}

/* The same for a number that outsiders choose; its hash has the seed of hash_key(). */
static inline uint64_t hash_foreign_number(int64_t n)
{
	return hash_key((struct bytes){ (const uint8_t *)&n, sizeof(n) });
}

#endif
