/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/tsdb.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tsdb/db.h"
#include "tsdb/dirlock.h"
#include "tsdb/tools.h"
#include "tsdb/window.h"

#define BUDGET_DEFAULT (512 * MIB)
#define SYNC_MS        1000
#define MAINTAIN_MS    60000
#define BACKOFF_NS     1000000000LL /* between tries of what fails */
#define TABLES_MAX     (32 * MIB)   /* of stripes, kept for the next reader */
#define MINUTE_NS      60000000000LL
#define STALL_MS       10000  /* how long an append waits for a worker */
#define RETRY_MS       250    /* between tries of an append meanwhile */
#define PENDING_MAX    500000 /* profiles that are only in the WAL */

/* Appending. */

/*
 * Whether a part has a profile of that series and time: 1 and its hash, 0, or
 * an error when it cannot be read.
 */
static int stored_hash(struct tsdb *db, struct part part,
		       const struct sample *s, uint64_t *hash, struct err *err)
{
	struct part_hit hit = { 0 };
	uint32_t series = 0;
	int rc = part_find(part, s->labels, &series, err);

	if (!rc)
		rc = part_lookup(part, series, s->ms, NULL, &hit, err);
	if (rc)
		return rc == ERR_NOTFOUND ? 0 : rc;
	/* A copy that may not survive is none: take it once more. */
	if (hit.pending && wal_may_be_lost(db->wal, hit.wal.lsn))
		return 0;
	*hash = hit.pending ? hit.wal.hash :
			      hit.group.head.profiles[hit.group.index].hash;
	return 1;
}

/* The i-th part, without a reference: append_mu keeps it. */
static struct part part_at(const struct tsdb *db, size_t i)
{
	if (i < db->block_count)
		return (struct part){ .block = db->blocks[i] };
	return (struct part){ .range = db->ranges[i - db->block_count] };
}

/* 1: stored already. 0: new. ERR_EXISTS: something else is there. */
static int check_duplicate(struct tsdb *db, const struct sample *s,
			   struct err *err)
{
	for (size_t i = 0; i < db->block_count + db->range_count; i++) {
		struct part p = part_at(db, i);
		uint64_t hash = 0;
		int rc;

		if (s->ms < part_min(p) || s->ms > part_max(p))
			continue;
		rc = stored_hash(db, p, s, &hash, err);
		if (rc < 0)
			return rc;
		if (rc && hash == s->hash)
			return 1;
		if (rc)
			return err_set(
				err, ERR_EXISTS,
				"another profile of this series is stored at %" PRId64,
				s->ms);
	}
	return 0;
}

/*
 * Whether one more series would pass the bound: then a range has to be sealed
 * first.
 */
static bool must_wait(struct tsdb *db, struct range *r, const struct sample *s)
{
	return db->o.max_series &&
	       atomic_load(&db->env.series) >
		       db->o.max_series + db->o.max_series / 8 &&
	       (!r || range_find(r, s->labels) == SERIES_NONE);
}

static int append_locked(struct tsdb *db, const struct sample *s, uint64_t *lsn,
			 struct err *err)
{
	struct segment_entry e = { 0 };
	struct pending p;
	struct range *r = NULL;
	int rc = check_duplicate(db, s, err);

	if (rc == 1) {
		/* Who syncs up to here has the first copy durable. */
		metric_add(db->metrics.duplicates, 1);
		*lsn = wal_end(db->wal);
		return 0;
	}
	if (rc == ERR_EXISTS)
		metric_add(db->metrics.conflicts, 1);
	if (!rc && must_wait(db, db_open_range(db, window_start(s->ms)), s))
		rc = err_set(
			err, ERR_LIMIT,
			"more than --storage.tsdb.max-series in open ranges, and sealing does not keep up");
	if (!rc)
		rc = db_range_for(db, window_start(s->ms), wal_end(db->wal), &r,
				  err);
	if (!rc) {
		rc = wal_append(db->wal, s, &e, err);
		/* A file that stands in the way is no profile. */
		rc = rc == ERR_EXISTS ? ERR_IO : rc;
	}
	if (rc)
		return rc;
	p = db_pending(&e);
	range_insert(r, s->labels, &p, clock_ms(db->o.clock));
	metric_add(db->metrics.appended, 1);
	*lsn = wal_end(db->wal);
	return 0;
}

