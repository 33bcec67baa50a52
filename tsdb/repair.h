/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repair consists of functions that an operator starts explicitly: they rewrite
 * damaged blocks, convert blocks to columns, rewrite blocks with deleted
 * profiles, and confirm the system clock.
 *
 * Ownership: borrows the database.
 * Threads: any; takes job_mu.
 */
#ifndef TSDB_REPAIR_H
#define TSDB_REPAIR_H

#include "tsdb/tsdb.h"

/* The result of a repair. */
struct tsdb_repair {
	uint64_t rewritten; /* blocks that were written again */
	uint64_t lost;      /* profiles that the new blocks lack */
	uint64_t recovered; /* profiles found only in the WAL at this start */
	uint64_t set_aside; /* blocks and heads that cannot be read */
};

/* Called when block i of count, counted from 1, has been rewritten. */
typedef void (*tsdb_progress_fn)(void *ctx, const char *block, size_t i,
				 size_t count);

/*
 * Rewrites each damaged block with the profiles that are intact. Losses are
 * logged and counted in *out. A block that cannot be rewritten is skipped, and
 * the first such error is returned at the end. If the disk is full
 * (ERR_NOSPACE), the run ends at once.
 */
NODISCARD int tsdb_repair(struct tsdb *db, struct tsdb_repair *out,
			  struct err *err);

/*
 * Encodes the blocks again whose chunks have not been tried as columns, one
 * after another, oldest first; what has been done persists if the run is
 * interrupted. told may be NULL. *recoded is the number of blocks that were
 * rewritten. Errors as tsdb_repair().
 */
NODISCARD int tsdb_recode(struct tsdb *db, tsdb_progress_fn progress, void *ctx,
			  size_t *recoded, struct err *err);

/*
 * An operator confirms that the time of day is right: retention by time uses it
 * again. ERR_IO, ERR_NOSPACE: the decision could not be saved.
 */
NODISCARD int tsdb_confirm_clock(struct tsdb *db, struct err *err);

/*
 * Rewrites the blocks that have tombstones, without the deleted profiles.
 * Errors as tsdb_repair().
 */
NODISCARD int tsdb_clean_tombstones(struct tsdb *db, struct err *err);

#endif
