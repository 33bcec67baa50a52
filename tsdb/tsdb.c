/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/tsdb.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tsdb/db.h"
#include "tsdb/dirlock.h"
#include "tsdb/window.h"

#define BUDGET_DEFAULT  (512 * MIB)
#define SEGMENT_MIN     MIB
#define SEGMENT_MAX     (64 * MIB)
#define SYNC_DEFAULT_MS 1000
#define STALL_MS        10000 /* how long an append waits for a flush */

/* Ranges. */

static void add_range(struct tsdb *db, struct range *r)
{
	size_t at;

	pthread_mutex_lock(&db->view_mu);
	at = db->range_count++;
	while (at && (db->ranges[at - 1]->start > r->start ||
		      (db->ranges[at - 1]->start == r->start &&
		       db->ranges[at - 1]->lsn > r->lsn))) {
		db->ranges[at] = db->ranges[at - 1];
		at--;
	}
	db->ranges[at] = r;
	pthread_mutex_unlock(&db->view_mu);
}

/* The window's range with the greatest opening LSN not above lsn. */
static struct range *find_range(const struct tsdb *db, int64_t start,
				uint64_t lsn)
{
	struct range *found = NULL;

	for (size_t i = 0; i < db->range_count; i++) {
		if (db->ranges[i]->start == start && db->ranges[i]->lsn <= lsn)
			found = db->ranges[i];
	}
	return found;
}

/* An import leaves windows for what is scraped now. */
static size_t ranges_max(const struct tsdb *db)
{
	return db->o.ignore_retention ? WINDOW_RANGES_MAX - 2 :
					WINDOW_RANGES_MAX;
}

/* The window's range that takes samples, opened if need be. */
static int range_for(struct tsdb *db, int64_t start, struct range **out,
		     struct err *err)
{
	struct range *r = find_range(db, start, UINT64_MAX);
	int rc;

	if (!r && db->range_count >= ranges_max(db))
		return err_set(
			err, ERR_LIMIT,
			"%zu windows of two hours are open already: samples of further ones are refused",
			ranges_max(db));
	if (!r) {
		rc = range_create(&db->env, start, wal_end(db->wal),
				  clock_ms(db->o.clock), &r, err);
		if (rc)
			return rc == ERR_EXISTS ? ERR_IO : rc;
		add_range(db, r);
	}
	*out = r;
	return 0;
}

static int load_ranges(struct tsdb *db, struct err *err)
{
	struct name_list l = { 0 };
	int rc = fs_list(db->env.dir, &l, err);

	if (rc == ERR_NOTFOUND && db->o.read_only)
		return 0;
	if (rc)
		return rc;
	for (size_t i = 0; i < l.count && !rc; i++) {
		struct range *r = NULL;

		if (strspn(l.names[i], "0123456789.abcdef") !=
		    strlen(l.names[i]))
			continue; /* set aside, or not ours */
		if (db->range_count == WINDOW_RANGES_MAX) {
			rc = err_set(err, ERR_LIMIT,
				     "%s holds more than %d ranges",
				     db->env.dir, WINDOW_RANGES_MAX);
			break;
		}
		rc = range_open(&db->env, l.names[i], &r, err);
		if (!rc)
			add_range(db, r);
		else if (rc == ERR_NOTFOUND || rc == ERR_CORRUPT)
			rc = 0;
	}
	name_list_fini(&l);
	return rc;
}

/* Appending. */

static struct pending pending_of(const struct segment_entry *e)
{
	return (struct pending){ .ms = e->ms,
				 .lsn = e->lsn,
				 .hash = e->hash,
				 .raw_len = e->raw_len,
				 .len = e->len };
}

/*
 * Whether the range has a profile of that series and time: 1 and its hash, 0,
 * or an error when a head cannot be read.
 */
static int stored_hash(struct tsdb *db, struct range *r, const struct sample *s,
		       uint64_t *hash, struct err *err)
{
	struct range_hit hit = { 0 };
	uint32_t series = range_find(r, s->labels);
	int rc;

	if (series == SERIES_NONE)
		return 0;
	rc = range_lookup(r, series, s->ms, NULL, &hit, err);
	if (rc)
		return rc == ERR_NOTFOUND ? 0 : rc;
	/* A copy that may not survive is none: take it once more. */
	if (hit.pending && wal_may_be_lost(db->wal, hit.wal.lsn))
		return 0;
	*hash = hit.pending ? hit.wal.hash : hit.head.profiles[hit.index].hash;
	return 1;
}

