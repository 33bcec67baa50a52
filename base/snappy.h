/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snappy's block format, which Prometheus uses in its WAL and on the wire.
 *
 * Ownership: appends to the caller's buffer.
 * Threads: pure functions.
 */
#ifndef BASE_SNAPPY_H
#define BASE_SNAPPY_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Replace out by what in holds. ERR_CORRUPT: not such a block; ERR_TOOBIG:
 * more than out's maximum, found before anything is allocated.
 */
NODISCARD int snappy_decompress(struct bytes in, struct buf *out,
				struct err *err);

#endif
