/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/maintain/maintenance.h"

#include <unistd.h>

#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/db/worker.h"
#include "tsdb/maintain/sealing.h"
#include "tsdb/wal/wal_mark.h"

/* Largest number of calls of next() for one kind of job in one round. */
#define ROUND_JOBS 1000

/*
 * A kind of maintenance job. next() does one piece of work and returns 1, or
 * returns 0 if there is no work.
 */
struct job {
	const char *name;
	int (*next)(struct tsdb *db, bool all, struct err *err);
	/* It makes blocks, and so must wait for wal_mark_settle(). */
	bool makes_blocks;
};

/*
 * Let whoever waits take the lock of jobs: db_begin_job_within() looks every few
 * milliseconds whether it is free.
 */
static void maintenance_yield(const struct tsdb *db)
{
	for (int ms = 0;
	     ms < 100 && atomic_load(&db->cancel) && !atomic_load(&db->quit);
	     ms += 5)
		usleep(5000);
}

/* Adapt retention_next() to struct job. */
static int retain_job(struct tsdb *db, bool all UNUSED, struct err *err)
	REQUIRES(db->job_mu)
{
	return retention_next(db, err);
}

/* Adapt compaction_next() to struct job. */
static int compact_job(struct tsdb *db, bool all UNUSED, struct err *err)
	REQUIRES(db->job_mu)
{
	return compaction_next(db, err);
}

/*
 * The order of a round. Retention comes first, because it frees the disk space
 * that the other jobs need.
 */
static const struct job jobs[] = {
	{ .name = "retention", .next = retain_job },
	{ .name = "seal", .next = sealing_next, .makes_blocks = true },
	{ .name = "compaction", .next = compact_job, .makes_blocks = true },
	{ .name = "readmission", .next = readmission_next },
};

int db_maintain(struct tsdb *db, bool seal_all, struct err *err)
{
	int failed = 0;

	/*
	 * The ballast may have been removed when the disk was full: make it
	 * again.
	 */
	if (!atomic_load(&db->full))
		ballast_make(&db->ballast);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		struct err why = { 0 };
		int rc = 1;

		if (jobs[i].makes_blocks)
			rc = wal_mark_settle(db->wal, &why) ?: 1;
		for (int n = 0; rc == 1 && n < ROUND_JOBS; n++) {
			/*
			 * The lock is released after each piece of work, so
			 * that deletions and snapshots need not wait for the
			 * whole round.
			 */
			maintenance_yield(db);
			mutex_lock(&db->job_mu);
			rc = trash_empty(&db->trash, &why);
			if (!rc)
				rc = jobs[i].next(db, seal_all, &why);
			mutex_unlock(&db->job_mu);
		}
		/* A cancelled job has not failed. */
		if (rc >= 0 || rc == ERR_CLOSED)
			continue;
		/* If one kind of job fails, the other kinds still run. */
		db_log_failure(db, &db->maintenance, jobs[i].name, &why);
		if (!failed)
			failed = err_set(err, rc, "%s: %s", jobs[i].name,
					 why.msg);
	}
	return failed;
}
