/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompression of Snappy's block format, which Prometheus uses in its WAL and
 * in its network protocols.
 *
 * Threads: pure functions.
 */
#ifndef BASE_SNAPPY_H
#define BASE_SNAPPY_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Decompress the block `in` and replace the contents of `out` by the result.
 * Returns ERR_CORRUPT when `in` is not a valid block, and ERR_TOOBIG, before
 * anything is allocated, when the result exceeds the maximum of `out`.
 */
NODISCARD int snappy_decompress(struct bytes in, struct buf *out,
				struct err *err);

/*
 * Set *size to the decompressed size that the block `in` declares. Returns
 * ERR_CORRUPT when `in` does not begin with a valid size.
 */
NODISCARD int snappy_declared_size(struct bytes in, size_t *size,
				   struct err *err);

/* Compress `in` as one block and append the block to `out`. */
void snappy_add_block(struct bytes in, struct buf *out);

#endif
