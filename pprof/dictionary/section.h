/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Section: bytes that are compressed where that makes them smaller.
 *
 *	uvarint  their length << 1 | whether they are a zstd frame
 *	uvarint  the frame's length, if they are
 *	…        the bytes, or the frame
 *
 * Ownership: appends to, or fills, the caller's buffers.
 * Threads: one thread a struct zstd.
 */
#ifndef PPROF_DICTIONARY_SECTION_H
#define PPROF_DICTIONARY_SECTION_H

#include "base/dec.h"
#include "base/zstd.h"

void section_put(struct zstd *z, int level, struct bytes raw, struct buf *out);

/*
 * Replace out by the next section of d. ERR_CORRUPT; ERR_TOOBIG: more than
 * out's maximum.
 */
NODISCARD int section_get(struct zstd *z, struct dec *d, struct buf *out,
			  struct err *err);

/* Go on behind the next section. */
void section_skip(struct dec *d);

#endif
