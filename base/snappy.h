/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompression of Snappy's block format, which Prometheus uses in its WAL and
 * on the wire.
 *
 * Ownership: results are written to the caller's buffer.
 * Threads: pure functions.
 */
#ifndef BASE_SNAPPY_H
#define BASE_SNAPPY_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Replace the contents of out by the decompressed block in. Returns ERR_CORRUPT
 * when in is not a valid block, and ERR_TOOBIG, before anything is allocated,
 * when its contents exceed the maximum of out.
 */
NODISCARD int snappy_decompress(struct bytes in, struct buf *out,
				struct err *err);

#endif
