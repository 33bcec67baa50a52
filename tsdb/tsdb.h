/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database: profiles by label set and time.
 *
 * Words: a range takes the samples of two hours; the WAL makes them durable;
 * a flush moves them from the WAL into their range. docs/architecture.md.
 *
 * Ownership: tsdb_close() ends everything; appender and queriers must be done.
 * Threads: any, after tsdb_open() has returned.
 */
#ifndef TSDB_TSDB_H
#define TSDB_TSDB_H

#include "model/appender.h"
#include "tsdb/db/options.h"

struct tsdb;

/*
 * Open, or make, the database in a directory. ERR_BUSY: another process has
 * it. ERR_UNSUPPORTED: written by another version. ERR_INVALID: there is
 * something else in it.
 */
NODISCARD int tsdb_open(const struct tsdb_options *o, struct tsdb **out,
			struct err *err);

/* Sync, stop, close. NULL is a no-op. */
void tsdb_close(struct tsdb *db);

/*
 * The process is about to end: appends that wait for room are refused, with
 * ERR_CLOSED, and so are those that would have to.
 */
void tsdb_interrupt(struct tsdb *db);

/* The way in; lives as long as the database. */
struct appender *tsdb_appender(struct tsdb *db);

/* Move everything from the WAL into ranges now. For tests and bench. */
NODISCARD int tsdb_flush(struct tsdb *db, struct err *err);

/*
 * One round of maintenance now: apply retention, seal the ranges that are due
 * (or all of them), compact. For imports, tests and bench.
 */
NODISCARD int tsdb_maintain(struct tsdb *db, bool seal_all, struct err *err);

#endif