void db_kick(struct tsdb *db, struct worker *w)
{
	pthread_mutex_lock(&db->loop_mu);
	w->kicked = true;
	pthread_cond_broadcast(&db->wake);
	pthread_mutex_unlock(&db->loop_mu);
}

static struct timespec in_ms(int64_t ms)
{
	return clock_mono_at(clock_mono_ns() + ms * 1000000);
}

/* Wake a worker, and wait until it has been through a round. */
static void await_round(struct tsdb *db, struct worker *w)
{
	struct timespec until = in_ms(STALL_MS);
	uint64_t round;
	int rc = 0;

	pthread_mutex_lock(&db->loop_mu);
	w->kicked = true;
	pthread_cond_broadcast(&db->wake);
	/* One that is under way may have begun before there was need. */
	round = w->rounds + (w->busy ? 2 : 1);
	while (!rc && !db->interrupted && w->running && w->rounds < round)
		rc = pthread_cond_timedwait(&db->done, &db->loop_mu, &until);
	pthread_mutex_unlock(&db->loop_mu);
}

/* Wait, unless the process is about to end. */
static void pause_for(struct tsdb *db, int64_t ms)
{
	struct timespec until = in_ms(ms);
	int rc = 0;

	pthread_mutex_lock(&db->loop_mu);
	while (!rc && !db->interrupted)
		rc = pthread_cond_timedwait(&db->wake, &db->loop_mu, &until);
	pthread_mutex_unlock(&db->loop_mu);
}

static bool too_many_pending(struct tsdb *db, int64_t bound)
{
	return atomic_load(&db->env.pending) > bound;
}

static int is_closing(struct err *err)
{
	return err_set(err, ERR_CLOSED, "the database is being closed");
}

/*
 * Keep WAL and memory near their bounds: above them flushing begins; when it
 * does not keep up, appends wait, and are refused when that does not help.
 */
static int make_room(struct tsdb *db, struct err *err)
{
	uint64_t hard = db->budget + db->budget / 4;
	bool over = wal_bytes(db->wal) > db->budget &&
		    wal_overdue(db->wal, db->budget);

	if (!over && !too_many_pending(db, PENDING_MAX))
		return 0;
	if (wal_bytes(db->wal) <= hard &&
	    !too_many_pending(db, PENDING_MAX + PENDING_MAX / 4)) {
		db_kick(db, &db->flush);
		return 0;
	}
	if (atomic_load(&db->quit))
		return is_closing(err);
	await_round(db, &db->flush);
	if (too_many_pending(db, PENDING_MAX + PENDING_MAX / 4))
		return err_set(
			err, ERR_LIMIT,
			"too many profiles are not flushed yet, and flushing does not keep up");
	if (wal_bytes(db->wal) <= hard || !wal_overdue(db->wal, db->budget))
		return 0;
	return err_set(
		err, ERR_LIMIT,
		"the WAL is over --storage.tsdb.wal-budget and flushing does not keep up");
}

/* Whether a range should be sealed early. */
static bool is_crowded(struct tsdb *db)
{
	return (db->o.max_series &&
		atomic_load(&db->env.series) > db->o.max_series) ||
	       db->range_count > RANGES_OPEN;
}

static int append_once(struct tsdb *db, const struct sample *s, uint64_t *lsn,
		       struct err *err)
{
	bool crowded;
	int rc;