/* 1: stored already. 0: new. ERR_EXISTS: something else is there. */
static int check_duplicate(struct tsdb *db, const struct sample *s,
			   struct err *err)
{
	int64_t start = window_start(s->ms);

	for (size_t i = 0; i < db->range_count; i++) {
		uint64_t hash = 0;
		int rc;

		if (db->ranges[i]->start != start)
			continue;
		rc = stored_hash(db, db->ranges[i], s, &hash, err);
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
	if (!rc)
		rc = range_for(db, window_start(s->ms), &r, err);
	if (!rc) {
		rc = wal_append(db->wal, s, &e, err);
		/* A file that stands in the way is no profile. */
		rc = rc == ERR_EXISTS ? ERR_IO : rc;
	}
	if (rc)
		return rc;
	p = pending_of(&e);
	range_insert(r, s->labels, &p);
	metric_add(db->metrics.appended, 1);
	*lsn = wal_end(db->wal);
	return 0;
}

static void kick(struct tsdb *db)
{
	pthread_mutex_lock(&db->loop_mu);
	db->kicked = true;
	pthread_cond_signal(&db->loop_wake);
	pthread_mutex_unlock(&db->loop_mu);
}

static struct timespec in_ms(int64_t ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += ms % 1000 * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	return ts;
}

/*
 * Keep the WAL near its budget: above it flushing begins; when flushing does
 * not keep up, appends wait, and are refused when that does not help.
 */
static int make_room(struct tsdb *db, struct err *err)
{
	uint64_t bytes = wal_bytes(db->wal);
	struct timespec until;
	uint64_t round;
	int rc = 0;

	if (bytes <= db->budget || !wal_overdue(db->wal, db->budget))
		return 0;
	kick(db);
	if (bytes <= db->budget + db->budget / 4)
		return 0;
	until = in_ms(STALL_MS);
	pthread_mutex_lock(&db->loop_mu);
	round = db->flush_rounds;
	while (!rc && !db->stopping && db->running && db->flush_rounds == round)
		rc = pthread_cond_timedwait(&db->flushed, &db->loop_mu, &until);
	pthread_mutex_unlock(&db->loop_mu);
	if (wal_bytes(db->wal) <= db->budget + db->budget / 4 ||
	    !wal_overdue(db->wal, db->budget))
		return 0;
	return err_set(
		err, ERR_LIMIT,
		"the WAL is over --storage.tsdb.wal-budget and flushing does not keep up");
}

static int db_append(struct appender *a, const struct sample *s, uint64_t *lsn,
		     struct err *err)
{
	struct tsdb *db = (struct tsdb *)a;
	int64_t retention = db->o.ignore_retention ? 0 : db->o.retention_ms;
	int rc = window_check(s->ms, clock_ms(db->o.clock), retention, err);

	if (rc) {
		metric_add(db->metrics.out_of_bounds, 1);
		return rc;
	}
	rc = make_room(db, err);
	if (rc)
		return rc;
	pthread_mutex_lock(&db->append_mu);
	rc = append_locked(db, s, lsn, err);
	pthread_mutex_unlock(&db->append_mu);
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
	struct range *ranges[WINDOW_RANGES_MAX];
	size_t count;
	int rc = 0;

	pthread_mutex_lock(&db->flush_mu);
	pthread_mutex_lock(&db->view_mu);
	count = db->range_count;
	for (size_t i = 0; i < count; i++)
		ranges[i] = range_ref(db->ranges[i]);
	pthread_mutex_unlock(&db->view_mu);
	for (size_t i = 0; i < count; i++) {
		struct err why;
		int failed = flush_range(db->flusher, ranges[i],
					 (upto + 1) << 32, &why);

		/* One range that cannot must not keep the others. */
		if (failed && !rc)
			rc = err_set(err, failed, "%s", why.msg);
		range_unref(ranges[i]);
	}
	metric_add(rc ? db->metrics.flush_failures : db->metrics.flushes, 1);
	if (!rc)
		rc = wal_drop(db->wal, drop, err);
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

static void maintain(struct tsdb *db)
{
	uint64_t overdue;
	struct err err;

	if (wal_sync(db->wal, wal_end(db->wal), &err))
		log_event(db->o.log, LOG_ERROR, "WAL sync failed",
			  LOG_FIELDS(log_err(&err)));
	while ((overdue = wal_overdue(db->wal, db->budget))) {
		if (flush_segments(db, overdue, overdue, &err)) {
			log_event(db->o.log, LOG_ERROR, "flush failed",
				  LOG_FIELDS(log_err(&err)));
			break;
		}
	}
	pthread_mutex_lock(&db->loop_mu);
	db->flush_rounds++;
	pthread_cond_broadcast(&db->flushed);
	pthread_mutex_unlock(&db->loop_mu);
}

static void *loop_run(void *arg)
{
	struct tsdb *db = arg;
	int64_t tick = db->o.sync_ms > 0 ? db->o.sync_ms : SYNC_DEFAULT_MS;
	bool stop = false;

	pthread_setname_np(pthread_self(), "tsdb-flush");
	while (!stop) {
		struct timespec until = in_ms(tick);
		int rc = 0;

		pthread_mutex_lock(&db->loop_mu);
		while (!rc && !db->stopping && !db->kicked)
			rc = pthread_cond_timedwait(&db->loop_wake,
						    &db->loop_mu, &until);
		db->kicked = false;
		stop = db->stopping;
		pthread_mutex_unlock(&db->loop_mu);
		maintain(db);
	}
	return NULL;
}

/* Opening. */

/* For a look at records whose range a start would have to make. */
static struct range *range_in_memory(struct tsdb *db, int64_t start)
{
	struct range *r;

