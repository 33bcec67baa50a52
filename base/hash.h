/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXH3-64 (xxHash 0.8, seed 0): the hash that is stored with every profile, to
 * verify its bytes, and the hash of all in-memory tables.
 *
 * Ownership: nothing is kept.
 * Threads: pure functions.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/bytes.h"

/*
 * Return the hash of b. Hashes are stored on disk, so the function must never
 * change.
 */
uint64_t hash_bytes(struct bytes b);

#endif
