/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The write path: a sample is checked for duplicates, written to the
 * write-ahead log (WAL), and inserted into the head of its window.
 *
 * Ownership: borrows the database.
 * Threads: any; append_mu serializes appends.
 */
#ifndef TSDB_DB_APPEND_H
#define TSDB_DB_APPEND_H

#include "tsdb/db/db.h"

/*
 * Implement appender.append (model/appender.h): appends a sample and sets *lsn
 * to the position that a sync must reach to make it durable. If the profile is
 * already stored with the same bytes, nothing is written, and the call
 * succeeds. ERR_EXISTS: a different profile of the series is stored at that
 * time. ERR_LIMIT: too much is unflushed, or too many series or heads are open,
 * and waiting did not help. ERR_NOSPACE: the disk is full. ERR_CLOSED: the
 * database is shutting down. ERR_IO: the WAL cannot be written. A time outside
 * of the accepted bounds fails with the error of window_check().
 */
NODISCARD int db_append(struct appender *a, const struct sample *s,
			uint64_t *lsn, struct err *err);

/*
 * Write a profile to the WAL for remote write alone, if that reads the WAL.
 * Errors as wal_append_resend().
 */
NODISCARD int db_resend(struct tsdb *db, const struct sample *s,
			struct err *err);

/*
 * Append a profile again that may be stored already (tsdb/wal/wal_unread.h), in
 * one attempt which never waits for maintenance: for the maintenance thread
 * itself. It is no error if the profile is too old by now, or if another one is
 * stored at its time. If `resend` and remote write reads the WAL, what is stored
 * is sent again. Other errors as db_append().
 */
NODISCARD int db_append_again(struct tsdb *db, const struct sample *s,
			      bool resend, struct err *err);

/*
 * Implement appender.sync: returns when all records before `lsn` are durable.
 * ERR_IO: a sync failed, and some of these records may be lost in a crash.
 */
NODISCARD int db_sync(struct appender *a, uint64_t from, uint64_t lsn,
		      struct err *err);

#endif
