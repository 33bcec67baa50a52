/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repair: jobs that an operator starts explicitly. They rewrite damaged blocks,
 * convert blocks to columns, rewrite blocks with deleted profiles, and confirm
 * the system clock.
 *
 * Ownership: borrows the database.
 * Threads: any; takes job_mu.
 */
#ifndef TSDB_TOOLS_REPAIR_H
#define TSDB_TOOLS_REPAIR_H

#include "base/limits.h"
#include "tsdb/open/tsdb.h"

/* The result of a repair. */
struct tsdb_repair {
	uint64_t rewritten; /* number of blocks rewritten */
	/*
	 * Number of profiles that the repair left out because they are damaged
	 * or could not be read.
	 */
	uint64_t lost;
	/* Number of profiles found only in the WAL at startup. */
	uint64_t recovered;
	/* Number of blocks and heads that could not be opened. */
	uint64_t set_aside;
};

/*
 * Called when block number i of `count` has been rewritten; numbers start at 1.
 */
typedef void (*tsdb_progress_fn)(void *ctx, const char *block, size_t i,
				 size_t count);

/*
 * Flush the WAL, and rewrite each damaged head or block as a block with the
 * profiles that are intact. Losses are logged and counted in *out. A block that cannot be rewritten is skipped; the
 * first such error is returned at the end. A full disk (ERR_NOSPACE) ends the
 * repair at once.
 */
NODISCARD int tsdb_repair(struct tsdb *db, struct tsdb_repair *out,
			  struct err *err);

/*
 * Encode again, oldest first, all blocks with chunks for which the columns
 * codec was never tried. If the job is interrupted, the blocks that it has
 * finished stay as they are. progress may be NULL. *recoded is set to the
 * number of blocks rewritten. Errors as tsdb_repair().
 */
NODISCARD int tsdb_recode(struct tsdb *db, tsdb_progress_fn progress, void *ctx,
			  size_t *recoded, struct err *err);

/*
 * Record that an operator confirmed the system time: retention by time uses
 * the system time again. Returns ERR_IO or ERR_NOSPACE when this cannot be
 * saved, and errors of the limits (NULL: none), which are asked while it waits
 * for other jobs.
 */
NODISCARD int tsdb_confirm_clock(struct tsdb *db, const struct limits *limits,
				 struct err *err);

/*
 * Rewrite the blocks that have tombstones, leaving out the deleted profiles.
 * Errors as tsdb_repair(), those of the limits (NULL: none), and ERR_CLOSED when
 * tsdb_interrupt() was called meanwhile. Blocks that were rewritten stay so.
 */
NODISCARD int tsdb_clean_tombstones(struct tsdb *db,
				    const struct limits *limits,
				    struct err *err);

#endif
