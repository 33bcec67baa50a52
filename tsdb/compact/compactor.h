/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compactor writes the contents of several parts into one new block. It
 * does not change or remove the parts.
 *
 * Ownership: the caller owns the reference on the block that is returned.
 * Threads: one thread runs a compaction; another may cancel it.
 */
#ifndef TSDB_COMPACT_COMPACTOR_H
#define TSDB_COMPACT_COMPACTOR_H

#include "base/limits.h"
#include "tsdb/block/part.h"
#include "tsdb/compact/rewriter.h"

/* The input of a compaction. compactor_run() borrows all pointers. */
struct compaction {
	const struct block_env *env;
	/*
	 * The parts to compact, oldest first: of two profiles of a series at
	 * the same time, the profile in the earlier part is kept.
	 */
	const struct part *parts;
	size_t count;
	struct ulid ulid; /* id of the new block */
	/* Encode all chunks again, not only those that overlap. */
	bool reencode;
	/*
	 * Minimum size in bytes of a values file that is hard-linked into the
	 * new block. The chunks of smaller files are copied.
	 */
	uint64_t link_min;
	bool salvage; /* go on after I/O errors, see struct rewriter_options */
	/* The number of lost profiles is added here. */
	struct rewrite_loss *loss;
	/* Counts profiles lost to damage or I/O errors. */
	struct metric *damaged;
	/*
	 * A value that is not 0 cancels the compaction. The pointer may be
	 * NULL.
	 */
	const _Atomic int *cancel;
	/* Asked before each series, for whom has asked for the block. */
	struct limits limits;
};

/*
 * Write and publishes a block with the flushed profiles of all parts that no
 * tombstone hides. If the block is to replace a head, the caller must first
 * close the head to appends, then flush it completely. *out is NULL if no
 * profile is left. On failure all new files are removed. ERR_CLOSED: cancelled; also
 * the errors of the limits.
 * ERR_IO, ERR_CORRUPT: a part or the new block could not be read. ERR_NOSPACE:
 * the disk is full.
 */
NODISCARD int compactor_run(const struct compaction *c, struct block **out,
			    struct err *err);

#endif
