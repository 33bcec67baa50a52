/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/maintain/sealing.h"

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/compact/compactor.h"
#include "tsdb/db/flush_policy.h"
#include "tsdb/db/view.h"
#include "tsdb/db/worker.h"
#include "tsdb/head/head_tombstones.h"
#include "tsdb/maintain/block_rewrite.h"

/* Time in ns until sealing is tried again after the disk was full. */
#define NO_ROOM_NS 2000000000LL

/* append_mu is held, so that no append uses the head while it is closed. */
bool sealing_close_head(struct tsdb *db, struct head *r)
{
	mutex_lock(&db->append_mu);
	r->closed = r->index.series > 0;
	mutex_unlock(&db->append_mu);
	return r->closed;
}

int sealing_remove_empty(struct tsdb *db, struct head *r, struct err *err)
{
	CLEANUP(mem_freep)
	char *gone = mem_printf("%s" HEAD_DELETE_SUFFIX, r->path);
	struct part part = { .head = r };
	int rc = 0;

	mutex_lock(&db->append_mu);
	/* Check again under the lock: an append may have used the head. */
	if (!r->index.series) {
		rc = fs_rename(db->o.fs, r->path, gone, err);
		if (!rc) {
			/*
			 * The directory may still exist at the next startup, if
			 * removing it fails. This does no harm, because the
			 * head is empty.
			 */
			trash_add_hidden(&db->trash, gone);
			db_replace_locked(db, &part, 1, NULL);
		}
	}
	mutex_unlock(&db->append_mu);
	return rc;
}

/*
 * Write the block of a head that is closed and flushed. ERR_AGAIN: the disk did
 * not answer reads of the head, and sealing has to be tried again. After a
 * longer outage, the profiles that cannot be read are left out and counted in
 * *loss: heads must be sealed, because memory would otherwise grow without
 * bound.
 */
static int sealing_write(struct tsdb *db, struct compaction *c, struct head *r,
			 struct block **out, struct err *err)
{
	int rc = head_reread_tombstones(r, err);

	if (!rc)
		rc = compactor_run(c, out, err);
	rc = outage_note(&r->seal_outage, rc, db->o.outage_ms, err);
	if (rc != ERR_IO)
		return rc;
	c->salvage = true;
	return compactor_run(c, out, err);
}

/*
 * Turn a head into a block: flush its unflushed profiles, encode all chunks,
 * replace the head by the block in the view, and remove WAL segments that are
 * no longer needed. The block gets the head's ULID and lists this ULID as its
 * source. If the process crashes before the head is removed, the next startup
 * thus detects that the head is sealed.
 */
static int sealing_seal(struct tsdb *db, struct head *r, struct err *err)
	REQUIRES(db->job_mu)
{
	struct part part = { .head = r };
	struct rewrite_loss loss = { 0 };
	struct compaction c = { .env = &db->benv,
				.parts = &part,
				.count = 1,
				.ulid = r->ulid,
				.reencode = true,
				.loss = &loss,
				.damaged = db->metrics.damaged };
	struct block *b = NULL;
	int rc;

	if (!sealing_close_head(db, r))
		return sealing_remove_empty(db, r, err);
	rc = db_flush_head(db, r, err);
	if (!rc)
		rc = sealing_write(db, &c, r, &b, err);
	if (rc)
		return rc;
	metric_add(db->metrics.seals, 1);
	/*
	 * Heads with unreadable files are kept, so that they can be read on
	 * another machine.
	 */
	rc = block_rewrite_replace(db, &part, 1, b,
				   part_is_unread(part) || loss.unread, err);
	return rc ? rc : db_drop_wal(db, err);
}

/* Collect the properties of a head that the planner uses. */
static struct plan_head sealing_describe_range(const struct tsdb *db,
					       struct head *r)
{
	struct plan_head p = { .start = r->start, .lsn = r->lsn };

	p.failed = clock_mono_ns() < r->retry_ns;
	mutex_lock(&r->mu);
	p.idle_ms = clock_ms(db->o.clock) - r->touched_ms;
	p.weight = r->weight;
	p.bytes = r->values_end;
	p.closed = r->closed;
	mutex_unlock(&r->mu);
	return p;
}

int sealing_next(struct tsdb *db, bool all, struct err *err)
{
	struct plan_bounds bounds = { .now_ms = clock_ms(db->o.clock),
				      .weight = (uint64_t)db->o.max_series,
				      .bytes = db_open_values_max(db),
				      .heads = HEADS_OPEN,
				      .all = all };
	size_t count;
	struct part *v = db_heads(db, &count);
	struct plan_head *plan = mem_zalloc(count, sizeof(*plan));
	int pick;
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		plan[i] = sealing_describe_range(db, v[i].head);
	pick = plan_seal(&bounds, plan, count);
	if (pick != PLAN_NONE && !block_rewrite_has_room(db, plan[pick].bytes))
		rc = err_set(
			err, ERR_NOSPACE,
			"needs %llu bytes of free disk space (twice the size of the head block)",
			2ULL * plan[pick].bytes);
	else if (pick != PLAN_NONE)
		rc = sealing_seal(db, v[pick].head, err);
	/*
	 * After a failure, delay the next attempt to seal this head, so that
	 * other heads get their turn. If the disk is full, the delay is short,
	 * because space may become free at any time.
	 */
	if (rc)
		v[pick].head->retry_ns =
			clock_mono_ns() +
			(rc == ERR_NOSPACE ? NO_ROOM_NS : CLOCK_MINUTE_NS);
	mem_free(plan);
	db_parts_free(v, count);
	return rc ? rc : pick != PLAN_NONE;
}

int sealing_seal_some(struct tsdb *db,
		      bool (*wanted)(const struct tsdb *db, struct head *r),
		      struct err *err)
{
	size_t count;
	struct part *v;
	int rc = 0;

	db_begin_job(db);
	v = db_heads(db, &count);
	for (size_t i = 0; i < count; i++) {
		struct err why;
		int failed = wanted(db, v[i].head) ?
				     sealing_seal(db, v[i].head, &why) :
				     0;

		if (failed && !rc)
			rc = err_set(err, failed, "%s", why.msg);
	}
	db_parts_free(v, count);
	db_end_job(db);
	return rc;
}
