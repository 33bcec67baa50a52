/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal_replay.h"

#include <assert.h>

#include "base/mem.h"
#include "base/mutex.h"
#include "base/units.h"
#include "tsdb/wal/wal_aside.h"
#include "tsdb/wal/wal_mark.h"
#include "tsdb/wal/wal_private.h"
#include "tsdb/wal/wal_segment.h"

/*
 * State of the replay of one segment. `directory` collects the profiles that
 * are found when the records are read, so that the segment can be sealed.
 */
struct replay {
	struct wal *w;
	struct wal_segment *segment;
	segment_entry_fn fn;
	void *ctx;
	struct segment_dir directory;
	/* What the directory of the segment says, when it is read. */
	struct segment_numbers numbers;
};

/*
 * Count and log the profiles that are missing before one at a time; INT64_MAX:
 * there is none.
 */
static void replay_report_gap(struct wal *w, int64_t ms)
{
	struct replay_gap *g = &w->gap;
	char from[40] = "unknown";
	char to[40] = "unknown";

	if (!g->profiles)
		return;
	/* Samples may be in any order. */
	if (g->after_ms != INT64_MIN)
		time_format(g->after_ms < ms ? g->after_ms : ms, from);
	if (ms != INT64_MAX)
		time_format(g->after_ms > ms ? g->after_ms : ms, to);
	metric_add(w->missing, (int64_t)g->profiles);
	log_event(
		w->o.log, LOG_ERROR,
		"the WAL lacks profiles that it had; they are lost unless they were flushed or sent before",
		LOG_FIELDS(log_text("dir", w->dir),
			   log_int("before_segment", (int64_t)g->segment),
			   log_int("profiles", (int64_t)g->profiles),
			   log_text("from", from), log_text("to", to)));
	g->profiles = 0;
}

/*
 * Count what is missing before the profile with a number. What is before the
 * begin of the log was dropped, also if some of its segments are still there.
 */
static void replay_count_gap(struct wal *w, uint64_t number)
{
	struct replay_gap *g = &w->gap;
	uint64_t from = g->expected;

	if (!from)
		return;
	if (from < w->found.begin.number)
		from = w->found.begin.number;
	if (number > from)
		g->profiles += number - from;
}

/* Note that the next profile of a segment has a number. */
static void replay_note_number(struct replay *r, uint64_t number)
{
	struct replay_gap *g = &r->w->gap;

	if (number >= r->w->next_number)
		r->w->next_number = number + 1;
	if (!r->segment->first)
		r->segment->first = number;
	if (!number || r->segment->unread)
		return;
	replay_count_gap(r->w, number);
	g->expected = number + 1;
}

/* Pass a profile to the caller. */
static void replay_take_entry(void *ctx, const struct segment_entry *e)
{
	struct replay *r = ctx;

	replay_note_number(r, r->numbers.first);
	r->numbers.first = 0;
	if (!r->segment->first_ms)
		r->segment->first_ms = e->ms;
	r->w->tail.last_ms = e->ms;
	replay_report_gap(r->w, e->ms);
	r->w->gap.after_ms = e->ms;
	r->fn(r->ctx, e);
}

/*
 * Count and log a damaged record or a torn end (a last record cut short). A
 * torn end is normal after a crash, so it is not counted as damage, unless the
 * next segment says that the record was complete. A segment in which nothing
 * agrees with a guessed salt is reported as a whole; see wal_replay_scan().
 */
static void wal_replay_report_damage(void *ctx, uint64_t offset, uint64_t len,
				     bool torn)
{
	struct replay *r = ctx;

	if (torn && r->segment->guessed && offset == FILE_HEADER)
		return;
	torn = torn && offset >= r->segment->expected_end;
	metric_add(torn ? r->w->o.torn : r->w->corruptions, 1);
	log_event(
		r->w->o.log, LOG_WARN,
		torn ? "a WAL segment ends in an incomplete record (a torn end, which is normal after a crash, or while a server writes)" :
		       "a WAL segment is damaged or cut short; the profiles in the damaged part are lost unless they were flushed or sent before",
		LOG_FIELDS(log_text("file", file_path(r->segment->file)),
			   log_int("offset", (int64_t)offset),
			   log_int("bytes", (int64_t)len)));
}

