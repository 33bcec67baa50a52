/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maintenance: seal ranges, compact blocks, remove what retention says. What
 * to do is the planner's; this does it.
 */
#include <inttypes.h>

#include "base/mem.h"
#include "tsdb/block_writer.h"
#include "tsdb/compactor.h"
#include "tsdb/db.h"
#include "tsdb/planner.h"
#include "tsdb/tools.h"

#define OPEN_VALUES (4096ull * MIB) /* of open ranges together */
#define LINK_MIN    (8ull * MIB)
#define MINUTE_NS   60000000000LL
#define NO_ROOM_NS  2000000000LL /* until a full disk is tried again */
#define ROUND_JOBS  1000         /* an end to any loop of ours */

/* Sealing. */

int db_drop_wal(struct tsdb *db, struct err *err)
{
	uint64_t oldest;
	size_t count;
	struct part *v;

	/* What is appended meanwhile is in the current segment, which stays. */
	pthread_mutex_lock(&db->append_mu);
	oldest = wal_end(db->wal);
	pthread_mutex_unlock(&db->append_mu);
	v = db_ranges(db, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t lsn = range_oldest(v[i].range);

		oldest = lsn < oldest ? lsn : oldest;
	}
	db_parts_free(v, count);
	return db_drop_segments(db, (oldest >> 32) - 1, err);
}

int db_drop_segments(struct tsdb *db, uint64_t upto, struct err *err)
{
	if (upto >= db->unplaced >> 32)
		upto = (db->unplaced >> 32) - 1;
	return wal_drop(db->wal, upto, err);
}

/*
 * From here on the window's next generation takes samples. False: the range is
 * empty, and still open: the next generation would have its name, for no LSN
 * lies between them.
 */
static bool close_range(struct tsdb *db, struct range *r)
{
	pthread_mutex_lock(&db->append_mu);
	r->closed = r->index.series > 0;
	pthread_mutex_unlock(&db->append_mu);
	return r->closed;
}

/*
 * Take an empty range away: its name is free before anybody can make another
 * of that name.
 */
static int remove_empty(struct tsdb *db, struct range *r, struct err *err)
{
	CLEANUP(mem_freep)
	char *gone = mem_printf("%s" RANGE_DELETE_SUFFIX, r->path);
	struct part part = { .range = r };
	int rc = 0;

	pthread_mutex_lock(&db->append_mu);
	if (!r->index.series) {
		rc = fs_rename(db->o.fs, r->path, gone, err);
		if (!rc) {
			/* Should it come back after all, it holds nothing. */
			trash_add_hidden(&db->trash, gone);
			db_replace_locked(db, &part, 1, NULL);
		}
	}
	pthread_mutex_unlock(&db->append_mu);
	return rc;
}

int db_flush_range(struct tsdb *db, struct range *r, struct err *err)
{
	int rc;

	pthread_mutex_lock(&db->flush_mu);
	rc = flush_range(db->flusher, r, UINT64_MAX, UINT64_MAX, err);
	pthread_mutex_unlock(&db->flush_mu);
	return rc;
}

/* Whether there is room to write so many bytes twice. */
static bool has_room(struct tsdb *db, uint64_t bytes)
{
	uint64_t total = 0;
	uint64_t available = 0;

	return !fs_space(db->path, &total, &available, NULL) &&
	       available / 2 >= bytes;
}

/*
 * A new block takes the place of what it was made of. Where the disk did not
 * give something back, that is set aside: it may be read another day.
 */
static int replace_parts(struct tsdb *db, const struct part *v, size_t count,
			 struct block *b, bool aside, struct err *err)
{
	if (aside)
		return db_set_aside(db, v, count, b, err);
	/* Without a block all of it was deleted. */
	return b ? db_supersede(db, v, count, b, err) :
		   db_retire(db, v, count, err);
}