	pthread_mutex_lock(&db->append_mu);
	rc = append_locked(db, s, lsn, err);
	crowded = is_crowded(db);
	pthread_mutex_unlock(&db->append_mu);
	if (crowded)
		db_kick(db, &db->maintenance);
	return rc;
}

static int db_append(struct appender *a, const struct sample *s, uint64_t *lsn,
		     struct err *err)
{
	struct tsdb *db = (struct tsdb *)a;
	int64_t retention = db->o.ignore_retention ? 0 : db->o.retention_ms;
	int64_t until;
	int rc = window_check(s->ms, clock_ms(db->o.clock), retention, err);

	if (rc) {
		metric_add(db->metrics.out_of_bounds, 1);
		return rc;
	}
	if (atomic_load(&db->full)) {
		db_kick(db, &db->flush); /* it looks whether there is room */
		return err_set(err, ERR_NOSPACE, "%s: the disk is full",
			       db->path);
	}
	rc = make_room(db, err);
	if (rc)
		return rc;
	rc = append_once(db, s, lsn, err);
	/* Sealing makes room for series and windows, once queries let go. */
	until = clock_mono_ns() + STALL_MS * 1000000LL;
	while (rc == ERR_LIMIT && db->maintenance.running &&
	       clock_mono_ns() < until) {
		if (atomic_load(&db->quit))
			return is_closing(err);
		await_round(db, &db->maintenance);
		rc = append_once(db, s, lsn, err);
		/* A round that could do nothing is over at once. */
		if (rc == ERR_LIMIT)
			pause_for(db, RETRY_MS);
	}
	if (rc == ERR_NOSPACE)
		db_no_space(db);
	if (!rc && db->o.sync_ms < 0)
		rc = wal_sync(db->wal, *lsn, err);
	return rc;
}

static int db_sync(struct appender *a, uint64_t lsn, struct err *err)
{
	return wal_sync(((struct tsdb *)a)->wal, lsn, err);
}

struct appender *tsdb_appender(struct tsdb *db)
{
	return &db->appender;
}

/* Flushing. */

/* Flush what is in segments up to one, and let those up to another go. */
static int flush_segments(struct tsdb *db, uint64_t upto, uint64_t drop,
			  struct err *err)
{
	uint64_t behind = (upto + 1) << 32;
	/* On a full disk no more than what lets the segments go. */
	uint64_t limit = atomic_load(&db->full) ? behind : UINT64_MAX;
	size_t count;
	struct part *v;
	int rc = 0;

	pthread_mutex_lock(&db->flush_mu);
	v = db_ranges(db, &count);
	for (size_t i = 0; i < count; i++) {
		struct err why;
		int failed = flush_range(db->flusher, v[i].range, behind, limit,
					 &why);

		/* One range that cannot must not keep the others. */
		if (failed && !rc)
			rc = err_set(err, failed, "%s", why.msg);
	}
	db_parts_free(v, count);
	metric_add(rc ? db->metrics.flush_failures : db->metrics.flushes, 1);
	if (!rc)
		rc = db_drop_segments(db, drop, err);
	pthread_mutex_unlock(&db->flush_mu);
	return rc;
}

int tsdb_flush(struct tsdb *db, struct err *err)
{
	uint64_t current = wal_end(db->wal) >> 32;
	struct err unwanted;

	/* The current one may get more, and be sealed, before we are done. */
	return flush_segments(db, current, current - 1, err ? err : &unwanted);
}

int tsdb_maintain(struct tsdb *db, bool seal_all, struct err *err)
{
	struct err unwanted;

	return db_maintain(db, seal_all, err ? err : &unwanted);
}

void db_no_space(struct tsdb *db)
{
	metric_add(db->metrics.no_space, 1);
	if (!atomic_exchange(&db->full, true))
		log_event(
			db->o.log, LOG_ERROR,
			"the disk is full: nothing is stored until there is room",
			LOG_FIELDS(log_text("path", db->path)));
	ballast_release(&db->ballast);
	db_kick(db, &db->flush);
	db_kick(db, &db->maintenance);
}

