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

#include "tsdb/compact/rewriter.h"
#include "tsdb/part/part.h"

/* The input of a compaction. All pointers are borrowed for the run. */
struct compaction {
	const struct block_env *env;
	/*
	 * Oldest first: of two profiles of a series at the same time, the one
	 * in the earlier part is kept.
	 */
	const struct part *parts;
	size_t count;
	struct ulid ulid; /* of the new block */
	/* Encode all chunks again, not only those that overlap. */
	bool reencode;
	/*
	 * Smaller values files are copied into one file, not linked; in bytes.
	 */
	uint64_t link_min;
	bool salvage;              /* see struct rewriter_options */
	struct rewrite_loss *loss; /* counts are added to it */
	struct metric *damaged;    /* counts profiles lost to damage */
	const _Atomic int *cancel; /* non-zero stops the run; may be NULL */
};

/*
 * Writes and publishes a block with the flushed profiles of all parts that no
 * tombstone hides. A head that the block is to replace must have been flushed
 * completely, and closed to appends before that. *out is NULL if no profile is
 * left. On failure all new files are removed. ERR_CLOSED: cancelled. ERR_IO,
 * ERR_CORRUPT: a part could not be read, or the new block not be read back.
 * ERR_NOSPACE: the disk is full.
 */
NODISCARD int compactor_run(const struct compaction *c, struct block **out,
			    struct err *err);

#endif
