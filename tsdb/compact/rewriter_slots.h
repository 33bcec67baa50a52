/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots of a rewriter are a small cache of decoded chunks, which is used
 * while chunks that overlap are merged.
 *
 * Ownership: the rewriter owns the slots.
 * Threads: one thread at a time.
 */
#ifndef TSDB_COMPACT_REWRITER_SLOTS_H
#define TSDB_COMPACT_REWRITER_SLOTS_H

#include "tsdb/compact/rewriter_private.h"

/* Marks a slot as empty and frees its values. */
void slot_free(struct slot *s);

/*
 * Empties all slots. Slot 0 keeps its buffer, because most chunks overlap no
 * other chunk and need only one slot.
 */
void slots_reset(struct rewriter *r);

/*
 * Returns whether a failed read with the error code `rc` is worth a retry: it
 * was an I/O error, or it found damage that may have happened on the way from
 * the disk.
 */
bool may_pass(int rc);

/*
 * Returns whether the profiles of a failed read are given up, so that the block
 * is written without them. Damaged profiles are always given up; after an I/O
 * error profiles are given up only with the option `salvage`.
 */
bool is_loss(const struct rewriter *r, int rc);

/*
 * Reads the chunk metadata and type set of a chunk into the slot, with one
 * retry. ERR_CORRUPT, ERR_IO: the metadata cannot be read.
 */
NODISCARD int rewriter_load_meta(struct rewriter *r, struct slot *s,
				 size_t source, struct err *err);

/*
 * Sets *out to the slot that holds chunk number `source`, decoded; loads the
 * chunk if no slot has it. The slot is valid until the next call. If a profile
 * of the chunk could not be read, the element of values.ok for the profile is
 * false. Returns the error of a failed read, unless is_loss() is true for the
 * error.
 */
NODISCARD int slot_of(struct rewriter *r, size_t source, struct slot **out,
		      struct err *err);

#endif