/*
 * Flushing the oldest segment takes less than it frees. There is room again
 * when the ballast could be made anew, with as much beside it.
 */
static int make_room_on_disk(struct tsdb *db, struct err *err)
{
	uint64_t oldest = wal_oldest(db->wal);
	uint64_t total = 0;
	uint64_t available = 0;
	struct err unwanted;
	int rc = 0;

	if (oldest)
		rc = flush_segments(db, oldest, oldest, err);
	/* Others may have made room, whatever came of that. */
	if (fs_space(db->path, &total, &available, &unwanted) ||
	    available < 2 * db->ballast.size)
		return rc;
	atomic_store(&db->full, false);
	log_event(db->o.log, LOG_INFO, "the disk has room again",
		  LOG_FIELDS(log_int("bytes", (int64_t)available)));
	return rc;
}

static uint64_t open_values(struct tsdb *db)
{
	size_t count;
	struct part *v = db_ranges(db, &count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		pthread_mutex_lock(&v[i].range->mu);
		sum += v[i].range->values_end;
		pthread_mutex_unlock(&v[i].range->mu);
	}
	db_parts_free(v, count);
	return sum;
}

static int flush_round(struct tsdb *db)
{
	uint64_t overdue;
	struct err err;
	int rc = 0;

	if (wal_sync(db->wal, wal_end(db->wal), &err))
		log_event(db->o.log, LOG_ERROR, "WAL sync failed",
			  LOG_FIELDS(log_err(&err)));
	while (!rc && (overdue = wal_overdue(db->wal, db->budget)))
		rc = flush_segments(db, overdue, overdue, &err);
	if (!rc && too_many_pending(db, PENDING_MAX))
		rc = tsdb_flush(db, &err);
	if (atomic_load(&db->full)) {
		int failed = make_room_on_disk(db, &err);

		rc = rc ? rc : failed;
	}
	if (open_values(db) > db_open_values_max(db))
		db_kick(db, &db->maintenance);
	if (rc == ERR_NOSPACE)
		db_no_space(db);
	if (rc)
		db_tell(db, &db->flush, "flush", &err);
	return rc;
}

void db_tell(struct tsdb *db, struct worker *w, const char *what,
	     const struct err *err)
{
	int64_t now = clock_mono_ns();

	if (!strcmp(w->told, err->msg) && now - w->told_ns < MINUTE_NS)
		return;
	snprintf(w->told, sizeof(w->told), "%s", err->msg);
	w->told_ns = now;
	log_event(db->o.log, LOG_ERROR, "storage has not done what is due",
		  LOG_FIELDS(log_text("job", what), log_err(err)));
}

static int maintenance_round(struct tsdb *db)
{
	struct err err;

	return db_maintain(db, false, &err); /* it tells */
}

/* Call fn each tick, and when kicked, until we stop. */
static void loop(struct tsdb *db, struct worker *w, int64_t tick,
		 int (*fn)(struct tsdb *db))
{
	int64_t not_before = 0; /* after a failure: kicks wait for it */
	bool stop = false;

	while (!stop) {
		int64_t pause = (not_before - clock_mono_ns()) / 1000000;
		struct timespec until = in_ms(tick);
		int rc = 0;

		if (pause > 0)
			pause_for(db, pause);
		pthread_mutex_lock(&db->loop_mu);
		while (!rc && !db->stopping && !w->kicked)
			rc = pthread_cond_timedwait(&db->wake, &db->loop_mu,
						    &until);
		w->kicked = false;
		w->busy = true;
		stop = db->stopping;
		pthread_mutex_unlock(&db->loop_mu);
		if (stop && w == &db->maintenance)
			break;
		not_before = fn(db) ? clock_mono_ns() + BACKOFF_NS : 0;
		pthread_mutex_lock(&db->loop_mu);
		w->busy = false;
		w->rounds++;
		pthread_cond_broadcast(&db->done);
		pthread_mutex_unlock(&db->loop_mu);
	}
}