/*
 * Pass an intact profile to the caller and note it in the directory. Records of
 * unknown kinds are skipped.
 */
static void scan_record(struct replay *r, const struct record *rec)
{
	struct segment_profile p = { 0 };

	if (rec->kind != SEGMENT_PROFILE && rec->kind != SEGMENT_RESEND)
		return;
	if (!rec->body_ok || segment_profile_decode(rec, &p, NULL)) {
		wal_replay_report_damage(r, (uint32_t)rec->position, rec->len,
					 false);
		return;
	}
	replay_note_number(r, p.number);
	segment_dir_number(&r->directory, p.number);
	if (rec->kind != SEGMENT_PROFILE)
		return;
	segment_dir_add(&r->directory, &p.entry);
	replay_take_entry(r, &p.entry);
}

/*
 * Report a range of bytes that the disk cannot read. The segment is marked, so
 * that it is not truncated, and its file is kept.
 */
static void wal_replay_report_unread(void *ctx, uint64_t offset, uint64_t len)
{
	struct replay *r = ctx;

	r->segment->unread = true;
	/* wal_mark_settle() tries again. */
	(void)!wal_mark_unread(r->w, r->segment->number << 32, NULL);
	metric_add(r->w->corruptions, 1);
	log_event(
		r->w->o.log, LOG_ERROR,
		"the disk cannot read some bytes of a WAL segment; profiles that were not flushed or sent may be missing; the file is kept",
		LOG_FIELDS(log_text("file", file_path(r->segment->file)),
			   log_int("offset", (int64_t)offset),
			   log_int("bytes", (int64_t)len)));
}

/* An iterator over all records of a segment. */
static struct record_iter iter_of(const struct wal_segment *s,
				  struct bytes bytes)
{
	return (struct record_iter){ .file = bytes,
				     .salt = s->salt,
				     .base = s->number << 32,
				     .offset = FILE_HEADER,
				     .end = FILE_HEADER };
}

/*
 * Callback of the record iterator: set the bool that `ctx` points to, because
 * there is damage.
 */
static void note_damage(void *ctx, uint64_t offset UNUSED, uint64_t len UNUSED,
			bool torn UNUSED)
{
	*(bool *)ctx = true;
}

/*
 * Whether any record before the directory is damaged, in its head or its body.
 */
static bool has_damage(const struct wal_segment *s, struct bytes bytes)
{
	struct record_iter it = iter_of(s, bytes);
	struct record rec = { 0 };
	bool damage = false;

	it.damaged = note_damage;
	it.ctx = &damage;
	while (!damage && record_next(&it, &rec)) {
		if (rec.kind == SEGMENT_DIRECTORY)
			return false;
		damage = !rec.body_ok;
	}
	return damage;
}

/*
 * Read the whole segment. If it looks damaged, read it once more: the first
 * read may have been faulty although the file is intact.
 */
static int read_segment(struct replay *r, struct buf *bytes, struct err *err)
{
	int rc = file_read_around(r->segment->file, bytes,
				  wal_replay_report_unread, r, err);

	if (rc || r->segment->unread ||
	    !has_damage(r->segment, buf_bytes(bytes)))
		return rc;
	buf_reset(bytes);
	return file_read_around(r->segment->file, bytes,
				wal_replay_report_unread, r, err);
}

/*
 * Report records that are missing at the end of the segment, although the file
 * ends with a whole record.
 */
static void wal_replay_check_end(struct replay *r, const struct record_iter *it)
{
	uint64_t expected = r->segment->expected_end;

	if (it->end < expected && it->end >= r->segment->size)
		wal_replay_report_damage(r, it->end, expected - it->end, false);
}

/*
 * Whether a segment in which no record was found had some: because the next one,
 * or wal/numbers, says so, or because even its header is damaged.
 */
static bool replay_had_records(const struct wal *w, const struct wal_segment *s)
{
	const struct wal_tail *t = &w->found.tail;

	return s->guessed || s->expected_end > FILE_HEADER ||
	       (t->segment == s->number && t->first);
}

