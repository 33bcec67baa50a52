/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention removes the parts that are too old, or that make the database too
 * large. It does not trust a system clock that has jumped (docs/decisions.md,
 * 86).
 */
#include "tsdb/maintain/maintenance.h"

#include "base/mem.h"
#include "base/mutex.h"
#include "base/units.h"
#include "tsdb/compact/planner.h"
#include "tsdb/db/db_clock.h"
#include "tsdb/db/flush_policy.h"
#include "tsdb/db/view.h"
#include "tsdb/maintain/sealing.h"
#include "tsdb/wal/wal_held.h"

enum {
	/* What waits for remote write counts up to this part of the limit. */
	HELD_PART = 4,
};

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
		return sealing_remove_empty(db, p.head, err);
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
	char end[40];

	time_format(it->max_ms, end);
	log_event(db->o.log, LOG_INFO,
		  "retention removes a block or head block",
		  LOG_FIELDS(log_text("directory",
				      p.head ? p.head->path : p.block->path),
			     log_text("by", by_size ? "size" : "time"),
			     log_text("end", end),
			     log_int("bytes", (int64_t)it->bytes)));
}

/*
 * The time by which retention decides. Until the clock has been trusted, it may
 * be wrong by a day: more would be a doubt.
 */
static int64_t retention_now(struct tsdb *db) REQUIRES(db->job_mu)
{
	const struct trusted_time t = db_clock_keep(db);

	return t.earliest_ms - (t.decides ? 0 : TRUSTED_CLOCK_DOUBT_MS);
}

/*
 * How much of the WAL that waits for remote write counts. Removing blocks does
 * not make it smaller: a receiver that is down must not cost all of them.
 */
static uint64_t retention_held_bytes(struct tsdb *db)
{
	uint64_t held = wal_held_bytes(db->wal);
	uint64_t max = (uint64_t)db->o.retention_bytes / HELD_PART;

	return held < max ? held : max;
}

int retention_next(struct tsdb *db, struct err *err)
{
	struct plan_retention p = {
		.now_ms = retention_now(db),
		.retention_ms = db->o.ignore_retention ? 0 : db->o.retention_ms,
		.bytes_max = (uint64_t)db->o.retention_bytes,
		.bytes = wal_bytes(db->wal) + retention_held_bytes(db) +
			 ballast_bytes(&db->ballast),
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
