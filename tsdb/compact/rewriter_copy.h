/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes over a stored chunk, which means to put it into the new block without
 * restoring its profiles: by a link to its file, by a copy of its bytes, or by
 * a translation of its columns to the table of the new stripe.
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
 * Returns whether a chunk may be taken over: it must come from a block, the
 * option `reencode` must be off, and no tombstone interval may overlap the
 * chunk.
 */
bool may_take(const struct rewriter *r, size_t source);

#endif
