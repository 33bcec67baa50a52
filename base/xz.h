/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompression of .xz files, a whole buffer at a time, by liblzma.
 *
 * Threads: any.
 */
#ifndef BASE_XZ_H
#define BASE_XZ_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Decompress the streams of a file, and append their contents to `out`. The
 * decoder takes at most `memory` bytes beside it. Returns ERR_CORRUPT when the
 * file is damaged or cut short, and ERR_TOOBIG when the contents exceed the
 * maximum of `out`, or the decoder needs more memory. The contents before an
 * error are in `out`.
 */
NODISCARD int xz_decompress(struct bytes in, uint64_t memory, struct buf *out,
			    struct err *err);

#endif