/*
 * Scan the segment record by record. *end is set to the offset after the last
 * complete record. ERR_CORRUPT: the salt was derived from the key, and no
 * record is valid with it. ERR_IO: so it seems, but the disk failed.
 */
static int wal_replay_scan(struct replay *r, uint64_t *end, struct err *err)
{
	struct buf bytes = { 0 };
	struct record_iter it;
	struct record rec = { 0 };
	int rc = read_segment(r, &bytes, err);

	it = iter_of(r->segment, buf_bytes(&bytes));
	it.damaged = wal_replay_report_damage;
	it.ctx = r;
	while (!rc && record_next(&it, &rec)) {
		/*
		 * This directory is damaged (otherwise no scan would be
		 * needed): stop here, and the caller replaces it.
		 */
		if (rec.kind == SEGMENT_DIRECTORY)
			break;
		*end = it.end;
		scan_record(r, &rec);
	}
	buf_fini(&bytes);
	if (!rc && !r->segment->unread)
		wal_replay_check_end(r, &it);
	if (!rc && *end == FILE_HEADER && replay_had_records(r->w, r->segment))
		rc = r->segment->unread ?
			     err_set(err, ERR_IO,
				     "the disk cannot read parts of the segment, and the rest has no intact record") :
			     err_set(err, ERR_CORRUPT,
				     "no record of the segment has a valid checksum");
	return rc;
}

/*
 * Replay the segment from its directory alone. ERR_CORRUPT: there is no
 * directory or it is damaged, and the caller scans the records.
 */
static int replay_directory(struct replay *r, struct err *err)
{
	uint64_t end = 0;
	int rc = wal_segment_directory(r->segment, replay_take_entry, r, &end,
				       &r->numbers, err);

	if (rc) {
		r->numbers = (struct segment_numbers){ .first = 0 };
		return rc;
	}
	r->w->replayed_end = (uint32_t)end;
	replay_note_number(r, r->numbers.first);
	if (r->numbers.next) {
		r->w->gap.expected = r->numbers.next;
		replay_note_number(r, r->numbers.next - 1);
	}
	return 0;
}

/*
 * Make the records that a scan found durable. If the sync fails, the segment is
 * marked as failed, and all its records count as not durable.
 */
static void sync_replayed(struct wal *w, struct wal_segment *s)
{
	struct err err;

	if (!file_sync(s->file, &err))
		return;
	s->failed = true;
	s->durable = s->number << 32 | FILE_HEADER;
	wal_segment_report_unsynced(w, &err);
}

/*
 * Replay one segment from its directory if it is sealed. Otherwise scan the
 * records, and then seal the segment.
 */
static int replay_segment(struct replay *r, struct err *err)
{
	struct wal *w = r->w;
	uint64_t end = FILE_HEADER;
	int rc = replay_directory(r, err);

	if (!rc)
		return 0;
	rc = wal_replay_scan(r, &end, err);
	w->replayed_end = rc || r->segment->unread ? 0 : (uint32_t)end;
	if (!rc && !w->o.read_only) {
		sync_replayed(w, r->segment);
		/*
		 * Sealing truncates the file after the last complete record.
		 * This would destroy unreadable bytes that may become readable
		 * again.
		 */
		if (!r->segment->failed && !r->segment->unread)
			wal_write_directory(w, r->segment, &r->directory, end);
	}
	segment_dir_fini(&r->directory);
	return rc;
}

/*
 * Remove segment `i` from the list, because none of its records could be read. If
 * its header is intact, no later start can tell that there were records: so the
 * file gets another name at once.
 */
static void leave_alone(struct wal *w, size_t i, const struct err *err)
{
	struct wal_segment *s = w->segments[i];
	bool is_known = s->guessed || err->code != ERR_CORRUPT;

	w->count--;
	memmove(w->segments + i, w->segments + i + 1,
		(w->count - i) * sizeof(struct wal_segment *));
	if (is_known || wal_segment_set_aside(w, s->file, NULL))
		segment_tell_left_alone(w, s->number, file_path(s->file), err);
	wal_segment_unref(s);
}

/*
 * Begin with a segment. What the disk cannot read, here or before, is not
 * missing.
 */
