/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <sys/random.h>

/*
 * Compile the hash into this file: most keys are short, and a call into the
 * library would take longer than the hash.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

static uint64_t hash_seed;

/* Before main(), so that no thread sees the seed change. */
__attribute__((constructor)) static void hash_seed_choose(void)
{
	/* Without random bytes, tables work as well, but can be attacked. */
	if (getrandom(&hash_seed, sizeof(hash_seed), GRND_NONBLOCK) !=
	    (ssize_t)sizeof(hash_seed))
		hash_seed = (uint64_t)(uintptr_t)&hash_seed;
}

uint64_t hash_bytes(struct bytes b)
{
	return XXH3_64bits(b.ptr, b.len);
}

uint64_t hash_key(struct bytes b)
{
	return XXH3_64bits_withSeed(b.ptr, b.len, hash_seed);
}
