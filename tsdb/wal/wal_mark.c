/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal_mark.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/io/trash.h"
#include "tsdb/wal/wal_aside.h"
#include "tsdb/wal/wal_held.h"
#include "tsdb/wal/wal_private.h"
#include "tsdb/wal/wal_segment.h"

struct wal_segment *wal_mark_find_locked(const struct wal *w, uint64_t number)
{
	for (size_t i = 0; i < w->count; i++) {
		if (w->segments[i]->number == number)
			return w->segments[i];
	}
	for (size_t i = 0; i < w->held_count; i++) {
		if (w->held[i]->number == number)
			return w->held[i];
	}
	return NULL;
}

/*
 * Give the file of a segment the name *.unread as well, durably. If that name
 * is taken, it is this file's: numbers are not used twice. A file that is gone
 * cannot be kept, and is no error.
 */
static int wal_mark_link(struct wal *w, uint64_t number, struct err *err)
{
	CLEANUP(mem_freep) char *to = segment_path(w, number, ASIDE_UNREAD);
	CLEANUP(mem_freep) char *from = segment_path(w, number, "");
	CLEANUP(mem_freep) char *held = wal_held_path(w, number);
	int rc = fs_link(w->o.fs, from, to, err);

	if (rc == ERR_NOTFOUND)
		rc = fs_link(w->o.fs, held, to, err);
	if (rc == ERR_NOTFOUND || rc == ERR_EXISTS)
		rc = 0;
	return rc ? rc : fs_sync_dir(w->o.fs, w->dir, err);
}

/* Remove the other names of a segment that the log does not have open. */
static void wal_mark_hide(struct wal *w, uint64_t number)
{
	CLEANUP(mem_freep) char *path = segment_path(w, number, "");
	CLEANUP(mem_freep) char *held = wal_held_path(w, number);

	/* What stays is harmless: the next start reads the segment again. */
	if (!fs_unlink(w->o.fs, path, NULL))
		(void)!fs_unlink(w->o.fs, held, NULL);
}

/* Note a segment whose mark could not be made durable. */
static void wal_mark_postpone_locked(struct wal *w, uint64_t number)
	REQUIRES(w->mu)
{
	for (size_t i = 0; i < w->unmarked.count; i++) {
		if (w->unmarked.v[i] == number)
			return;
	}
	*vec_add(&w->unmarked) = number;
}

static void wal_mark_report(const struct wal *w, uint64_t number)
{
	log_event(
		w->o.log, LOG_ERROR,
		"parts of a WAL segment could not be read or stored; its file is kept as *" ASIDE_UNREAD
		", and read again later",
		LOG_FIELDS(log_text("dir", w->dir),
			   log_int("segment", (int64_t)number)));
}

/* Make the mark of segment `number` durable, if it is not yet. */
static int wal_mark_number(struct wal *w, uint64_t number, struct err *err)
	REQUIRES(w->unread_mu)
{
	struct wal_segment *s;
	bool open;
	int rc;

	mutex_lock(&w->mu);
	s = wal_mark_find_locked(w, number);
	open = s != NULL;
	if (s)
		s->unread = true;
	if (s && s->kept) {
		mutex_unlock(&w->mu);
		return 0;
	}
	mutex_unlock(&w->mu);
	rc = wal_mark_link(w, number, err);
	mutex_lock(&w->mu);
	/* It may have been removed from the list meanwhile. */
	s = wal_mark_find_locked(w, number);
	if (rc)
		wal_mark_postpone_locked(w, number);
	else if (s)
		s->kept = true;
	mutex_unlock(&w->mu);
	if (!rc && !open)
		wal_mark_hide(w, number);
	if (!rc)
		wal_mark_report(w, number);
	return rc;
}

int wal_mark_unread(struct wal *w, uint64_t lsn, struct err *err)
{
	int rc;

	if (w->o.read_only)
		return 0;
	wal_note_kept(w, lsn >> 32);
	wal_aside_note(w, lsn >> 32);
	mutex_lock(&w->unread_mu);
	rc = wal_mark_number(w, lsn >> 32, err);
	mutex_unlock(&w->unread_mu);
	return rc;
}

int wal_mark_settle(struct wal *w, struct err *err)
{
	int rc = 0;

	mutex_lock(&w->unread_mu);
	while (!rc) {
		uint64_t number = 0;

		mutex_lock(&w->mu);
		if (w->unmarked.count)
			number = w->unmarked.v[--w->unmarked.count];
		mutex_unlock(&w->mu);
		if (!number)
			break;
		rc = wal_mark_number(w, number, err);
	}
	mutex_unlock(&w->unread_mu);
	return rc ? err_wrap(
			    err, rc,
			    "cannot create the second name *.unread (a hard link) of a WAL segment that could not be read or stored completely; until that succeeds, nothing is flushed or sealed, and the segments of the WAL are kept") :
		    0;
}
