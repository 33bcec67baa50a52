/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots of a rewriter are a small cache of decoded chunks, which is used
 * while chunks that overlap are merged.
 *
 * Ownership: as the rewriter, which owns the slots.
 * Threads: one thread at a time.
 */
#ifndef TSDB_COMPACT_REWRITER_SLOTS_H
#define TSDB_COMPACT_REWRITER_SLOTS_H

#include "tsdb/compact/rewriter_private.h"

/* Empties a slot and frees its values. */
void slot_free(struct slot *s);

/*
 * Empties all slots. Slot 0 keeps its buffer, as most chunks overlap no other
 * and need just one.
 */
void slots_reset(struct rewriter *r);

/*
 * Returns whether a failed read is worth a retry: an I/O error, or damage that
 * may have happened on the way from the disk.
 */
bool may_pass(int rc);

/*
 * Returns whether the block is made without what could not be read: always for
 * damage, for I/O errors only with the option salvage.
 */
bool is_loss(const struct rewriter *r, int rc);

/*
 * Reads the chunk metadata and type set of a chunk into the slot, with one
 * retry. ERR_CORRUPT, ERR_IO: it cannot be read.
 */
NODISCARD int rewriter_load_meta(struct rewriter *r, struct slot *s,
				 size_t source, struct err *err);

/*
 * Sets *out to the slot with the decoded chunk, which is loaded if it is not
 * cached; valid until the next call. Profiles of it that are not ok are lost.
 * Errors as of reading, unless is_loss() says to go on.
 */
NODISCARD int slot_of(struct rewriter *r, size_t source, struct slot **out,
		      struct err *err);

#endif
