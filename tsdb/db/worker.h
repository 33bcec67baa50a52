/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker is a thread of the database that does a round of work at regular
 * intervals and when it is woken. This file also has the lock that makes
 * maintenance jobs exclusive.
 *
 * Ownership: workers live in struct tsdb.
 * Threads: any; loop_mu guards the state of both workers.
 */
#ifndef TSDB_DB_WORKER_H
#define TSDB_DB_WORKER_H

#include "base/limits.h"
#include "tsdb/db/db.h"

/*
 * Wake a worker and wait until it has completed a round that began after the
 * call. Returns early after 10 seconds, at shutdown, or if the worker is not
 * running.
 */
void worker_await_round(struct tsdb *db, struct worker *w);

/* Wait for `ms` milliseconds, or until the database shuts down. */
void worker_pause_for(struct tsdb *db, int64_t ms);

/*
 * The main function of a worker thread: calls `fn` every `tick` milliseconds
 * and whenever the worker is woken, until the database stops. If `fn` does not
 * return 0, at least a second passes before the next call.
 */
void worker_loop(struct tsdb *db, struct worker *w, int64_t tick,
		 int (*fn)(struct tsdb *db));

/* Start the thread of a worker; aborts the process if that fails. */
void worker_start(struct worker *w, const char *name, void *(*run)(void *),
		  struct tsdb *db);

/*
 * Ask a compaction under way to stop, and take the job lock, which
 * db_end_job() releases. A compaction does not stop if the one before it was
 * cancelled, so that frequent jobs cannot prevent every compaction.
 */
void db_begin_job(struct tsdb *db) ACQUIRES(db->job_mu);

/*
 * As db_begin_job(), for a job that a client has asked for: the limits are asked
 * while it waits for other jobs; NULL: no limits. Returns 0, or their error
 * without the lock.
 */
NODISCARD int db_begin_job_within(struct tsdb *db, const struct limits *limits,
				  struct err *err) TRIES(0, db->job_mu);

/*
 * Release the job lock, and wake maintenance to restart a compaction that was
 * cancelled.
 */
void db_end_job(struct tsdb *db) RELEASES(db->job_mu);

/*
 * Log the failure of a worker's job. The same message is logged at most once a
 * minute. Calls for one worker must not run concurrently.
 */
void db_log_failure(struct tsdb *db, struct worker *w, const char *what,
		    const struct err *err);

/* Wake a worker without waiting for it. */
void db_wake(struct tsdb *db, struct worker *w);

#endif