static int seal(struct tsdb *db, struct range *r, struct err *err)
{
	struct part part = { .range = r };
	struct rewrite_loss loss = { 0 };
	struct compaction c = { .env = &db->benv,
				.parts = &part,
				.count = 1,
				.ulid = r->ulid,
				.reencode = true,
				.salvage = true,
				.loss = &loss,
				.damaged = db->metrics.damaged };
	struct block *b = NULL;
	int rc;

	if (!close_range(db, r))
		return remove_empty(db, r, err);
	rc = db_flush_range(db, r, err);
	if (!rc)
		rc = compact(&c, &b, err);
	if (rc)
		return rc;
	metric_add(db->metrics.seals, 1);
	rc = replace_parts(db, &part, 1, b, loss.unread || r->unreadable, err);
	return rc ? rc : db_drop_wal(db, err);
}

static struct plan_range describe_range(const struct tsdb *db, struct range *r)
{
	struct plan_range p = { .start = r->start, .lsn = r->lsn };

	p.failed = clock_mono_ns() < r->retry_ns;
	pthread_mutex_lock(&r->mu);
	p.idle_ms = clock_ms(db->o.clock) - r->touched_ms;
	p.series = r->index.series;
	p.bytes = r->values_end;
	p.closed = r->closed;
	pthread_mutex_unlock(&r->mu);
	return p;
}

uint64_t db_open_values_max(const struct tsdb *db)
{
	uint64_t tenth = (uint64_t)db->o.retention_bytes / 10;

	return tenth && tenth < OPEN_VALUES ? tenth : OPEN_VALUES;
}

/* Seal the next range that is due: 1 when there was one. */
static int seal_next(struct tsdb *db, bool all, struct err *err)
{
	struct plan_bounds bounds = { .now_ms = clock_ms(db->o.clock),
				      .series = (uint64_t)db->o.max_series,
				      .bytes = db_open_values_max(db),
				      .ranges = RANGES_OPEN,
				      .all = all };
	size_t count;
	struct part *v = db_ranges(db, &count);
	struct plan_range *plan = mem_zalloc(count, sizeof(*plan));
	int pick;
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		plan[i] = describe_range(db, v[i].range);
	pick = plan_seal(&bounds, plan, count);
	if (pick != PLAN_NONE && !has_room(db, plan[pick].bytes))
		rc = err_set(
			err, ERR_NOSPACE,
			"sealing waits until there is room for twice the range");
	else if (pick != PLAN_NONE)
		rc = seal(db, v[pick].range, err);
	if (rc) /* the others must not wait for it; room may come any time */
		v[pick].range->retry_ns =
			clock_mono_ns() +
			(rc == ERR_NOSPACE ? NO_ROOM_NS : MINUTE_NS);
	mem_free(plan);
	db_parts_free(v, count);
	return rc ? rc : pick != PLAN_NONE;
}

/* Compaction. */

static bool has_failed(const struct tsdb *db, const struct ulid *u)
{
	for (size_t i = 0; i < db->failed_count; i++) {
		if (ulid_eq(&db->failed[i], u))
			return true;
	}
	return false;
}

static void note_failed(struct tsdb *db, const struct part *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		db->failed = mem_grow(db->failed, db->failed_count,
				      &db->failed_cap, sizeof(*db->failed));
		db->failed[db->failed_count++] = v[i].block->meta.ulid;
	}
}

/* Blocks of one window are small, and get full groups only by encoding anew. */
static bool are_one_window(const struct part *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct meta *m = &v[i].block->meta;

		if (m->max_ms - m->min_ms != WINDOW_MS ||
		    m->min_ms != v[0].block->meta.min_ms)
			return false;
	}
	return count > 1;
}

/*
 * What ends a compaction early: a deletion that waits, or the end of the
 * process. One that deletions have cancelled is not cancelled by them again,
 * or frequent ones would keep blocks from ever being compacted.
 */
static const _Atomic int *cancel_of(const struct tsdb *db)
{
	return db->cancelled ? &db->quit : &db->cancel;
}

static uint64_t link_min(const struct tsdb *db)
{
	return db->o.link_min ? (uint64_t)db->o.link_min : LINK_MIN;
}

