/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/maintain/block_rewrite.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tsdb/block/block_writer.h"
#include "tsdb/compact/compactor.h"
#include "tsdb/db/view.h"
#include "tsdb/db/worker.h"

/* Default of block_rewrite_link_min(), in bytes: links to smaller files gain little. */
#define LINK_MIN (8ull * MIB)

/*
 * Whether the disk has twice `bytes` free. Twice, because `bytes` is an
 * estimate that may be too low.
 */
bool block_rewrite_has_room(struct tsdb *db, uint64_t bytes)
{
	uint64_t total = 0;
	uint64_t available = 0;

	return !fs_space(db->path, &total, &available, NULL) &&
	       available / 2 >= bytes;
}

int block_rewrite_replace(struct tsdb *db, const struct part *v, size_t count,
			  struct block *b, bool aside, struct err *err)
{
	if (aside)
		return db_set_aside(db, v, count, b, err);
	/*
	 * If there is no new block, all profiles were deleted. db_retire()
	 * records this, so that a later startup does not consider the profiles
	 * lost.
	 */
	return b ? db_supersede(db, v, count, b, err) :
		   db_retire(db, v, count, err);
}

/* Whether a compaction of this block has failed since startup. */
static bool has_failed(const struct tsdb *db, const struct ulid *u)
{
	for (size_t i = 0; i < db->failed_count; i++) {
		if (ulid_eq(&db->failed[i], u))
			return true;
	}
	return false;
}

/*
 * Remember blocks whose compaction failed. The planner does not select them
 * again until the next startup.
 */
static void block_rewrite_note_failed(struct tsdb *db, const struct part *v,
				      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		db->failed = mem_grow(db->failed, db->failed_count,
				      &db->failed_cap, sizeof(*db->failed));
		db->failed[db->failed_count++] = v[i].block->meta.ulid;
	}
}

/*
 * The flag that cancels a rewrite. Only the end of the process cancels one that
 * somebody has asked for. A compaction is cancelled by a waiting job, too. If a
 * deletion cancelled the last compaction, only the end of the process cancels
 * the next compaction. Otherwise frequent deletions would prevent compaction
 * forever (docs/decisions.md, 89).
 */
static const _Atomic int *cancel_of(const struct tsdb *db, bool background)
{
	return !background || db->cancelled ? &db->quit : &db->cancel;
}

/* Whether a rewrite was stopped, by cancel_of() or limits, and has not failed. */
static bool block_rewrite_is_stopped(int rc)
{
	return rc == ERR_CLOSED || rc == ERR_TIMEOUT;
}

uint64_t block_rewrite_link_min(const struct tsdb *db)
{
	return db->o.link_min ? (uint64_t)db->o.link_min : LINK_MIN;
}

int rewrite_blocks(struct tsdb *db, const struct part *v, size_t count,
		   const struct rewriting *how, struct rewrite_loss *loss,
		   struct err *err)
{
	struct compaction c = { .env = &db->benv,
				.parts = v,
				.count = count,
				.ulid = ulid_new(clock_ms(db->o.clock)),
				.reencode = how->reencode,
				.link_min = block_rewrite_link_min(db),
				.salvage = how->salvage,
				.loss = loss,
				.damaged = db->metrics.damaged,
				.cancel = cancel_of(db, how->background),
				.limits = how->limits };
	uint64_t unread = loss->unread;
	struct block *b = NULL;
	bool aside = false;
	int rc = compactor_run(&c, &b, err);

	if (rc && !block_rewrite_is_stopped(rc)) {
		block_rewrite_note_failed(db, v, count);
		metric_add(db->metrics.compaction_failures, 1);
	}
	if (how->background)
		db->cancelled = rc == ERR_CLOSED;
	if (rc)
		return rc;
	metric_add(db->metrics.compactions, 1);
	/* Old blocks with unreadable data are set aside, not removed. */
	for (size_t i = 0; i < count && !aside; i++)
		aside = part_is_unread(v[i]);
	return block_rewrite_replace(db, v, count, b,
				     aside || loss->unread > unread, err);
}