	if (db->range_count == WINDOW_RANGES_MAX)
		return NULL;
	r = range_new(&db->env, "(WAL)");
	r->start = start;
	add_range(db, r);
	return r;
}

static void replay_entry(void *ctx, const struct segment_entry *e)
{
	struct tsdb *db = ctx;
	struct pending p = pending_of(e);
	struct range_hit hit = { 0 };
	struct labels *labels = NULL;
	struct range *r = NULL;
	uint32_t series;
	struct err err;
	int rc = labels_decode(e->labels, &labels, &err);

	if (rc || e->ms < 0) {
		metric_add(db->env.corruptions, 1);
		return;
	}
	r = find_range(db, window_start(e->ms), e->lsn);
	/* Without a range it was in one that had to be set aside. */
	if (!r && db->o.read_only)
		r = range_in_memory(db, window_start(e->ms));
	else if (!r)
		rc = range_for(db, window_start(e->ms), &r, &err);
	if (rc)
		log_event(db->o.log, LOG_ERROR, "WAL record not replayed",
			  LOG_FIELDS(log_err(&err)));
	if (!r) {
		metric_add(db->env.corruptions, 1);
	} else {
		series = range_find(r, labels);
		if (series == SERIES_NONE ||
		    (!range_has_flushed(r, series, e->lsn) &&
		     range_lookup(r, series, e->ms, NULL, &hit, NULL)))
			range_insert(r, labels, &p);
	}
	labels_unref(labels);
}

static uint64_t highest_segment(const struct tsdb *db)
{
	uint64_t highest = 0;

	for (size_t i = 0; i < db->range_count; i++) {
		uint64_t n = range_highest_lsn(db->ranges[i]) >> 32;

		highest = n > highest ? n : highest;
	}
	return highest;
}

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
	db->env.corruptions = metrics_counter(
		m, "everprof_tsdb_range_corruptions_total",
		"Damaged records and files found in ranges.", NULL);
}

/* A segment is an eighth of the budget, 1 to 64 MiB. */
static uint64_t segment_size(const struct tsdb_options *o, uint64_t budget)
{
	uint64_t size = budget / 8;

	if (o->wal_segment)
		return (uint64_t)o->wal_segment;
	if (size < SEGMENT_MIN)
		return SEGMENT_MIN;
	return size > SEGMENT_MAX ? SEGMENT_MAX : size;
}

/* The directory that holds path; the caller frees it. */
static char *parent_of(const char *path)
{
	size_t n = strlen(path);

	while (n && path[n - 1] == '/')
		n--;
	while (n && path[n - 1] != '/')
		n--;
	if (!n)
		return mem_strdup(".");
	while (n > 1 && path[n - 1] == '/')
		n--;
	return mem_strndup((struct str){ .ptr = path, .len = n });
}

/* Make a directory that is durable in the one that holds it. */
static int make_dir(struct tsdb *db, const char *path, struct err *err)
{
	CLEANUP(mem_freep) char *parent = parent_of(path);
	int rc = fs_mkdir(db->o.fs, path, err);

	/* Also when it is there: its maker may have died before the sync. */
	return rc && rc != ERR_EXISTS ? rc : fs_sync_dir(db->o.fs, parent, err);
}

static int open_files(struct tsdb *db, struct err *err)
{
	CLEANUP(mem_freep) char *wal_dir = mem_printf("%s/wal", db->path);
	struct wal_options wo = { .fs = db->o.fs,
				  .dir = wal_dir,
				  .segment_size =
					  segment_size(&db->o, db->budget),
				  .read_only = db->o.read_only,
				  .log = db->o.log,
				  .metrics = db->o.metrics };
	int rc = 0;

	if (!db->o.read_only) {
		rc = make_dir(db, db->path, err);
		if (!rc)
			rc = dirlock_take(db->path, &db->lock, err);
		if (!rc)
			rc = make_dir(db, db->env.dir, err);
	}
	/*
	 * The WAL's files are opened before ranges are read: beside a running
	 * server, what leaves the WAL meanwhile is then seen in both.
	 */
	if (!rc)
		rc = wal_open(&wo, &db->wal, err);
	if (!rc && !db->o.read_only)
		rc = fs_sync_dir(db->o.fs, db->path, err);
	if (!rc)
		rc = load_ranges(db, err);
	if (!rc)
		rc = wal_replay(db->wal, highest_segment(db), replay_entry, db,
				err);
	return rc;
}

static void init_locks(struct tsdb *db)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&db->append_mu, NULL);
	pthread_mutex_init(&db->view_mu, NULL);
	pthread_mutex_init(&db->flush_mu, NULL);
	pthread_mutex_init(&db->loop_mu, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&db->loop_wake, &attr);
	pthread_cond_init(&db->flushed, &attr);
	pthread_condattr_destroy(&attr);
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
	db->budget = (uint64_t)(o->wal_budget ? o->wal_budget : BUDGET_DEFAULT);
	db->interner = interner_new();
	init_locks(db);
	db->env = (struct range_env){ .fs = o->fs,
				      .dir = mem_printf("%s/ranges", o->path),
				      .read_only = o->read_only,
				      .interner = db->interner,
				      .log = o->log };
	register_metrics(db);
	/* Inside, errors are also logged: there is always one to fill. */
	rc = open_files(db, err ? err : &unwanted);
	if (rc) {
		tsdb_close(db);
		return rc;
	}
	db->flusher = flusher_new(db->wal, o->log, o->metrics);
	if (!o->read_only) {
		db->running = true;
		if (pthread_create(&db->loop, NULL, loop_run, db))
			abort(); /* as when memory is out */
	}
	*out = db;
	return 0;
}