static void *flush_run(void *arg)
{
	struct tsdb *db = arg;

	pthread_setname_np(pthread_self(), "tsdb-flush");
	loop(db, &db->flush, db->o.sync_ms > 0 ? db->o.sync_ms : SYNC_MS,
	     flush_round);
	return NULL;
}

static void *maintenance_run(void *arg)
{
	struct tsdb *db = arg;

	pthread_setname_np(pthread_self(), "tsdb-maintain");
	loop(db, &db->maintenance,
	     db->o.maintain_ms > 0 ? db->o.maintain_ms : MAINTAIN_MS,
	     maintenance_round);
	return NULL;
}

static void start_worker(struct worker *w, void *(*run)(void *),
			 struct tsdb *db)
{
	w->running = true;
	if (pthread_create(&w->thread, NULL, run, db))
		abort(); /* as when memory is out */
}

void tsdb_interrupt(struct tsdb *db)
{
	pthread_mutex_lock(&db->loop_mu);
	db->interrupted = true;
	atomic_store(&db->quit, 1);
	pthread_cond_broadcast(&db->wake);
	pthread_cond_broadcast(&db->done);
	pthread_mutex_unlock(&db->loop_mu);
}

static void stop_workers(struct tsdb *db)
{
	tsdb_interrupt(db);
	pthread_mutex_lock(&db->loop_mu);
	db->stopping = true;
	atomic_fetch_add(&db->cancel, 1);
	pthread_cond_broadcast(&db->wake);
	pthread_cond_broadcast(&db->done);
	pthread_mutex_unlock(&db->loop_mu);
	if (db->maintenance.running)
		pthread_join(db->maintenance.thread, NULL);
	if (db->flush.running)
		pthread_join(db->flush.thread, NULL);
}

/* Opening. */

static void register_metrics(struct tsdb *db)
{
	struct metrics *m = db->o.metrics;
	struct tsdb_metrics *t = &db->metrics;

	t->appended =
		metrics_counter(m, "everprof_tsdb_head_samples_appended_total",
				"Profiles appended.", NULL);
	t->duplicates = metrics_counter(
		m, "everprof_tsdb_duplicate_samples_total",
		"Profiles that were stored already, with the same bytes.",
		NULL);
	t->conflicts = metrics_counter(
		m, "everprof_tsdb_conflicting_samples_total",
		"Profiles refused because another is stored at their time.",
		NULL);
	t->out_of_bounds =
		metrics_counter(m, "everprof_tsdb_out_of_bound_samples_total",
				"Profiles refused for their time.", NULL);
	t->flushes = metrics_counter(m, "everprof_tsdb_flushes_total",
				     "Flushes that succeeded.", NULL);
	t->flush_failures = metrics_counter(
		m, "everprof_tsdb_flushes_failed_total",
		"Flushes that failed; nothing is lost by one.", NULL);
	t->value_bytes = metrics_counter(
		m, "everprof_tsdb_value_bytes_read_total",
		"Stored bytes of profiles read to answer queries.", NULL);
	t->damaged = metrics_counter(
		m, "everprof_tsdb_profiles_damaged_total",
		"Profiles that could not be read because their bytes are damaged on disk.",
		NULL);
	t->torn = metrics_counter(
		m, "everprof_tsdb_torn_ends_total",
		"Logs whose end a start cut off: what was being written when the power went, never acknowledged.",
		NULL);
	db->env.torn = t->torn;
	t->recovered = metrics_counter(
		m, "everprof_tsdb_profiles_recovered_total",
		"Profiles taken back from the WAL at a start because no range and no block had them.",
		NULL);
	t->seals = metrics_counter(m, "everprof_tsdb_seals_total",
				   "Ranges that became blocks.", NULL);
	t->compactions = metrics_counter(m, "everprof_tsdb_compactions_total",
					 "Compactions of blocks.", NULL);
	t->compaction_failures = metrics_counter(
		m, "everprof_tsdb_compactions_failed_total",
		"Compactions that failed; nothing is lost by one.", NULL);
	t->time_retentions = metrics_counter(
		m, "everprof_tsdb_time_retentions_total",
		"Blocks and ranges removed for their age.", NULL);
	t->size_retentions = metrics_counter(
		m, "everprof_tsdb_size_retentions_total",
		"Blocks and ranges removed for the size of all.", NULL);
	t->no_space = metrics_counter(m, "everprof_tsdb_no_space_total",
				      "How often the disk was found full.",
				      NULL);
	t->deleted = metrics_counter(m, "everprof_tsdb_deletions_total",
				     "Requests to delete profiles.", NULL);
	db->env.corruptions = metrics_counter(
		m, "everprof_tsdb_range_corruptions_total",
		"Damaged records and files found in ranges and blocks.", NULL);
}

