/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoded chunks that a rewriter keeps while it merges chunks that overlap.
 *
 * Ownership, threads: those of the rewriter.
 */
#ifndef TSDB_COMPACT_REWRITER_SLOTS_H
#define TSDB_COMPACT_REWRITER_SLOTS_H

#include "tsdb/compact/rewriter_private.h"

void slot_free(struct slot *s);

/* One buffer is kept from group to group; more while they overlap. */
void slots_reset(struct rewriter *r);

/* Whether what failed may succeed at a second look. */
bool may_pass(int rc);

/* Whether the block is made without what could not be read. */
bool is_loss(const struct rewriter *r, int rc);

NODISCARD int rewriter_load_meta(struct rewriter *r, struct slot *s,
				 size_t source, struct err *err);

/* The decoded group. Profiles in it that are not ok are lost. */
NODISCARD int slot_of(struct rewriter *r, size_t source, struct slot **out,
		      struct err *err);

#endif
