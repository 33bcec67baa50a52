/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repair: what an operator starts by hand. Rewrite damaged blocks, convert
 * blocks to columns, rewrite blocks with deleted profiles, confirm the clock.
 *
 * Ownership: borrows the database.
 * Threads: any; takes job_mu.
 */
#ifndef TSDB_REPAIR_H
#define TSDB_REPAIR_H

#include "tsdb/tsdb.h"

struct tsdb_repair {
	uint64_t rewritten; /* blocks, */
	uint64_t lost;      /* and what they lack of the old ones: profiles */
	uint64_t recovered; /* profiles that were in the WAL alone */
	uint64_t set_aside; /* blocks and ranges that cannot be read */
};

/* Block i of count is done. */
typedef void (*tsdb_progress_fn)(void *ctx, const char *block, size_t i,
				 size_t count);

/*
 * Write each block anew in which something is damaged, with what is whole;
 * losses are logged, and counted in *out. A block that cannot be written is
 * passed over: the first such error is returned when all are done.
 */
NODISCARD int tsdb_repair(struct tsdb *db, struct tsdb_repair *out,
			  struct err *err);

/*
 * Encode the blocks anew whose groups have not been tried as columns, one
 * after another, older first: what is done stays done, whenever it ends.
 */
NODISCARD int tsdb_recode(struct tsdb *db, tsdb_progress_fn told, void *ctx,
			  size_t *recoded, struct err *err);

/* A person says that the time of day is right: retention goes by it again. */
NODISCARD int tsdb_confirm_clock(struct tsdb *db, struct err *err);

/* Write the blocks anew that hold deleted profiles. */
NODISCARD int tsdb_clean_tombstones(struct tsdb *db, struct err *err);

#endif