/* How blocks are written anew. */
struct rewriting {
	bool (*wanted)(const struct tsdb *db, struct block *b);
	bool reencode;
	bool salvage;          /* without what the disk does not give back */
	bool background;       /* a deletion may cancel it */
	tsdb_progress_fn told; /* behind each one; may be NULL */
	void *ctx;
};

static int rewrite_blocks(struct tsdb *db, const struct part *v, size_t count,
			  const struct rewriting *how,
			  struct rewrite_loss *loss, struct err *err)
{
	struct compaction c = { .env = &db->benv,
				.parts = v,
				.count = count,
				.ulid = ulid_new(clock_ms(db->o.clock)),
				.reencode = how->reencode,
				.link_min = link_min(db),
				.salvage = how->salvage,
				.loss = loss,
				.damaged = db->metrics.damaged,
				.cancel = how->background ? cancel_of(db) :
							    NULL };
	uint64_t unread = loss->unread;
	struct block *b = NULL;
	int rc = compact(&c, &b, err);

	if (rc && rc != ERR_CLOSED) {
		note_failed(db, v, count);
		metric_add(db->metrics.compaction_failures, 1);
	}
	if (how->background)
		db->cancelled = rc == ERR_CLOSED;
	if (rc)
		return rc;
	metric_add(db->metrics.compactions, 1);
	return replace_parts(db, v, count, b, loss->unread > unread, err);
}

static struct plan_block describe_block(const struct tsdb *db, struct block *b)
{
	struct tombstones *t = block_tombstones(b);
	struct plan_block p = { .min_ms = b->meta.min_ms,
				.max_ms = b->meta.max_ms,
				.series = b->meta.series,
				.tombstones = tombstones_series(t),
				.bytes = b->bytes,
				/* What is damaged is left to repair. */
				.failed = has_failed(db, &b->meta.ulid) ||
					  b->damaged };

	tombstones_unref(t);
	return p;
}

/* All blocks, referenced, as the planner wants them: by time, then age. */
static struct part *blocks_by_time(struct tsdb *db, size_t *count)
{
	size_t n = 0;
	struct part *v = db_parts(db, count);

	for (size_t i = 0; i < *count; i++) {
		struct part p = v[i];
		size_t at = n;

		if (p.range) {
			part_unref(p);
			continue;
		}
		for (;
		     at && v[at - 1].block->meta.min_ms > p.block->meta.min_ms;
		     at--)
			v[at] = v[at - 1];
		v[at] = p;
		n++;
	}
	*count = n;
	return v;
}

/* Older first. */
static void sort_by_age(struct part *v, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct part p = v[i];
		size_t at = i;

		for (; at && v[at - 1].block->meta.first_lsn >
				     p.block->meta.first_lsn;
		     at--)
			v[at] = v[at - 1];
		v[at] = p;
	}
}

static int compact_blocks(struct tsdb *db, const struct part *v, size_t count,
			  struct err *err)
{
	const struct rewriting how = { .reencode = are_one_window(v, count),
				       .background = true };
	struct rewrite_loss loss = { 0 };

	return rewrite_blocks(db, v, count, &how, &loss, err);
}

/* What a compaction of these will write: all but what it links. */
static uint64_t written_bytes(const struct tsdb *db, const struct part *v,
			      size_t count)
{
	bool all = are_one_window(v, count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		const struct meta *m = &v[i].block->meta;

		for (size_t k = 0; k < m->file_count; k++) {
			const struct meta_file *f = &m->files[k];

			if (all || !f->live || f->size < link_min(db) ||
			    f->live < f->size / 2)
				sum += f->size;
		}
	}
	return sum;
}

static int compact_picked(struct tsdb *db, const struct part *v,
			  const size_t *picked, size_t n, struct err *err)
{
	struct part *parts = mem_zalloc(n, sizeof(*parts));
	int rc;

	for (size_t i = 0; i < n; i++)
		parts[i] = v[picked[i]];
	sort_by_age(parts, n);
	if (has_room(db, written_bytes(db, parts, n)))
		rc = compact_blocks(db, parts, n, err);
	else
		rc = err_set(err, ERR_NOSPACE,
			     "compaction waits until twice its size is free");
	mem_free(parts);
	return rc;
}

