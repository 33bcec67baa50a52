/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/maintain/retention.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/db/flush_policy.h"
#include "tsdb/db/view.h"
#include "tsdb/maintain/sealing.h"

/* Size of a head's files in bytes. */
static uint64_t head_bytes(struct head *r)
{
	uint64_t bytes;

	mutex_lock(&r->mu);
	bytes = r->values_end + r->groups_end;
	mutex_unlock(&r->mu);
	return bytes;
}

/*
 * Remove a part that the planner has selected for removal. A head is closed
 * first, so that later appends go to a new generation of its window.
 */
static int remove_part(struct tsdb *db, struct part p, struct err *err)
	REQUIRES(db->job_mu)
{
	int rc;

	if (!p.head)
		return db_retire(db, &p, 1, err);
	if (!sealing_close_head(db, p.head))
		return remove_empty(db, p.head, err);
	/*
	 * No flush may run now: it would not find the WAL segments that are
	 * removed here.
	 */
	mutex_lock(&db->flush_mu);
	rc = db_retire(db, &p, 1, err);
	if (!rc)
		rc = db_drop_wal(db, err);
	mutex_unlock(&db->flush_mu);
	return rc;
}

/*
 * Index of the newest head, which takes current samples and is normally not
 * removed.
 */
static size_t newest_head(const struct part *v, size_t count)
{
	size_t newest = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		if (v[i].head && (newest == SIZE_MAX ||
				  v[i].head->start >= v[newest].head->start))
			newest = i;
	}
	return newest;
}

/* Collect the planner's input for all parts, and add up their sizes. */
static void describe_items(const struct part *v, size_t count,
			   struct plan_item *items, struct plan_retention *p)
{
	size_t open = newest_head(v, count);

	for (size_t i = 0; i < count; i++) {
		struct plan_item *it = &items[i];

		it->max_ms = v[i].head ? v[i].head->start + WINDOW_MS :
					 v[i].block->meta.max_ms;
		it->bytes = v[i].head ? head_bytes(v[i].head) :
					v[i].block->bytes;
		/*
		 * The newest head is marked as `open`, which retention skips,
		 * unless this head alone exceeds the size limit.
		 */
		it->open = i == open &&
			   (!p->bytes_max || it->bytes <= p->bytes_max);
		p->bytes += it->bytes;
	}
}

/* Log a removal, because it cannot be undone. */
static void log_removal(const struct tsdb *db, struct part p,
			const struct plan_item *it, bool by_size)
{
	log_event(db->o.log, LOG_INFO,
		  "retention removes a block or head block",
		  LOG_FIELDS(log_text("directory",
				      p.head ? p.head->path : p.block->path),
			     log_text("by", by_size ? "size" : "time"),
			     log_int("before", it->max_ms),
			     log_int("bytes", (int64_t)it->bytes)));
}

/*
 * Save the retention clock. If that fails, retention goes on: the only effect
 * is that after a restart the clock begins with an older value.
 */
static void save_clock(struct tsdb *db, int64_t now_ns)
{
	struct err err;

	db->saved_ns = now_ns;
	if (state_save(&db->state, &err))
		log_event(
			db->o.log, LOG_WARN,
			"cannot save the retention clock; everprof tries again later",
			LOG_FIELDS(log_err(&err)));
}

/* Log that the system clock is in doubt; called once when the doubt begins. */
static void log_doubt(const struct tsdb *db, int64_t now_ms)
{
	log_event(
		db->o.log, LOG_WARN,
		"the system clock differs by more than a day from the expected time (it jumped, or everprof was stopped); until this is settled, retention by time uses the earlier of the two. If the clock is wrong, correct it; if it is right, confirm it (everprof tsdb confirm-clock, or the admin API) or wait a week",
		LOG_FIELDS(log_int("clock_ms", now_ms),
			   log_int("expected_ms", db->state.clock.trusted_ms)));
}

/*
 * The current time for retention, by the rules of plan_clock(). The clock is
 * saved once an hour.
 */
static int64_t db_retention_now(struct tsdb *db)
{
	struct plan_clock *c = &db->state.clock;
	bool by_time = db->o.retention_ms && !db->o.ignore_retention;
	int64_t now_ms = clock_ms(db->o.clock);
	int64_t now_ns = clock_mono_ns();
	int64_t elapsed = db->clock_ns ? (now_ns - db->clock_ns) / 1000000 : 0;
	/*
	 * Whether this process has logged the doubt about the system clock. At
	 * the first call (clock_ns is 0) it has not, even if the doubt is old
	 * and was loaded from the file `state`.
	 */
	bool doubted = db->clock_ns && c->doubt_ms;
	int64_t retention_now;

	if (!by_time)
		return now_ms;
	retention_now = plan_clock(c, now_ms, elapsed);
	if (c->doubt_ms && !doubted)
		log_doubt(db, now_ms);
	atomic_store(&db->clock_doubt_ms, c->doubt_ms);
	db->clock_ns = now_ns;
	if (!db->saved_ns || now_ns - db->saved_ns > 60 * CLOCK_MINUTE_NS)
		save_clock(db, now_ns);
	return retention_now;
}

int retain_next(struct tsdb *db, struct err *err)
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
		log_removal(db, v[pick], &items[pick], by_size);
		metric_add(by_size ? db->metrics.size_retentions :
				     db->metrics.time_retentions,
			   1);
		rc = remove_part(db, v[pick], err);
	}
	mem_free(items);
	db_parts_free(v, count);
	return rc ? rc : pick != PLAN_NONE;
}
