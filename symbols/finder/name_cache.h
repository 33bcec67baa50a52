/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of names that were found, of limited size. It has two halves: what was
 * used lately, and the rest. When the first half is full, it becomes the second,
 * and the names of the second that nobody has used are evicted.
 *
 * Ownership: a cache owns its names.
 * Threads: one thread at a time.
 */
#ifndef SYMBOLS_FINDER_NAME_CACHE_H
#define SYMBOLS_FINDER_NAME_CACHE_H

#include "base/arena.h"
#include "base/table.h"
#include "base/vec.h"

/* Half of a cache: answers by a hash of file and address. */
struct name_cache_half {
	struct table by_key;
	VEC(uint64_t) keys;
	VEC(struct bytes) answers; /* in the arena */
	struct arena arena;
};

/* A cache. The zero value, with a limit, is an empty cache. */
struct name_cache {
	size_t half_max; /* largest size of each half in bytes */
	struct name_cache_half young;
	struct name_cache_half old;
};

/* Free everything; the cache is empty and usable again. */
void name_cache_fini(struct name_cache *c);

/* Return the key of an address in a file, of which `file` is a hash. */
uint64_t name_cache_key(uint64_t file, uint64_t address);

/* Add an answer (symbols/name_answer.h); an empty one says "without names". */
void name_cache_add(struct name_cache *c, uint64_t key, struct bytes answer);

/* Copy an answer into the arena. False: the cache does not have it. */
bool name_cache_find(struct name_cache *c, uint64_t key, struct arena *arena,
		     struct bytes *out);

#endif