/* The budget, but at most an eighth of the size retention and of the disk. */
static uint64_t wal_budget(const struct tsdb_options *o)
{
	uint64_t budget =
		(uint64_t)(o->wal_budget ? o->wal_budget : BUDGET_DEFAULT);
	uint64_t eighth = (uint64_t)o->retention_bytes / 8;
	uint64_t total = 0;
	uint64_t available = 0;

	if (eighth && eighth < budget)
		budget = eighth;
	if (!fs_space(o->path, &total, &available, NULL) && total / 8 < budget)
		budget = total / 8;
	return budget;
}

static void init_locks(struct tsdb *db)
{
	pthread_mutex_init(&db->append_mu, NULL);
	pthread_mutex_init(&db->view_mu, NULL);
	pthread_mutex_init(&db->flush_mu, NULL);
	pthread_mutex_init(&db->job_mu, NULL);
	pthread_mutex_init(&db->loop_mu, NULL);
	clock_cond_init(&db->wake);
	clock_cond_init(&db->done);
}

int tsdb_open(const struct tsdb_options *o, struct tsdb **out, struct err *err)
{
	struct tsdb *db = mem_new(struct tsdb);
	struct err unwanted;
	int rc;

	db->o = *o;
	db->appender =
		(struct appender){ .append = db_append, .sync = db_sync };
	db->path = mem_strdup(o->path);
	db->budget = wal_budget(o);
	db->interner = interner_new();
	db->trash.fs = o->fs;
	state_init(&db->state, o->fs, db->path);
	db->unplaced = UINT64_MAX;
	init_locks(db);
	db->env = (struct range_env){ .fs = o->fs,
				      .dir = mem_printf("%s/ranges", o->path),
				      .read_only = o->read_only,
				      .interner = db->interner,
				      .log = o->log };
	register_metrics(db);
	db->benv = (struct block_env){ .fs = o->fs,
				       .dir = db->path,
				       .log = o->log,
				       .corruptions = db->env.corruptions,
				       .columns = o->columns };
	if (o->columns)
		db->benv.tables = tables_new(o->columns, TABLES_MAX);
	/* Inside, errors are also logged: there is always one to fill. */
	rc = db_load(db, err ? err : &unwanted);
	if (rc) {
		tsdb_close(db);
		return rc;
	}
	db->flusher =
		flusher_new(db->wal, o->log, o->metrics, db->metrics.damaged);
	if (!o->read_only) {
		ballast_init(&db->ballast, o->fs, db->path,
			     db_segment_size(db));
		ballast_make(&db->ballast);
		start_worker(&db->flush, flush_run, db);
		if (o->maintain_ms >= 0)
			start_worker(&db->maintenance, maintenance_run, db);
	}
	*out = db;
	return 0;
}

