/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block rewrite: writes blocks again without deleted or damaged profiles,
 * replaces the old blocks by the new block, and remembers the blocks for which
 * this failed.
 *
 * Ownership: borrows the database.
 * Threads: the caller holds job_mu unless noted.
 */
#ifndef TSDB_MAINTAIN_BLOCK_REWRITE_H
#define TSDB_MAINTAIN_BLOCK_REWRITE_H

#include "tsdb/compact/compactor.h"
#include "tsdb/compact/planner.h"
#include "tsdb/db/db.h"

/*
 * Called when block number i of `count` has been rewritten; numbers start at 1.
 * `block` is the ULID of the old block.
 */
typedef void (*rewrite_progress_fn)(void *ctx, const char *block, size_t i,
				    size_t count);

/* Options of a rewrite: which blocks are rewritten, and how. */
struct rewriting {
	/*
	 * Returns whether a block is to be rewritten. Only rewrite_each() calls
	 * this.
	 */
	bool (*wanted)(const struct tsdb *db, struct block *b);
	/* Encode all chunks again, not only chunks that overlap. */
	bool reencode;
	/*
	 * On an I/O error, leave out the chunk and go on, instead of failing.
	 */
	bool salvage;
	bool background;              /* deletions may cancel the rewrite */
	struct limits limits;         /* asked before each series */
	rewrite_progress_fn progress; /* called after each block; may be NULL */
	void *ctx;
};

/* The result of rewriting blocks: their number, and what was lost. */
struct rewritten {
	size_t count; /* number of blocks rewritten */
	struct rewrite_loss loss;
};

/*
 * Return whether the disk has twice `bytes` free. Twice, because `bytes` is an
 * estimate that may be too low.
 */
bool block_rewrite_has_room(struct tsdb *db, uint64_t bytes);

/*
 * Replace parts, in the view and on disk, by the new block b that has their
 * profiles. b is NULL if none of the profiles is left. With `aside`, the
 * directories of the old parts are renamed, not removed: set it if the disk
 * failed to return some of their data. Errors as db_supersede(), db_retire(),
 * db_set_aside().
 */
NODISCARD int block_rewrite_replace(struct tsdb *db, const struct part *v,
				    size_t count, struct block *b, bool aside,
				    struct err *err) REQUIRES(db->job_mu);

/*
 * Return the minimum size in bytes of a values file that is linked into a new
 * block. The chunks of smaller files are copied.
 */
uint64_t block_rewrite_link_min(const struct tsdb *db);

/*
 * Merge blocks into one new block, which replaces them. Losses are added to
 * *loss. Returns ERR_CLOSED when cancelled, or an error of the limits. Other
 * errors as compactor_run(); the blocks then count as failed, and are not
 * compacted again until the next startup.
 */
NODISCARD int rewrite_blocks(struct tsdb *db, const struct part *v,
			     size_t count, const struct rewriting *how,
			     struct rewrite_loss *loss, struct err *err)
	REQUIRES(db->job_mu);

/* Return the properties of a block that the planner uses. */
struct plan_block block_rewrite_describe(const struct tsdb *db,
					 struct block *b);

/*
 * Return references to all blocks in the planner's order: by min_ms, then by
 * age. The caller frees the list with db_parts_free().
 */
struct part *blocks_by_time(struct tsdb *db, size_t *count);

/*
 * Rewrite each block that how->wanted() selects into a new block, and add up
 * the results in *out. If a block fails, the error is logged, and the other
 * blocks are still rewritten; the first error is returned. Stops after
 * ERR_NOSPACE, after an error of the limits, and after ERR_CLOSED:
 * tsdb_interrupt() was called. First renames the directories that wait for
 * removal (trash_empty()); if that fails, returns the error and rewrites nothing.
 * Takes job_mu.
 */
NODISCARD int rewrite_each(struct tsdb *db, const struct rewriting *how,
			   struct rewritten *out, struct err *err);

#endif
