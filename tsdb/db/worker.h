/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker: a thread of the database that runs a round when it is woken and at
 * regular intervals, and the lock that makes maintenance jobs exclusive.
 *
 * Ownership: workers live in struct tsdb.
 * Threads: any; loop_mu guards the state of both workers.
 */
#ifndef TSDB_DB_WORKER_H
#define TSDB_DB_WORKER_H

#include "tsdb/db/db.h"

/* Wake a worker, and wait until it has been through a round. */
void await_round(struct tsdb *db, struct worker *w);

/* Wait, unless the process is about to end. */
void pause_for(struct tsdb *db, int64_t ms);

/* Call fn each tick, and when kicked, until we stop. */
void worker_loop(struct tsdb *db, struct worker *w, int64_t tick,
		 int (*fn)(struct tsdb *db));

void start_worker(struct worker *w, void *(*run)(void *), struct tsdb *db);

/* Have the jobs to oneself; a compaction under way is cancelled. */
void db_begin_job(struct tsdb *db);

void db_end_job(struct tsdb *db);

/* Log a failure; the same again and again once a minute. */
void db_tell(struct tsdb *db, struct worker *w, const char *what,
	     const struct err *err);

void db_kick(struct tsdb *db, struct worker *w);

#endif