/* Compact what the planner picks: 1 when there was something. */
static int compact_next(struct tsdb *db, struct err *err)
{
	struct plan_levels levels = plan_levels(
		db->o.retention_ms, (uint64_t)db->o.retention_bytes);
	size_t count;
	struct part *v = blocks_by_time(db, &count);
	struct plan_block *plan = mem_zalloc(count, sizeof(*plan));
	size_t *picked = mem_zalloc(count, sizeof(*picked));
	size_t n;
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		plan[i] = describe_block(db, v[i].block);
	n = plan_compaction(&levels, plan, count, picked);
	if (n)
		rc = compact_picked(db, v, picked, n, err);
	mem_free(picked);
	mem_free(plan);
	db_parts_free(v, count);
	return rc ? rc : n > 0;
}

/* Retention. */

static uint64_t range_bytes(struct range *r)
{
	uint64_t bytes;

	pthread_mutex_lock(&r->mu);
	bytes = r->values_end + r->groups_end;
	pthread_mutex_unlock(&r->mu);
	return bytes;
}

static int remove_part(struct tsdb *db, struct part p, struct err *err)
{
	int rc;

	if (!p.range)
		return db_retire(db, &p, 1, err);
	if (!close_range(db, p.range))
		return remove_empty(db, p.range, err);
	/* A flush under way would miss its WAL segments. */
	pthread_mutex_lock(&db->flush_mu);
	rc = db_retire(db, &p, 1, err);
	if (!rc)
		rc = db_drop_wal(db, err);
	pthread_mutex_unlock(&db->flush_mu);
	return rc;
}

/* The newest range takes samples now: it stays. */
static size_t newest_range(const struct part *v, size_t count)
{
	size_t newest = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		if (v[i].range && (newest == SIZE_MAX ||
				   v[i].range->start >= v[newest].range->start))
			newest = i;
	}
	return newest;
}

static void describe_items(const struct part *v, size_t count,
			   struct plan_item *items, struct plan_retention *p)
{
	size_t open = newest_range(v, count);

	for (size_t i = 0; i < count; i++) {
		struct plan_item *it = &items[i];

		it->max_ms = v[i].range ? v[i].range->start + WINDOW_MS :
					  v[i].block->meta.max_ms;
		it->bytes = v[i].range ? range_bytes(v[i].range) :
					 v[i].block->bytes;
		/* One that alone is more than all may be is not spared. */
		it->open = i == open &&
			   (!p->bytes_max || it->bytes <= p->bytes_max);
		p->bytes += it->bytes;
	}
}

static void log_removal(const struct tsdb *db, const struct plan_item *it,
			bool by_size)
{
	log_event(db->o.log, LOG_INFO, "retention removes profiles",
		  LOG_FIELDS(log_text("by", by_size ? "size" : "time"),
			     log_int("before", it->max_ms),
			     log_int("bytes", (int64_t)it->bytes)));
}

static void save_clock(struct tsdb *db, int64_t now_ns)
{
	struct err err;

	db->saved_ns = now_ns;
	if (state_save(&db->state, &err))
		log_event(db->o.log, LOG_WARN,
			  "the retention clock could not be saved",
			  LOG_FIELDS(log_err(&err)));
}

static void log_doubt(const struct tsdb *db, int64_t now_ms)
{
	log_event(
		db->o.log, LOG_WARN,
		"the clock jumped by more than a day: retention by time waits for a week, or until \"everprof tsdb confirm-clock\" or the admin API says that the time is right",
		LOG_FIELDS(log_int("clock_ms", now_ms),
			   log_int("expected_ms", db->state.clock.trusted_ms)));
}

