/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Take over a stored chunk without decoding its profiles: link or copy its
 * bytes, or transcode it to the columns of the new stripe.
 *
 * Ownership, threads: those of the rewriter.
 */
#ifndef TSDB_COMPACT_REWRITER_COPY_H
#define TSDB_COMPACT_REWRITER_COPY_H

#include "tsdb/compact/rewriter_private.h"

/* Take a group of a block over as it is. */
NODISCARD int take_group(struct rewriter *r, size_t source, struct err *err);

bool may_take(const struct rewriter *r, size_t source);

#endif
