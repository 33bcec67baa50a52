/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

/* Without a call into the library: most keys are short. */
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_bytes(struct bytes b)
{
	return XXH3_64bits(b.ptr, b.len);
}
