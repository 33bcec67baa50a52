/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block rewrite writes blocks again, without what is deleted or damaged, and
 * replaces the old blocks by the new one.
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
 * Called when block i of count, counted from 1, has been rewritten; `block` is
 * the ULID of the old block.
 */
typedef void (*rewrite_progress_fn)(void *ctx, const char *block, size_t i,
				    size_t count);

/* Which blocks are rewritten, and how. */
struct rewriting {
	/* Selects blocks; only for rewrite_each(). */
	bool (*wanted)(const struct tsdb *db, struct block *b);
	bool reencode;   /* as in struct compaction */
	bool salvage;    /* leave out what the disk fails to read */
	bool background; /* deletions may cancel it */
	rewrite_progress_fn progress; /* after each block; may be NULL */
	void *ctx;
};

/* The result of rewriting blocks. */
struct rewritten {
	size_t count; /* blocks rewritten */
	struct rewrite_loss loss;
};

/* Returns whether twice this number of bytes is free on the disk. */
bool has_room(struct tsdb *db, uint64_t bytes);

/*
 * Replaces parts by block b, which was made of them, in view and on disk; b is
 * NULL if no profile was left. With `aside`, set if the disk failed to return
 * some data, the old directories are renamed instead of removed. Errors as
 * db_supersede(), db_retire(), db_set_aside().
 */
NODISCARD int replace_parts(struct tsdb *db, const struct part *v, size_t count,
			    struct block *b, bool aside, struct err *err)
	REQUIRES(db->job_mu);

/* Returns the size in bytes from which values files are linked, not copied. */
uint64_t link_min(const struct tsdb *db);

/*
 * Merges the blocks into one and replaces them by it. Losses are added to
 * *loss. ERR_CLOSED: cancelled. Other errors as compactor_run(); the blocks
 * then count as failed and are not picked again.
 */
NODISCARD int rewrite_blocks(struct tsdb *db, const struct part *v,
			     size_t count, const struct rewriting *how,
			     struct rewrite_loss *loss, struct err *err)
	REQUIRES(db->job_mu);

/* Returns the properties of a block that the planner needs. */
struct plan_block describe_block(const struct tsdb *db, struct block *b);

/*
 * Returns all blocks, referenced, in the planner's order: by min_ms, then by
 * age. The caller frees the list with db_parts_free().
 */
struct part *blocks_by_time(struct tsdb *db, size_t *count);

/*
 * Rewrites each block that how->wanted() selects, by itself, and adds up the
 * results in *out. A block that fails is logged and does not keep the others;
 * the first error is returned. After ERR_NOSPACE, and when removals that a restart
 * would need fail, nothing more is rewritten.
 * Takes job_mu.
 */
NODISCARD int rewrite_each(struct tsdb *db, const struct rewriting *how,
			   struct rewritten *out, struct err *err);

#endif