int64_t db_retention_now(struct tsdb *db)
{
	struct plan_clock *c = &db->state.clock;
	bool by_time = db->o.retention_ms && !db->o.ignore_retention;
	int64_t now_ms = clock_ms(db->o.clock);
	int64_t now_ns = clock_mono_ns();
	int64_t elapsed = db->clock_ns ? (now_ns - db->clock_ns) / 1000000 : 0;
	bool doubted = db->clock_ns && c->doubt_ms;
	int64_t retention_now;

	if (!by_time)
		return now_ms;
	retention_now = plan_clock(c, now_ms, elapsed);
	if (c->doubt_ms && !doubted)
		log_doubt(db, now_ms);
	atomic_store(&db->clock_doubt_ms, c->doubt_ms);
	db->clock_ns = now_ns;
	if (!db->saved_ns || now_ns - db->saved_ns > 60 * MINUTE_NS)
		save_clock(db, now_ns);
	return retention_now;
}

int tsdb_confirm_clock(struct tsdb *db, struct err *err)
{
	int rc;

	db_begin_job(db);
	db->state.clock =
		(struct plan_clock){ .trusted_ms = clock_ms(db->o.clock) };
	atomic_store(&db->clock_doubt_ms, 0);
	rc = state_save(&db->state, err);
	db_end_job(db);
	return rc;
}

/* Remove the next part that retention says: 1 when there was one. */
static int retain_next(struct tsdb *db, struct err *err)
{
	struct plan_retention p = {
		.now_ms = db_retention_now(db),
		.retention_ms = db->o.ignore_retention ? 0 : db->o.retention_ms,
		.bytes_max = (uint64_t)db->o.retention_bytes,
		.bytes = wal_bytes(db->wal) + ballast_bytes(&db->ballast),
	};
	size_t count;
	struct part *v = db_parts(db, &count);
	struct plan_item *items = mem_zalloc(count, sizeof(*items));
	bool by_size;
	int pick;
	int rc = 0;

	describe_items(v, count, items, &p);
	by_size = p.bytes_max && p.bytes > p.bytes_max;
	pick = plan_removal(&p, items, count);
	if (pick != PLAN_NONE) {
		log_removal(db, &items[pick], by_size);
		metric_add(by_size ? db->metrics.size_retentions :
				     db->metrics.time_retentions,
			   1);
		rc = remove_part(db, v[pick], err);
	}
	mem_free(items);
	db_parts_free(v, count);
	return rc ? rc : pick != PLAN_NONE;
}

static void ignore_problem(void *ctx UNUSED, const char *path UNUSED,
			   const char *what UNUSED)
{
}

static bool is_damaged(const struct tsdb *db, struct block *b)
{
	struct verify v = { .found = ignore_problem, .columns = db->o.columns };

	verify_open_block(&v, b);
	return v.problems > 0;
}

static void tell_progress(const struct rewriting *how, const struct block *b,
			  size_t i, size_t count)
{
	char name[ULID_TEXT + 1];

	ulid_format(&b->meta.ulid, name);
	if (how->told)
		how->told(how->ctx, name, i + 1, count);
}

/* What came of rewriting some blocks. */
struct rewritten {
	size_t count;
	struct rewrite_loss loss;
};

static int rewrite_one(struct tsdb *db, const struct part *p,
		       const struct rewriting *how, struct rewritten *out,
		       struct err *err)
{
	int rc;

	if (p->block->damaged && !how->salvage)
		return err_set(
			err, p->block->unreadable ? ERR_IO : ERR_CORRUPT,
			"%s is damaged: see everprof tsdb verify and repair",
			p->block->path);
	rc = rewrite_blocks(db, p, 1, how, &out->loss, err);
	out->count += !rc;
	return rc;
}

/* One that fails does not keep the others; the first failure is returned. */
static int rewrite_each(struct tsdb *db, const struct rewriting *how,
			struct rewritten *out, struct err *err)
{
	size_t count;
	struct part *v;
	int rc;

