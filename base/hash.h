/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXH3-64 (xxHash 0.8, seed 0): the hash that everprof keeps beside every
 * profile, and the one of its tables.
 *
 * Ownership: keeps nothing.
 * Threads: pure functions.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/bytes.h"

uint64_t hash_bytes(struct bytes b);

#endif
