/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal_trim.h"

#include <assert.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/wal/wal_aside.h"
#include "tsdb/wal/wal_held.h"
#include "tsdb/wal/wal_mark.h"
#include "tsdb/wal/wal_private.h"
#include "tsdb/wal/wal_replay.h"
#include "tsdb/wal/wal_segment.h"

uint64_t wal_overdue(struct wal *w, uint64_t budget)
{
	uint64_t upto = 0;
	bool over = wal_bytes(w) > budget;

	mutex_lock(&w->mu);
	if (over && w->count > 1)
		upto = w->segments[0]->number;
	/* The last one is not dropped, even if it is not the current one. */
	for (size_t i = 0; i + 1 < w->count; i++) {
		const struct wal_segment *s = w->segments[i];

		/*
		 * A crash may lose records of a segment that is not durable or
		 * not readable any more, and a segment that is not sealed must
		 * be scanned at the next startup. Flushing the profiles
		 * prevents both.
		 */
		if (s->failed || s->unread || s->unsealed)
			upto = s->number;
	}
	mutex_unlock(&w->mu);
	return upto;
}

uint64_t wal_oldest(struct wal *w)
{
	uint64_t number = 0;

	mutex_lock(&w->mu);
	if (w->count > 1)
		number = w->segments[0]->number;
	mutex_unlock(&w->mu);
	return number;
}

int wal_retire(struct wal *w, struct err *err)
{
	if (!w->current)
		return wal_replay_begin(w, err);
	return (uint32_t)wal_end(w) <= FILE_HEADER ? 0 : wal_roll(w, err);
}

/*
 * Remove a segment's file from the log. If remote write still needs it
 * (is_held), the file first gets a second name, under which it stays. The first
 * name is changed to *.deleting before it is removed: if the removal is
 * interrupted, startup removes the renamed file and never replays it.
 */
static int remove_file(struct wal *w, const struct wal_segment *s, bool is_held,
		       struct err *err)
{
	CLEANUP(mem_freep) char *gone = segment_path(w, s->number, ".deleting");
	int rc;

	rc = is_held ? wal_held_link(w, s, err) : 0;
	if (!rc)
		rc = fs_rename(w->o.fs, file_path(s->file), gone, err);
	return rc ? rc : fs_unlink(w->o.fs, gone, err);
}

/* Forget what no reader, and no start, comes to any more. */
static void wal_forget_asides(struct wal *w)
{
	uint64_t before;

	mutex_lock(&w->mu);
	before = w->count ? w->segments[0]->number : w->end >> 32;
	if ((w->o.hold || w->o.no_heads) && w->keep >> 32 < before)
		before = w->keep >> 32;
	mutex_unlock(&w->mu);
	wal_aside_forget(w, before);
}

/*
 * The number of the last segment up to `upto` that can be dropped; 0: there is
 * none. The last segment of the log stays.
 */
static uint64_t wal_last_to_drop(struct wal *w, uint64_t upto)
{
	uint64_t last = 0;

	mutex_lock(&w->mu);
	for (size_t i = 0; i + 1 < w->count; i++) {
		if (w->segments[i]->number <= upto)
			last = w->segments[i]->number;
	}
	mutex_unlock(&w->mu);
	return last;
}

int wal_drop_sync(struct wal *w, struct err *err)
{
	return fs_sync_dir(w->o.fs, w->dir, err);
}

int wal_drop(struct wal *w, uint64_t upto, struct err *err)
{
	uint64_t last = wal_last_to_drop(w, upto);
	/* What could not be read must have its second name by then. */
	int rc = wal_mark_settle(w, err);

	if (!rc)
		rc = wal_numbers_drop(w, last, err);
	while (!rc) {
		struct wal_segment *s = NULL;
		bool is_held = false;

		/*
		 * Only taking the segment out of the list needs the lock; the
		 * removal may be slow. Readers that hold a reference are not
		 * affected.
		 */
		mutex_lock(&w->mu);
		if (w->count > 1 && w->segments[0]->number <= last) {
			s = w->segments[0];
			w->count--;
			memmove(w->segments, w->segments + 1,
				w->count * sizeof(struct wal_segment *));
			is_held = wal_held_take_locked(w, s);
		}
		mutex_unlock(&w->mu);
		if (!s)
			break;
		rc = remove_file(w, s, is_held, err);
		wal_segment_unref(s);
	}
	if (!rc)
		wal_forget_asides(w);
	return rc;
}

void wal_keep(struct wal *w, uint64_t position)
{
	struct err err;

	mutex_lock(&w->mu);
	w->keep = position;
	mutex_unlock(&w->mu);
	wal_held_drop(w, position);
	if (w->o.no_heads && position >> 32 &&
	    wal_drop(w, (position >> 32) - 1, &err))
		wal_held_log_removal(w, w->dir, &err);
}