	db_begin_job(db);
	rc = trash_empty(&db->trash, err);
	v = blocks_by_time(db, &count);
	for (size_t i = 0; i < count && rc != ERR_NOSPACE; i++) {
		struct err why = { 0 };
		int failed = 0;

		if (how->wanted(db, v[i].block)) {
			failed = rewrite_one(db, &v[i], how, out, &why);
			if (!failed)
				tell_progress(how, v[i].block, i, count);
		}
		if (failed)
			log_event(
				db->o.log, LOG_ERROR,
				"a block could not be written anew",
				LOG_FIELDS(log_text("block", v[i].block->path),
					   log_err(&why)));
		if (failed && !rc)
			rc = err_set(err, failed, "%s", why.msg);
		/* Its files go now, not when all are done: there may be no room. */
		part_unref(v[i]);
		v[i] = (struct part){ 0 };
	}
	db_parts_free(v, count);
	db_end_job(db);
	return rc;
}

int tsdb_repair(struct tsdb *db, struct tsdb_repair *out, struct err *err)
{
	const struct rewriting how = { .wanted = is_damaged,
				       .reencode = true,
				       .salvage = true };
	struct rewritten done = { 0 };
	int rc = rewrite_each(db, &how, &done, err);

	*out = (struct tsdb_repair){
		.rewritten = done.count,
		.lost = done.loss.profiles,
		.recovered = db->recovered,
		.set_aside = db->set_aside,
	};
	return rc;
}

static bool has_tombstones(const struct tsdb *db, struct block *b)
{
	return describe_block(db, b).tombstones > 0;
}

int tsdb_clean_tombstones(struct tsdb *db, struct err *err)
{
	const struct rewriting how = { .wanted = has_tombstones };
	struct rewritten done = { 0 };

	return rewrite_each(db, &how, &done, err);
}

static bool lacks_columns(const struct tsdb *db, struct block *b)
{
	return db->o.columns && !b->meta.columns;
}

int tsdb_recode(struct tsdb *db, tsdb_progress_fn told, void *ctx,
		size_t *recoded, struct err *err)
{
	const struct rewriting how = { .wanted = lacks_columns,
				       .reencode = true,
				       .told = told,
				       .ctx = ctx };
	struct rewritten done = { 0 };
	int rc = rewrite_each(db, &how, &done, err);

	*recoded = done.count;
	return rc;
}

/* Rounds. */

void db_begin_job(struct tsdb *db)
{
	atomic_fetch_add(&db->cancel, 1);
	pthread_mutex_lock(&db->job_mu);
	atomic_fetch_sub(&db->cancel, 1);
}

void db_end_job(struct tsdb *db)
{
	pthread_mutex_unlock(&db->job_mu);
	db_kick(db, &db->maintenance); /* for what was cancelled */
}

struct job {
	const char *name;
	int (*next)(struct tsdb *db, bool all, struct err *err);
};

static int retain_job(struct tsdb *db, bool all UNUSED, struct err *err)
{
	return retain_next(db, err);
}

static int compact_job(struct tsdb *db, bool all UNUSED, struct err *err)
{
	return compact_next(db, err);
}

/* Retention first: it makes the room that the others need. */
static const struct job jobs[] = { { "retention", retain_job },
				   { "seal", seal_next },
				   { "compaction", compact_job } };

int db_maintain(struct tsdb *db, bool seal_all, struct err *err)
{
	int failed = 0;

	if (!atomic_load(&db->full))
		ballast_make(&db->ballast);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		struct err why = { 0 };
		int rc = 1;

		for (int n = 0; rc == 1 && n < ROUND_JOBS; n++) {
			pthread_mutex_lock(&db->job_mu);
			rc = trash_empty(&db->trash, &why);
			if (!rc)
				rc = jobs[i].next(db, seal_all, &why);
			pthread_mutex_unlock(&db->job_mu);
		}
		if (rc >= 0 || rc == ERR_CLOSED)
			continue;
		/* One that cannot must not keep the others. */
		db_tell(db, &db->maintenance, jobs[i].name, &why);
		if (!failed)
			failed = err_set(err, rc, "%s: %s", jobs[i].name,
					 why.msg);
	}
	return failed;
}
