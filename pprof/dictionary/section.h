/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A section is a sequence of bytes, compressed if this makes it smaller.
 *
 *	uvarint  length of the bytes << 1 | 1 if a zstd frame follows
 *	uvarint  length of the frame, if there is one
 *	…        the bytes, or the frame
 *
 * Ownership: appends to, or fills, buffers of the caller.
 * Threads: one thread per struct zstd.
 */
#ifndef PPROF_DICTIONARY_SECTION_H
#define PPROF_DICTIONARY_SECTION_H

#include "base/dec.h"
#include "base/zstd.h"

/*
 * Append the bytes `raw` to `out` as a section, compressed at this zstd level.
 */
void section_put(struct zstd *z, int level, struct bytes raw, struct buf *out);

/*
 * Replace the contents of `out` with the next section of d, decompressed.
 * ERR_CORRUPT: the section is damaged; ERR_TOOBIG: the section is larger than
 * the maximum size of `out`.
 */
NODISCARD int section_get(struct zstd *z, struct dec *d, struct buf *out,
			  struct err *err);

/* Skip the next section of d. Errors set d->bad. */
void section_skip(struct dec *d);

#endif
