/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes over a stored chunk without building its profiles: links or copies its
 * bytes, or transcodes it to the columns of the new stripe.
 *
 * Ownership: as the rewriter, which lends everything.
 * Threads: one thread at a time.
 */
#ifndef TSDB_COMPACT_REWRITER_COPY_H
#define TSDB_COMPACT_REWRITER_COPY_H

#include "tsdb/compact/rewriter_private.h"

/*
 * Takes chunk number `source` of the current series over into the new block. If
 * it turns out to be damaged, its profiles are encoded one by one instead.
 * Errors as rewriter_series().
 */
NODISCARD int take_group(struct rewriter *r, size_t source, struct err *err);

/*
 * Returns whether a chunk may be taken over: it comes from a block, encoding it
 * was not asked for, and no tombstone interval hides a part of it.
 */
bool may_take(const struct rewriter *r, size_t source);

#endif
