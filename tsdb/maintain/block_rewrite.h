/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block rewrite: write blocks again, with what is deleted or damaged left out,
 * and put the new block in the place of the old ones.
 *
 * Ownership: borrows the database.
 * Threads: the caller holds job_mu unless noted.
 */
#ifndef TSDB_MAINTAIN_BLOCK_REWRITE_H
#define TSDB_MAINTAIN_BLOCK_REWRITE_H

#include "tsdb/compact/compactor.h"
#include "tsdb/compact/planner.h"
#include "tsdb/db/db.h"

/* Block i of count has been rewritten. */
typedef void (*rewrite_progress_fn)(void *ctx, const char *block, size_t i,
				    size_t count);

/* How blocks are written anew. */
struct rewriting {
	bool (*wanted)(const struct tsdb *db, struct block *b);
	bool reencode;
	bool salvage;             /* without what the disk does not give back */
	bool background;          /* a deletion may cancel it */
	rewrite_progress_fn told; /* behind each one; may be NULL */
	void *ctx;
};

/* What came of rewriting some blocks. */
struct rewritten {
	size_t count;
	struct rewrite_loss loss;
};

/* Whether there is room to write so many bytes twice. */
bool has_room(struct tsdb *db, uint64_t bytes);

/*
 * A new block takes the place of what it was made of. Where the disk did not
 * give something back, that is set aside: it may be read another day.
 */
NODISCARD int replace_parts(struct tsdb *db, const struct part *v, size_t count,
			    struct block *b, bool aside, struct err *err);

uint64_t link_min(const struct tsdb *db);

NODISCARD int rewrite_blocks(struct tsdb *db, const struct part *v,
			     size_t count, const struct rewriting *how,
			     struct rewrite_loss *loss, struct err *err);

struct plan_block describe_block(const struct tsdb *db, struct block *b);

/* All blocks, referenced, as the planner wants them: by time, then age. */
struct part *blocks_by_time(struct tsdb *db, size_t *count);

/* One that fails does not keep the others; the first failure is returned. */
NODISCARD int rewrite_each(struct tsdb *db, const struct rewriting *how,
			   struct rewritten *out, struct err *err);

#endif
