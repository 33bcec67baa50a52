/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C (Castagnoli, RFC 3720 B.4), computed by the processor's instruction
 * where there is one, otherwise from a table.
 *
 * Threads: pure functions.
 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include "base/bytes.h"

/*
 * Return the CRC of a byte sequence that ends with b. `seed` is the CRC of the
 * bytes before b (0 if there are none).
 */
uint32_t crc32c_extend(uint32_t seed, struct bytes b);

/*
 * Compute what crc32c_extend() computes, but from a table on every processor:
 * for tests, and as the fallback.
 */
uint32_t crc32c_portable(uint32_t seed, struct bytes b);

#endif
