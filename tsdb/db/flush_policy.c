/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/db/flush_policy.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/db/view.h"
#include "tsdb/db/worker.h"
#include "tsdb/wal/wal_trim.h"

#define BUDGET_DEFAULT (512 * MIB) /* default budget of the WAL, in bytes */
/* Maximum bytes of values in all open heads. */
#define OPEN_VALUES (4096ull * MIB)

/*
 * The WAL takes at most an eighth of a small disk, or of the maximum size of
 * the database, so that most of the space is left for blocks.
 */
uint64_t wal_budget(const struct tsdb_options *o)
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

/*
 * The budget is eight segments, so that flushing can free the WAL in small
 * steps.
 */
uint64_t db_segment_size(const struct tsdb *db)
{
	uint64_t size = db->budget / 8;

	if (db->o.wal_segment)
		return (uint64_t)db->o.wal_segment;
	if (size < MIB)
		return MIB;
	return size > 64 * MIB ? 64 * MIB : size;
}

uint64_t db_open_values_max(const struct tsdb *db)
{
	uint64_t tenth = (uint64_t)db->o.retention_bytes / 10;

	return tenth && tenth < OPEN_VALUES ? tenth : OPEN_VALUES;
}

bool unflushed_exceed(struct tsdb *db, int64_t bound)
{
	return atomic_load(&db->env.unflushed) > bound;
}

/*
 * Drop the segments up to number `upto` of which every profile has been
 * flushed. No record is appended to them any more.
 */
static int flushing_drop(struct tsdb *db, uint64_t upto, struct err *err)
{
	size_t count;
	struct part *v = db_heads(db, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t before = (head_oldest(v[i].head) >> 32) - 1;

		upto = before < upto ? before : upto;
	}
	db_parts_free(v, count);
	return wal_drop(db->wal, upto, err);
}

int db_drop_wal(struct tsdb *db, struct err *err)
{
	uint64_t current;

	/*
	 * Read the end of the WAL before the heads are listed: records appended
	 * after that are in the current segment or later ones, which are not
	 * dropped.
	 */
	mutex_lock(&db->append_mu);
	current = wal_end(db->wal) >> 32;
	mutex_unlock(&db->append_mu);
	return flushing_drop(db, current - 1, err);
}

int db_flush_head(struct tsdb *db, struct head *r, struct err *err)
{
	int rc;

	mutex_lock(&db->flush_mu);
	rc = flush_range(db->flusher, r, UINT64_MAX, UINT64_MAX, err);
	mutex_unlock(&db->flush_mu);
	return rc;
}

/*
 * In every head, flush the profiles that are in WAL segments up to number
 * `upto`. Then drop the segments up to number `drop`, except those of which a
 * head that failed still needs profiles.
 */
static int flush_segments(struct tsdb *db, uint64_t upto, uint64_t drop,
			  struct err *err)
{
	uint64_t behind = (upto + 1) << 32;
	/*
	 * On a full disk, flush only what must be flushed before the segments
	 * can be removed.
	 */
	uint64_t limit = atomic_load(&db->full) ? behind : UINT64_MAX;
	size_t count;
	struct part *v;
	struct err why;
	int failed;
	int rc = 0;

	mutex_lock(&db->flush_mu);
	v = db_heads(db, &count);
	for (size_t i = 0; i < count; i++) {
		failed = flush_range(db->flusher, v[i].head, behind, limit,
				     &why);

		/*
		 * A head that cannot be flushed must not keep other heads from
		 * being flushed.
		 */
		if (failed && !rc)
			rc = err_set(err, failed, "%s", why.msg);
	}
	db_parts_free(v, count);
	metric_add(rc ? db->metrics.flush_failures : db->metrics.flushes, 1);
	failed = flushing_drop(db, drop, &why);
	mutex_unlock(&db->flush_mu);
	return rc || !failed ? rc : err_set(err, failed, "%s", why.msg);
}

/*
 * The current segment is flushed but not dropped, because profiles may be
 * appended to it (and the segment may then even be sealed) before the flush
 * ends.
 */
int flush_everything(struct tsdb *db, struct err *err)
{
	uint64_t current = wal_end(db->wal) >> 32;
	struct err unwanted;

	return flush_segments(db, current, current - 1, err ? err : &unwanted);
}

/*
 * Deleting the ballast file gives flushes and retention the disk space that
 * they need in order to free more.
 */
void db_no_space(struct tsdb *db)
{
	metric_add(db->metrics.no_space, 1);
	if (!atomic_exchange(&db->full, true))
		log_event(
			db->o.log, LOG_ERROR,
			"no space: the disk is full, or a quota or a limit on the size of files is reached; profiles are refused until there is space",
			LOG_FIELDS(log_text("path", db->path)));
	ballast_release(&db->ballast);
	db_wake(db, &db->flush);
	db_wake(db, &db->maintenance);
}

/*
 * Try to recover from a full disk. Flushing the oldest segment writes less than
 * its removal frees. Appends are accepted again when as many bytes are free as
 * ballast_space_needed() returns.
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
	/*
	 * Check even if the flush failed: other programs may have freed space.
	 */
	if (fs_space(db->path, &total, &available, &unwanted) ||
	    available < ballast_space_needed(&db->ballast, total))
		return rc;
	atomic_store(&db->full, false);
	log_event(db->o.log, LOG_INFO,
		  "the disk has free space; profiles are accepted again",
		  LOG_FIELDS(log_int("bytes", (int64_t)available)));
	return rc;
}

/* Bytes of values in all open heads. */
static uint64_t flushing_open_values(struct tsdb *db)
{
	size_t count;
	struct part *v = db_heads(db, &count);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		mutex_lock(&v[i].head->mu);
		sum += v[i].head->values_end;
		mutex_unlock(&v[i].head->mu);
	}
	db_parts_free(v, count);
	return sum;
}

/*
 * The sync comes first: appends without an explicit sync rely on this one sync
 * per second.
 */
int flush_round(struct tsdb *db)
{
	uint64_t overdue;
	struct err err;
	int rc = 0;

	if (wal_sync(db->wal, wal_end(db->wal), &err))
		log_event(
			db->o.log, LOG_ERROR,
			"cannot sync a WAL segment; its profiles are flushed to the head block instead, and until then a crash of the machine may lose them",
			LOG_FIELDS(log_err(&err)));
	/*
	 * The loop also flushes segments whose sync failed, so that their
	 * profiles become durable in heads (docs/decisions.md, 7).
	 */
	while (!rc && (overdue = wal_overdue(db->wal, db->budget)))
		rc = flush_segments(db, overdue, overdue, &err);
	if (!rc && unflushed_exceed(db, UNFLUSHED_MAX))
		rc = flush_everything(db, &err);
	if (atomic_load(&db->full)) {
		int failed = make_room_on_disk(db, &err);

		rc = rc ? rc : failed;
	}
	if (flushing_open_values(db) > db_open_values_max(db))
		db_wake(db, &db->maintenance);
	if (rc == ERR_NOSPACE)
		db_no_space(db);
	if (rc)
		db_log_failure(db, &db->flush, "flush", &err);
	return rc;
}
