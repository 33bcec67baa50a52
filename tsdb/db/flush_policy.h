/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flushing moves profiles from the write-ahead log (WAL) into their heads,
 * removes WAL segments that are no longer needed, and reacts to a full disk.
 *
 * Ownership: borrows the database.
 * Threads: any; flush_mu serializes flushes.
 */
#ifndef TSDB_DB_FLUSH_POLICY_H
#define TSDB_DB_FLUSH_POLICY_H

#include "tsdb/db/db.h"

#define UNFLUSHED_MAX 500000 /* unflushed profiles that force a flush */

/*
 * Return the WAL budget in bytes: the configured budget, or 512 MiB; but at
 * most an eighth of the maximum size of the database (retention_bytes), and at
 * most an eighth of the disk.
 */
uint64_t wal_budget(const struct tsdb_options *o);

/* Return whether more than `bound` profiles are unflushed. */
bool unflushed_exceed(struct tsdb *db, int64_t bound);

/*
 * One round of the flush thread: syncs the WAL, flushes what exceeds the
 * budget, and tries to recover from a full disk. Logs failures; if the result
 * is not 0, the worker waits before the next round.
 */
int flush_round(struct tsdb *db);

/*
 * Return the size of a WAL segment in bytes: the configured size, or an eighth
 * of the budget, but between 1 and 64 MiB.
 */
uint64_t db_segment_size(const struct tsdb *db);

/*
 * Move all unflushed profiles of a head from the WAL into chunks of the head.
 * Takes flush_mu. ERR_NOSPACE, ERR_IO: some profiles are still only in the WAL.
 */
NODISCARD int db_flush_head(struct tsdb *db, struct head *r, struct err *err);

/*
 * Remove the WAL segments whose profiles are all stored in heads or blocks.
 * Errors as wal_drop().
 */
NODISCARD int db_drop_wal(struct tsdb *db, struct err *err);

/*
 * Return a bound in bytes on the values of all open heads: 4 GiB, or a tenth
 * of the maximum size of the database if retention sets one. Beyond the bound,
 * heads are sealed early.
 */
uint64_t db_open_values_max(const struct tsdb *db);

/*
 * To be called when a write failed with ERR_NOSPACE: refuses further appends,
 * releases the ballast and wakes the workers to make room.
 */
void db_no_space(struct tsdb *db);

/*
 * Flush all profiles in the WAL now; `err` may be NULL. ERR_IO, ERR_NOSPACE:
 * some profiles are still only in the WAL, or a segment could not be removed.
 */
NODISCARD int flush_everything(struct tsdb *db, struct err *err);

#endif
