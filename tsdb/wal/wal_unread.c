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
#include "tsdb/wal/wal_mark.h"
#include "tsdb/wal/wal_private.h"
#include "tsdb/wal/wal_segment.h"

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

/*
 * Begin to take a segment: a mark from now on means that something could not be
 * read again.
 */
static void wal_unread_begin(struct wal *w, uint64_t number)
{
	struct wal_segment *s;

	mutex_lock(&w->mu);
	s = wal_mark_find_locked(w, number);
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
	s = wal_mark_find_locked(w, number);
	again = s && s->kept;
	mutex_unlock(&w->mu);
	if (!again)
		rc = wal_aside_return(w, number, err);
	if (!again && !rc)
		rc = damaged ? trash_rename_aside(w->o.fs, path, ASIDE_DAMAGED,
						  err) :
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
		"a WAL segment that the disk could not read earlier is damaged, and profiles in it are lost (the field profiles counts them, except those at the end of the segment); the file is renamed to *" ASIDE_DAMAGED,
		LOG_FIELDS(log_text("path", path),
			   log_int("profiles", (int64_t)v->missing),
			   log_int("profiles_found", (int64_t)v->found)));
}

/*
 * Take the profiles of the unread segment at `path`, make the log durable, and
 * remove the file; if some records are damaged, rename it to *.damaged. ERR_IO:
 * the disk still cannot read all of it; what it reads is taken if it is more
 * than before, and if that takes no more than a minute. ERR_CLOSED; errors of
 * the taker. The file stays then.
 */
static int wal_unread_take(struct wal *w, const char *path,
			   const struct wal_unread_taker *taker,
			   struct err *err)
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
			"profiles that could not be read or stored earlier are available again, except damaged ones",
			LOG_FIELDS(log_text("path", path)));
	else
		log_event(
			log, LOG_WARN,
			rc == ERR_IO ?
				"the disk still cannot read all of this file or directory (field path), so some of its profiles are missing; everprof tries again in five minutes" :
				"the disk can read this file or directory again (field path), but some of its profiles could not be stored yet and are still missing; everprof tries again within five minutes",
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
		if (!wal_aside_is_unread(l.names[i]) ||
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