void tsdb_close(struct tsdb *db)
{
	if (!db)
		return;
	if (db->running) {
		pthread_mutex_lock(&db->loop_mu);
		db->stopping = true;
		pthread_cond_broadcast(&db->loop_wake);
		pthread_cond_broadcast(&db->flushed);
		pthread_mutex_unlock(&db->loop_mu);
		pthread_join(db->loop, NULL);
	}
	flusher_free(db->flusher);
	wal_close(db->wal);
	for (size_t i = 0; i < db->range_count; i++)
		range_unref(db->ranges[i]);
	interner_free(db->interner);
	dirlock_release(db->lock);
	pthread_cond_destroy(&db->flushed);
	pthread_cond_destroy(&db->loop_wake);
	pthread_mutex_destroy(&db->loop_mu);
	pthread_mutex_destroy(&db->flush_mu);
	pthread_mutex_destroy(&db->view_mu);
	pthread_mutex_destroy(&db->append_mu);
	mem_free(db->env.dir);
	mem_free(db->path);
	mem_free(db);
}

static uint64_t size_of(const struct file *f)
{
	uint64_t size = 0;

	return !f || file_size(f, &size, NULL) ? 0 : size;
}

void tsdb_stats(struct tsdb *db, struct tsdb_stats *out)
{
	*out = (struct tsdb_stats){ .wal_bytes = wal_bytes(db->wal) };
	out->series = interner_count(db->interner);
	out->open_queriers = (uint64_t)atomic_load(&db->queriers);
	pthread_mutex_lock(&db->view_mu);
	out->ranges = db->range_count;
	for (size_t i = 0; i < db->range_count; i++) {
		struct range *r = db->ranges[i];

		out->values_bytes += size_of(r->values);
		out->groups_bytes += size_of(r->groups);
		pthread_mutex_lock(&r->mu);
		out->pending += r->pending;
		pthread_mutex_unlock(&r->mu);
		out->max_ms = r->start + WINDOW_MS;
	}
	if (db->range_count)
		out->min_ms = db->ranges[0]->start;
	pthread_mutex_unlock(&db->view_mu);
}
