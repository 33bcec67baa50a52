/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C (Castagnoli, RFC 3720 B.4): by the processor's instruction where it
 * has one, else by table.
 *
 * Ownership: keeps nothing.
 * Threads: pure functions.
 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include "base/bytes.h"

/* The CRC of what seed is the CRC of, followed by b; seed is 0 to begin. */
uint32_t crc32c_extend(uint32_t seed, struct bytes b);

/* The same by table, whatever the processor: for tests. */
uint32_t crc32c_portable(uint32_t seed, struct bytes b);

#endif
