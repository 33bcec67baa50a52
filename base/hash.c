/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

/*
 * Compile the hash into this file: most keys are short, and a call into the
 * library would take longer than the hash.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_bytes(struct bytes b)
{
	return XXH3_64bits(b.ptr, b.len);
}