static void replay_begin_segment(struct wal *w, const struct wal_segment *s)
{
	if (s->unread || wal_aside_between(w, w->gap.segment + 1, s->number))
		w->gap.expected = 0;
	w->gap.segment = s->number;
}

/*
 * Note what the log should begin with. A tool that reads the directory of a
 * running server does not know whether the server has dropped it since.
 */
static void replay_note_begin(struct wal *w)
{
	const struct wal_begin *b = &w->found.begin;

	if (b->number > w->next_number)
		w->next_number = b->number;
	if (w->o.read_only || !b->number)
		return;
	w->gap.expected = b->number;
	w->gap.segment = b->segment - 1;
	if (b->ms)
		w->gap.after_ms = b->ms;
}

/* Whether the disk does not read all of the segment that was the last one. */
static bool replay_end_is_unread(struct wal *w, const struct wal_tail *t)
{
	return w->gap.segment == t->segment ?
		       w->gap.unread :
		       wal_aside_between(w, w->gap.segment + 1, t->segment + 1);
}

/*
 * Whether the log went on with numbers that the end of the log had already,
 * because a start could read neither that nor the profiles with them.
 */
static bool replay_has_begun_anew(const struct wal *w, const struct wal_tail *t)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct wal_segment *s = w->segments[i];

		if (s->number > t->segment && s->first && s->first < t->next)
			return true;
	}
	return false;
}

/*
 * Whether the log went on in more segments than the one that begins before that
 * is noted. So it could not be noted, and the log may have other numbers. A file
 * without profiles does not tell: anybody may have put it there.
 */
static bool replay_has_gone_on(const struct wal *w, const struct wal_tail *t)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct wal_segment *s = w->segments[i];

		if (s->number > t->segment + 1 &&
		    (s->first || s->first_ms || s->unread))
			return true;
	}
	return false;
}

/*
 * Note what is missing at the end of the log. Returns the time of the last
 * profile that the log had; INT64_MAX: not known.
 */
static int64_t replay_note_end(struct wal *w)
{
	const struct wal_tail *t = &w->found.tail;
	struct replay_gap *g = &w->gap;

	if (!t->next || replay_has_gone_on(w, t) || replay_has_begun_anew(w, t))
		return INT64_MAX;
	if (t->next > w->next_number)
		w->next_number = t->next;
	if (w->next <= t->segment)
		w->next = t->segment + 1;
	if (w->tail.segment < t->segment)
		w->tail.segment = t->segment;
	if (replay_end_is_unread(w, t))
		return INT64_MAX;
	if (!g->expected && g->segment <= t->segment)
		g->expected = t->first;
	replay_count_gap(w, t->next);
	g->segment = w->next;
	return t->last_ms ? t->last_ms : INT64_MAX;
}

int wal_replay(struct wal *w, uint64_t floor, segment_entry_fn fn, void *ctx,
	       struct err *err)
{
	replay_note_begin(w);
	for (size_t i = 0; i < w->count;) {
		struct replay r = {
			.w = w, .segment = w->segments[i], .fn = fn, .ctx = ctx
		};
		int rc;

		replay_begin_segment(w, r.segment);
		rc = replay_segment(&r, err);
		/* It may have more than the disk has read. */
		w->gap.unread = r.segment->unread || rc == ERR_IO;
		if (w->gap.unread)
			w->gap.expected = 0;
		if (rc)
			leave_alone(w, i, err);
		else
			i++;
	}
	/* Until there is a new one. */
	w->tail.segment = w->count ? w->segments[w->count - 1]->number : 0;
	replay_report_gap(w, replay_note_end(w));
	/*
	 * New LSNs must be greater than every LSN that heads and blocks have
	 * recorded, even if the WAL segments with these LSNs are gone.
	 */
	if (w->next <= floor)
		w->next = floor + 1;
	w->end = w->next << 32;
	w->tail.next = w->next_number;
	if (w->o.read_only)
		return 0;
	if (wal_replay_begin(w, err))
		log_event(
			w->o.log, LOG_ERROR,
			"cannot create a WAL segment; profiles are refused until that succeeds",
			LOG_FIELDS(log_err(err)));
	wal_numbers_start(w);
	return 0;
}
