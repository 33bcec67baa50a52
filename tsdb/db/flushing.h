/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flushing: move profiles from the WAL into their heads, remove WAL segments
 * that are no longer needed, and react to a full disk.
 *
 * Ownership: borrows the database.
 * Threads: any; flush_mu serializes flushes.
 */
#ifndef TSDB_DB_FLUSHING_H
#define TSDB_DB_FLUSHING_H

#include "tsdb/db/db.h"

#define PENDING_MAX 500000 /* profiles that are only in the WAL */

/* The budget, but at most an eighth of the size retention and of the disk. */
uint64_t wal_budget(const struct tsdb_options *o);

bool too_many_pending(struct tsdb *db, int64_t bound);

/* Flush what is in segments up to one, and let those up to another go. */
NODISCARD int flush_segments(struct tsdb *db, uint64_t upto, uint64_t drop,
			     struct err *err);

int flush_round(struct tsdb *db);

/* Bytes of a WAL segment: an eighth of the budget, 1 to 64 MiB. */
uint64_t db_segment_size(const struct tsdb *db);

/* Move all that a range has only in the WAL into its groups. */
NODISCARD int db_flush_head(struct tsdb *db, struct head *r, struct err *err);

/* Drop segments up to this number, but none whose records have no range. */
NODISCARD int db_drop_segments(struct tsdb *db, uint64_t upto, struct err *err);

/* Drop the WAL segments that hold nothing but what is in ranges and blocks. */
NODISCARD int db_drop_wal(struct tsdb *db, struct err *err);

/* Bytes of values in open ranges beyond which they are sealed early. */
uint64_t db_open_values_max(const struct tsdb *db);

/* The disk refused for want of space: give the ballast back, make room. */
void db_no_space(struct tsdb *db);

/* Move everything from the WAL into heads now. err may be NULL. */
NODISCARD int flush_everything(struct tsdb *db, struct err *err);

#endif
