/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes over a stored chunk without restoring its profiles: links or copies its
 * bytes, or transcodes it to the columns of the new stripe.
 *
 * Ownership: borrows everything from the rewriter.
 * Threads: one thread at a time.
 */
#ifndef TSDB_COMPACT_REWRITER_COPY_H
#define TSDB_COMPACT_REWRITER_COPY_H

#include "tsdb/compact/rewriter_private.h"

/*
 * Takes over chunk number `source` of the current series into the new block. If
 * the chunk turns out to be damaged, its profiles are encoded one by one
 * instead. Errors as rewriter_series().
 */
NODISCARD int take_group(struct rewriter *r, size_t source, struct err *err);

/*
 * Returns whether a chunk may be taken over: it comes from a block, the option
 * `reencode` is off, and no tombstone interval overlaps the chunk.
 */
bool may_take(const struct rewriter *r, size_t source);

#endif