struct plan_block block_rewrite_describe(const struct tsdb *db, struct block *b)
{
	struct tombstones *t = block_tombstones(b);
	struct plan_block p = { .min_ms = b->meta.min_ms,
				.max_ms = b->meta.max_ms,
				.series = b->meta.series,
				.tombstones = tombstones_series(t),
				.bytes = b->bytes,
				/*
				 * Only an explicit repair rewrites damaged
				 * blocks.
				 */
				.failed = has_failed(db, &b->meta.ulid) ||
					  b->damaged };

	tombstones_unref(t);
	return p;
}

/*
 * The insertion sort is stable: blocks of the same time stay in order of age.
 */
struct part *blocks_by_time(struct tsdb *db, size_t *count)
{
	size_t n = 0;
	struct part *v = db_parts(db, count);

	for (size_t i = 0; i < *count; i++) {
		struct part p = v[i];
		size_t at = n;

		if (p.head) {
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

/* Call the progress function, if the caller has given one. */
static void tell_progress(const struct rewriting *how, const struct block *b,
			  size_t i, size_t count)
{
	char name[ULID_TEXT + 1];

	ulid_format(&b->meta.ulid, name);
	if (how->progress)
		how->progress(how->ctx, name, i + 1, count);
}

/*
 * Rewrite one block. A damaged block is refused unless this is a repair, which
 * logs the losses.
 */
static int rewrite_one(struct tsdb *db, const struct part *p,
		       const struct rewriting *how, struct rewritten *out,
		       struct err *err) REQUIRES(db->job_mu)
{
	int rc;

	if (p->block->damaged && !how->salvage)
		return err_set(
			err, p->block->unreadable ? ERR_IO : ERR_CORRUPT,
			p->block->unreadable ?
				"%s: the disk cannot read all files of the block; stop everprof, and run everprof tsdb repair" :
				"%s is damaged: run everprof tsdb verify, then stop everprof and run everprof tsdb repair",
			p->block->path);
	rc = rewrite_blocks(db, p, 1, how, &out->loss, err);
	out->count += !rc;
	return rc;
}

int rewrite_each(struct tsdb *db, const struct rewriting *how,
		 struct rewritten *out, struct err *err)
{
	bool goes_on;
	size_t count;
	struct part *v;
	int rc = db_begin_job_within(db, &how->limits, err);

	if (rc)
		return rc;
	rc = trash_empty(&db->trash, err);
	/*
	 * If old directories cannot be renamed for removal, trash_empty()
	 * fails. No new blocks are written then.
	 */
	goes_on = !rc;
	v = blocks_by_time(db, &count);
	for (size_t i = 0; i < count && goes_on; i++) {
		struct err why = { 0 };
		int failed = 0;

		if (how->wanted(db, v[i].block)) {
			failed = rewrite_one(db, &v[i], how, out, &why);
			if (!failed)
				tell_progress(how, v[i].block, i, count);
		}
		if (failed && !block_rewrite_is_stopped(failed))
			log_event(
				db->o.log, LOG_ERROR,
				"cannot rewrite a block; it stays as it is",
				LOG_FIELDS(log_text("block", v[i].block->path),
					   log_err(&why)));
		if (failed && !rc)
			rc = err_set(err, failed, "%s", why.msg);
		/*
		 * The next block would not fit on the disk, or would be
		 * stopped, either.
		 */
		goes_on = failed != ERR_NOSPACE &&
			  !block_rewrite_is_stopped(failed);
		/*
		 * Release the block now, not at the end: its files take up disk
		 * space until then.
		 */
		part_unref(v[i]);
		v[i] = (struct part){ 0 };
	}
	db_parts_free(v, count);
	db_end_job(db);
	return rc;
}
