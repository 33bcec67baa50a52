/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database stores profiles by label set and time. A head takes the samples
 * of a window of two hours. The write-ahead log (WAL) makes them durable, and a
 * flush moves them from the WAL into their head. Sealing turns a head into an
 * immutable block. See docs/architecture.md.
 *
 * Ownership: tsdb_close() frees everything; before that, the appender and all
 * queriers must be finished.
 * Threads: any, after tsdb_open() has returned.
 */
#ifndef TSDB_OPEN_TSDB_H
#define TSDB_OPEN_TSDB_H

#include "model/appender.h"
#include "model/sample_log.h"
#include "tsdb/db/options.h"

struct tsdb;

/*
 * Open the database in the directory o->path, or create it. Returns ERR_BUSY
 * when another process has it open, ERR_UNSUPPORTED when a newer version wrote
 * it, ERR_INVALID when the directory contains something else, ERR_IO when it
 * cannot be read, and ERR_NOTFOUND when it does not exist and may not be
 * created.
 */
NODISCARD int tsdb_open(const struct tsdb_options *o, struct tsdb **out,
			struct err *err);

/*
 * Stop the workers, make everything durable and free the database; NULL is a
 * no-op.
 */
void tsdb_close(struct tsdb *db);

/*
 * Announce that the process is about to end: appends that wait for room, or
 * would have to wait, and rewrites and snapshots that clients have asked for fail
 * with ERR_CLOSED. Returns at once; tsdb_close() stops the rest.
 */
void tsdb_interrupt(struct tsdb *db);

/*
 * Return the interface for appending (model/appender.h), borrowed from the
 * database.
 */
struct appender *tsdb_appender(struct tsdb *db);

/*
 * Return the interface for reading the durable samples in the order in which
 * they were appended (model/sample_log.h), borrowed from the database.
 */
struct sample_log *tsdb_sample_log(struct tsdb *db);

/*
 * Whether samples of any profile may have a text label of this name; if not, none
 * has it.
 */
bool tsdb_samples_may_have(struct tsdb *db, struct str name);

/*
 * Call fn() for each name of a text label that samples are known to have had, in no
 * order; fn() must not call the database. Returns false if they may have others.
 */
bool tsdb_sample_labels(struct tsdb *db, void (*fn)(void *ctx, struct str name),
			void *ctx);

/*
 * Flush the whole WAL into heads now; for tests and benchmarks. err may be
 * NULL. Returns ERR_NOSPACE or ERR_IO when some profiles are still only in the
 * WAL.
 */
NODISCARD int tsdb_flush(struct tsdb *db, struct err *err);

/*
 * Run one round of maintenance now: applies retention, seals heads, compacts
 * blocks. Seals the heads that are due, or all heads if seal_all is set. For
 * imports, tests and benchmarks. err may be NULL. If a job fails, the others
 * still run, and the first error is returned.
 */
NODISCARD int tsdb_maintain(struct tsdb *db, bool seal_all, struct err *err);

#endif
