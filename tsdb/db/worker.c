/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/db/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "base/thread.h"

/* Minimum time between rounds after a failure, in nanoseconds. */
#define BACKOFF_NS 1000000000LL
#define STALL_MS   10000 /* maximum time in ms that worker_await_round() waits */
#define JOB_POLL   5     /* how often db_begin_job_within() tries, in ms */

void db_wake(struct tsdb *db, struct worker *w)
{
	mutex_lock(&db->loop_mu);
	w->woken = true;
	pthread_cond_broadcast(&db->wake);
	mutex_unlock(&db->loop_mu);
}

/* The monotonic time `ms` milliseconds from now, for timed waits. */
static struct timespec in_ms(int64_t ms)
{
	return clock_mono_at(clock_mono_ns() + ms * 1000000);
}

void worker_await_round(struct tsdb *db, struct worker *w)
{
	struct timespec until = in_ms(STALL_MS);
	uint64_t round;
	int rc = 0;

	mutex_lock(&db->loop_mu);
	w->woken = true;
	pthread_cond_broadcast(&db->wake);
	/*
	 * A round under way may have checked for work before this function was
	 * called: wait for the next round too.
	 */
	round = w->rounds + (w->busy ? 2 : 1);
	while (!rc && !db->interrupted && w->running && w->rounds < round)
		rc = mutex_wait_until(&db->loop_mu, &db->done, &until);
	mutex_unlock(&db->loop_mu);
}

void worker_pause_for(struct tsdb *db, int64_t ms)
{
	struct timespec until = in_ms(ms);
	int rc = 0;

	mutex_lock(&db->loop_mu);
	while (!rc && !db->interrupted)
		rc = mutex_wait_until(&db->loop_mu, &db->wake, &until);
	mutex_unlock(&db->loop_mu);
}

/*
 * A failure that lasts must not flood the log, so the same message is logged at
 * most once a minute.
 */
void db_log_failure(struct tsdb *db, struct worker *w, const char *what,
		    const struct err *err)
{
	int64_t now = clock_mono_ns();

	if (!strcmp(w->logged, err->msg) &&
	    now - w->logged_ns < CLOCK_MINUTE_NS)
		return;
	snprintf(w->logged, sizeof(w->logged), "%s", err->msg);
	w->logged_ns = now;
	log_event(
		db->o.log, LOG_ERROR,
		"storage job failed, or has to wait; this loses no stored profile, and everprof tries again (but blocks whose compaction failed after it had begun are not compacted until the next start)",
		LOG_FIELDS(log_text("job", what), log_err(err)));
}

/*
 * After a failure the loop pauses for a second even if it is woken, so that a
 * lasting failure does not keep a CPU busy.
 */
void worker_loop(struct tsdb *db, struct worker *w, int64_t tick,
		 int (*fn)(struct tsdb *db))
{
	/* Earliest monotonic time of the next round, after a failure. */
	int64_t not_before = 0;
	bool stop = false;

	while (!stop) {
		int64_t pause = (not_before - clock_mono_ns()) / 1000000;
		struct timespec until = in_ms(tick);
		int rc = 0;

		if (pause > 0)
			worker_pause_for(db, pause);
		mutex_lock(&db->loop_mu);
		while (!rc && !db->stopping && !w->woken)
			rc = mutex_wait_until(&db->loop_mu, &db->wake, &until);
		w->woken = false;
		w->busy = true;
		stop = db->stopping;
		mutex_unlock(&db->loop_mu);
		/*
		 * The flush thread runs a last round at shutdown, maintenance
		 * does not.
		 */
		if (stop && w == &db->maintenance)
			break;
		not_before = fn(db) ? clock_mono_ns() + BACKOFF_NS : 0;
		mutex_lock(&db->loop_mu);
		w->busy = false;
		w->rounds++;
		pthread_cond_broadcast(&db->done);
		mutex_unlock(&db->loop_mu);
	}
}

void worker_start(struct worker *w, const char *name, void *(*run)(void *),
		  struct tsdb *db)
{
	w->running = true;
	w->thread = thread_start(name, run, db);
}

/*
 * A compaction under way checks `cancel` before each series, and stops if it is
 * not 0. It then releases job_mu.
 */
void db_begin_job(struct tsdb *db)
{
	atomic_fetch_add(&db->cancel, 1);
	mutex_lock(&db->job_mu);
	atomic_fetch_sub(&db->cancel, 1);
}

int db_begin_job_within(struct tsdb *db, const struct limits *limits,
			struct err *err)
{
	int rc = 0;

	atomic_fetch_add(&db->cancel, 1);
	while (!mutex_try_lock(&db->job_mu)) {
		rc = limits ? limits_spend(limits, 0, err) : 0;
		if (rc)
			break;
		usleep(JOB_POLL * 1000);
	}
	atomic_fetch_sub(&db->cancel, 1);
	/* What was cancelled for this job goes on. */
	if (rc)
		db_wake(db, &db->maintenance);
	return rc;
}

void db_end_job(struct tsdb *db)
{
	mutex_unlock(&db->job_mu);
	/* Wake maintenance to restart a compaction that was cancelled. */
	db_wake(db, &db->maintenance);
}