/* A clean stop leaves no segment of what is in ranges and blocks. */
static void retire_wal(struct tsdb *db)
{
	struct err err;

	if (!atomic_load(&db->env.pending) && wal_retire(db->wal, &err))
		log_event(db->o.log, LOG_WARN, "the WAL stays as it is",
			  LOG_FIELDS(log_err(&err)));
	if (db_drop_wal(db, &err))
		log_event(db->o.log, LOG_WARN, "WAL segments stay",
			  LOG_FIELDS(log_err(&err)));
}

void tsdb_close(struct tsdb *db)
{
	if (!db)
		return;
	stop_workers(db);
	if (db->flusher && !db->o.read_only)
		retire_wal(db);
	flusher_free(db->flusher);
	wal_close(db->wal);
	for (size_t i = 0; i < db->range_count; i++)
		range_unref(db->ranges[i]);
	for (size_t i = 0; i < db->block_count; i++)
		block_unref(db->blocks[i]);
	mem_free(db->ranges);
	mem_free(db->blocks);
	trash_fini(&db->trash);
	ballast_fini(&db->ballast);
	mem_free(db->failed);
	state_fini(&db->state);
	interner_free(db->interner);
	dirlock_release(db->lock);
	pthread_cond_destroy(&db->done);
	pthread_cond_destroy(&db->wake);
	pthread_mutex_destroy(&db->loop_mu);
	pthread_mutex_destroy(&db->job_mu);
	pthread_mutex_destroy(&db->flush_mu);
	pthread_mutex_destroy(&db->view_mu);
	pthread_mutex_destroy(&db->append_mu);
	mem_free(db->env.dir);
	tables_free(db->benv.tables);
	mem_free(db->path);
	mem_free(db);
}

static uint64_t size_of(const struct file *f)
{
	uint64_t size = 0;

	return !f || file_size(f, &size, NULL) ? 0 : size;
}

static void span(struct tsdb_stats *out, struct part p)
{
	bool first = out->max_ms == 0;

	if (first || part_min(p) < out->min_ms)
		out->min_ms = part_min(p);
	if (first || part_max(p) >= out->max_ms)
		out->max_ms = part_max(p) + 1;
}

void tsdb_stats(struct tsdb *db, struct tsdb_stats *out)
{
	*out = (struct tsdb_stats){ .wal_bytes = wal_bytes(db->wal) };
	out->clock_doubt_ms = atomic_load(&db->clock_doubt_ms);
	out->series = interner_count(db->interner);
	out->open_queriers = (uint64_t)atomic_load(&db->queriers);
	out->ballast_bytes = ballast_bytes(&db->ballast);
	out->series_limit = (uint64_t)db->o.max_series;
	out->pending_limit = PENDING_MAX;
	out->wal_limit = db->budget;
	out->retention_bytes = (uint64_t)db->o.retention_bytes;
	out->pending = (uint64_t)atomic_load(&db->env.pending);
	out->head_series = (uint64_t)atomic_load(&db->env.series);
	pthread_mutex_lock(&db->view_mu);
	out->ranges = db->range_count;
	for (size_t i = 0; i < db->range_count; i++) {
		struct part p = { .range = db->ranges[i] };

		out->values_bytes += size_of(p.range->values);
		out->groups_bytes += size_of(p.range->groups);
		span(out, p);
	}
	out->blocks = db->block_count;
	for (size_t i = 0; i < db->block_count; i++) {
		struct part p = { .block = db->blocks[i] };

		out->block_bytes += p.block->bytes;
		out->block_samples += p.block->meta.samples;
		span(out, p);
	}
	pthread_mutex_unlock(&db->view_mu);
}

uint64_t tsdb_damage(struct tsdb *db)
{
	return (uint64_t)(metric_get(db->env.corruptions) +
			  metric_get(db->metrics.damaged) +
			  wal_corruptions(db->wal));
}

uint64_t tsdb_recovered(struct tsdb *db)
{
	return db->recovered;
}
