/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal_unread.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/io/trash.h"
#include "tsdb/wal/wal_aside.h"
#include "tsdb/wal/wal_held.h"
#include "tsdb/wal/wal_log.h"
#include "tsdb/wal/wal_private.h"
#include "tsdb/wal/wal_segment.h"

bool wal_unread_is_name(const char *name)
{
	const char *at = strstr(name, ASIDE_UNREAD);

	if (!at)
		return false;
	at += strlen(ASIDE_UNREAD);
	return !*at ||
	       (*at == '-' && strspn(at + 1, "0123456789") == strlen(at + 1));
}

/* The state of a visit of an unread segment. */
struct unread_visit {
	const struct wal_unread_taker *taker;
	bool taking;  /* else, its profiles are only counted */
	bool damaged; /* some bytes are wrong, and not only unread */
	size_t found; /* profiles */
	/* The number of the next one, and how many are missing between others. */
	uint64_t expected;
	uint64_t missing;
	bool partial; /* the disk could not read some bytes */
	struct err why;
	int64_t until_ns; /* when a disk that fails is given up */
};

static int unread_visit_profile(void *ctx, const struct segment_profile *p,
				struct err *err)
{
	struct unread_visit *v = ctx;

	if (v->taking)
		return v->taker->profile(v->taker->ctx, p, v->partial, err);
	v->found++;
	if (v->expected && p->number > v->expected)
		v->missing += p->number - v->expected;
	v->expected = p->number ? p->number + 1 : 0;
	return 0;
}

static void unread_visit_damage(void *ctx)
{
	struct unread_visit *v = ctx;

	v->damaged = true;
}

static int unread_visit_unread(void *ctx, const struct err *why)
{
	struct unread_visit *v = ctx;

	if (!v->partial && why)
		v->why = *why;
	v->partial = true;
	if (v->taker->quit && atomic_load(v->taker->quit))
		return ERR_CLOSED;
	/* Each attempt may take seconds. */
	return v->taker->whole || clock_mono_ns() > v->until_ns ? ERR_IO : 0;
}

/*
 * Append the profiles of a segment again. It is read twice, because the taker
 * may have to know whether all of it can be read, and because it is not given
 * twice what it has got before. ERR_IO: not all of it could be read.
 */
static int wal_unread_visit(struct wal *w, const struct wal_segment *s,
			    struct unread_visit *v, struct err *err)
{
	struct wal_log_visitor visitor = { .profile = unread_visit_profile,
					   .damaged = unread_visit_damage,
					   .unread = unread_visit_unread,
					   .ctx = v };
	int rc = wal_log_visit(s, &visitor, err);

	/* There was something to read, or the file would not be here. */
	v->damaged |= !v->found && !v->partial;
	v->taking = true;
	if (!rc && (!v->partial || wal_aside_has_more(w, s->number, v->found)))
		rc = wal_log_visit(s, &visitor, err);
	if (!rc && v->partial) {
		wal_aside_note_found(w, s->number, v->found);
		rc = err_set(err, ERR_IO, "%s", v->why.msg);
	}
	return rc;
}

/* The segment with a number that the log has open; NULL: none. */
static struct wal_segment *wal_unread_find_locked(const struct wal *w,
						  uint64_t number)
	REQUIRES(w->mu)
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
static int wal_unread_link(struct wal *w, uint64_t number, struct err *err)
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
static void wal_unread_hide(struct wal *w, uint64_t number)
{
	CLEANUP(mem_freep) char *path = segment_path(w, number, "");
	CLEANUP(mem_freep) char *held = wal_held_path(w, number);

	if (fs_unlink(w->o.fs, path, NULL) || fs_unlink(w->o.fs, held, NULL)) {
		/* Harmless: the next start reads the segment again. */
	}
}

/* Note a segment whose mark could not be made durable. */
static void wal_unread_postpone_locked(struct wal *w, uint64_t number)
	REQUIRES(w->mu)
{
	for (size_t i = 0; i < w->unmarked.count; i++) {
		if (w->unmarked.v[i] == number)
			return;
	}
	*vec_add(&w->unmarked) = number;
}

static void wal_unread_report_mark(const struct wal *w, uint64_t number)
{
	log_event(
		w->o.log, LOG_ERROR,
		"the disk cannot read parts of a WAL segment; its file is kept as *" ASIDE_UNREAD
		", and read again later",
		LOG_FIELDS(log_text("dir", w->dir),
			   log_int("segment", (int64_t)number)));
}

/* Make the mark of segment `number` durable, if it is not yet. */
static int wal_unread_mark_number(struct wal *w, uint64_t number,
				  struct err *err) REQUIRES(w->unread_mu)
{
	struct wal_segment *s;
	bool open;
	int rc;

	mutex_lock(&w->mu);
	s = wal_unread_find_locked(w, number);
	open = s != NULL;
	if (s)
		s->unread = true;
	if (s && s->kept) {
		mutex_unlock(&w->mu);
		return 0;
	}
	mutex_unlock(&w->mu);
	rc = wal_unread_link(w, number, err);
	mutex_lock(&w->mu);
	/* It may have been removed from the list meanwhile. */
	s = wal_unread_find_locked(w, number);
	if (rc)
		wal_unread_postpone_locked(w, number);
	else if (s)
		s->kept = true;
	mutex_unlock(&w->mu);
	if (!rc && !open)
		wal_unread_hide(w, number);
	if (!rc)
		wal_unread_report_mark(w, number);
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
	rc = wal_unread_mark_number(w, lsn >> 32, err);
	mutex_unlock(&w->unread_mu);
	return rc;
}

int wal_unread_settle(struct wal *w, struct err *err)
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
		rc = wal_unread_mark_number(w, number, err);
	}
	mutex_unlock(&w->unread_mu);
	return rc ? err_wrap(
			    err, rc,
			    "a WAL segment that the disk cannot read cannot be marked yet, so nothing is flushed") :
		    0;
}

/*
 * Begin to take a segment: a mark from now on means that something could not be
 * read again.
 */
static void wal_unread_begin(struct wal *w, uint64_t number)
{
	struct wal_segment *s;

	mutex_lock(&w->mu);
	s = wal_unread_find_locked(w, number);
	if (s)
		s->kept = false;
	mutex_unlock(&w->mu);
}

/*
 * Remove the name *.unread, because all profiles are stored; or, if some
 * records are damaged, change it. It stays if the segment has been marked again.
 */
static int wal_unread_end(struct wal *w, uint64_t number, const char *path,
			  bool damaged, struct err *err)
{
	const struct wal_segment *s;
	bool again;
	int rc = 0;

	mutex_lock(&w->unread_mu);
	mutex_lock(&w->mu);
	s = wal_unread_find_locked(w, number);
	again = s && s->kept;
	mutex_unlock(&w->mu);
	if (!again)
		rc = wal_aside_return(w, number, err);
	if (!again && !rc)
		rc = damaged ? rename_aside(w->o.fs, path, ASIDE_DAMAGED, err) :
			       fs_unlink(w->o.fs, path, err);
	mutex_unlock(&w->unread_mu);
	return rc;
}

/* Log what is damaged in a file that the disk reads again, and count it. */
static void wal_unread_report_damage(const struct wal *w, const char *path,
				     const struct unread_visit *v)
{
	metric_add(w->missing, (int64_t)v->missing);
	log_event(
		w->o.log, LOG_ERROR,
		"a WAL segment that was set aside is damaged; profiles in it are lost, of which those at its end are not counted; it is renamed to *" ASIDE_DAMAGED,
		LOG_FIELDS(log_text("path", path),
			   log_int("profiles", (int64_t)v->missing),
			   log_int("profiles_found", (int64_t)v->found)));
}

int wal_unread_take(struct wal *w, const char *path,
		    const struct wal_unread_taker *taker, struct err *err)
{
	struct unread_visit v = {
		.taker = taker, .until_ns = clock_mono_ns() + CLOCK_MINUTE_NS
	};
	uint64_t number = segment_aside_number(strrchr(path, '/') + 1);
	struct wal_segment *s = NULL;
	uint64_t from = wal_end(w);
	int rc;

	wal_unread_begin(w, number);
	rc = segment_open_read(w, path, number, &s, err);
	/*
	 * The disk reads it again, but it is no segment of this number. Without
	 * the key, its header may be damaged: the key may be read later.
	 */
	v.damaged = rc == ERR_CORRUPT && w->key.known;
	if (v.damaged)
		rc = 0;
	else if (!rc)
		rc = wal_unread_visit(w, s, &v, err);
	wal_segment_unref(s);
	if (!rc)
		rc = wal_sync_range(w, from, wal_end(w), err);
	if (!rc && v.damaged)
		wal_unread_report_damage(w, path, &v);
	return rc ? rc : wal_unread_end(w, number, path, v.damaged, err);
}

void wal_unread_report(const struct log *log, const char *path, int rc,
		       const struct err *err)
{
	if (!rc)
		log_event(
			log, LOG_INFO,
			"the disk reads again what it could not read before; its profiles are back",
			LOG_FIELDS(log_text("path", path)));
	else
		log_event(
			log, LOG_WARN,
			"what the disk could not read is still missing in all answers; everprof tries again in some minutes",
			LOG_FIELDS(log_text("path", path), log_err(err)));
}

bool wal_unread_is_of_one(int rc)
{
	/* ERR_AGAIN: one of its profiles waits for a trusted clock. */
	return rc == ERR_IO || rc == ERR_CORRUPT || rc == ERR_NOTFOUND ||
	       rc == ERR_AGAIN;
}

int wal_unread_take_all(struct wal *w, const struct wal_unread_taker *taker,
			struct err *err)
{
	struct name_list l = { 0 };
	uint64_t current = wal_end(w) >> 32;
	int rc = fs_list(w->o.fs, w->dir, &l, err);

	for (size_t i = 0; i < l.count && !rc; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s/%s", w->dir, l.names[i]);

		/* The current segment may have half a record at its end. */
		if (!wal_unread_is_name(l.names[i]) ||
		    segment_aside_number(l.names[i]) == current)
			continue;
		rc = wal_unread_take(w, path, taker, err);
		if (rc != ERR_CLOSED)
			wal_unread_report(w->o.log, path, rc, err);
		if (wal_unread_is_of_one(rc))
			rc = 0;
	}
	name_list_fini(&l);
	return rc;
}
