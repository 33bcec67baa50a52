/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal_log.h"

#include "base/clock.h"
#include "base/dec.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/wal/wal_aside.h"
#include "tsdb/wal/wal_held.h"
#include "tsdb/wal/wal_mark.h"
#include "tsdb/wal/wal_private.h"
#include "tsdb/wal/wal_segment.h"
#include "tsdb/wal/wal_trim.h"

#define READ_PAGE 4096ull /* bytes that a disk reads or fails to read at once */

/* The part of a segment that can be read now. */
struct readable {
	struct wal_segment *s; /* a reference; NULL: there is no segment */
	uint64_t end;          /* offset after the last durable byte */
	bool is_current;       /* more records may follow */
};

/*
 * The offset up to which a segment may be read: of the current segment, only
 * the durable records; of any other segment, all records, even if its sync
 * failed, because they have been or will be flushed.
 */
static uint64_t readable_end(const struct wal *w, const struct wal_segment *s)
	REQUIRES(w->mu)
{
	if (s != w->current)
		return s->size;
	return s->durable < w->end ? (uint32_t)s->durable : (uint32_t)w->end;
}

/* The first segment of a sorted list with at least this number, or NULL. */
static struct wal_segment *first_from(struct wal_segment *const *v,
				      size_t count, uint64_t number)
{
	for (size_t i = 0; i < count; i++) {
		if (v[i]->number >= number)
			return v[i];
	}
	return NULL;
}

/*
 * Find the segment that contains `position`, or the next one. Held segments are
 * usually older than the others, but not if an older segment could not be moved
 * to them.
 */
static struct readable wal_log_find(struct wal *w, uint64_t position)
{
	struct wal_segment *held;
	struct readable r;

	mutex_lock(&w->mu);
	held = first_from(w->held, w->held_count, position >> 32);
	r = (struct readable){ .s = first_from(w->segments, w->count,
					       position >> 32) };
	if (held && (!r.s || held->number < r.s->number))
		r.s = held;
	if (r.s) {
		atomic_fetch_add(&r.s->refs, 1);
		r.end = readable_end(w, r.s);
		r.is_current = r.s == w->current;
	}
	mutex_unlock(&w->mu);
	return r;
}

/* Implement sample_log.begin. */
static uint64_t wal_log_begin(struct sample_log *l)
{
	struct wal *w = (struct wal *)l;
	uint64_t number;

	mutex_lock(&w->mu);
	number = w->count ? w->segments[0]->number : w->end >> 32;
	if (w->held_count && w->held[0]->number < number)
		number = w->held[0]->number;
	mutex_unlock(&w->mu);
	return number << 32;
}

/* Implement sample_log.end. */
static uint64_t wal_log_end(struct sample_log *l)
{
	struct wal *w = (struct wal *)l;
	uint64_t end;

	mutex_lock(&w->mu);
	end = w->current ?
		      w->current->number << 32 | readable_end(w, w->current) :
		      w->end;
	mutex_unlock(&w->mu);
	return end;
}

/* Implement sample_log.next_number. */
static uint64_t wal_log_next_number(struct sample_log *l)
{
	struct wal *w = (struct wal *)l;
	uint64_t number;

	mutex_lock(&w->mu);
	number = w->next_number;
	mutex_unlock(&w->mu);
	return number;
}

/*
 * Set *len to the length of the record at offset `at`, as its header states it;
 * the header is not verified. 0: no complete record is there before `end`.
 * ERR_IO: the disk could not read the header.
 */
static int record_length(const struct wal_segment *s, uint64_t at, uint64_t end,
			 uint64_t *len, struct err *err)
{
	uint8_t header[RECORD_HEADER];
	struct dec d = dec_init(
		(struct bytes){ .ptr = header, .len = sizeof(header) });
	uint32_t head_len;
	int rc;

	*len = 0;
	if (at + RECORD_HEADER > end)
		return 0;
	rc = file_read(s->file, at, header, sizeof(header), err);
	/* A file that is shorter than it was has no record here. */
	if (rc)
		return rc == ERR_CORRUPT ? 0 : rc;
	head_len = dec_be32(&d);
	*len = record_padded(head_len, dec_be32(&d));
	if (at + *len > end)
		*len = 0;
	return 0;
}

/*
 * Find the next record after bytes that are damaged or cannot be read. As in a
 * replay, every offset that is a multiple of 8 is tried; of a page that the
 * disk cannot read, only the first one, because each attempt may take seconds.
 * Returns its offset, or `end`. Bytes that cannot be read are passed only with
 * `past_unread`: otherwise they end the search, because records may be there.
 */
static uint64_t skip_damage(const struct wal_segment *s, uint64_t at,
			    uint64_t end, bool past_unread)
{
	struct buf head = { 0 };
	struct segment_profile p;
	uint64_t len;

	for (at += 8; at < end; at += 8) {
		int rc = record_length(s, at, end, &len, NULL);

		/* Its length would be the guess for the next head. */
		buf_reset(&head);
		if (!rc && len)
			rc = wal_segment_head(s, s->number << 32 | at,
					      RECORD_HEAD_MAX, &head, &p, NULL);
		if ((!rc && len) || (rc == ERR_IO && !past_unread))
			break;
		if (rc == ERR_IO)
			at = (at | (READ_PAGE - 1)) - 7;
	}
	buf_fini(&head);
	return at < end ? at : end;
}

/* The sample that a record contains. */
static struct logged_sample log_sample_of(const struct segment_profile *p,
					  uint64_t lsn)
{
	return (struct logged_sample){ .lsn = lsn,
				       .number = p->number,
				       .labels = p->entry.labels,
				       .ms = p->entry.ms,
				       .hash = p->entry.hash,
				       .raw_len = p->entry.raw_len,
				       .encoding = p->encoding,
				       .body = p->body };
}

/*
 * Whether the record at an offset is the directory, which ends a sealed
 * segment.
 */
static bool is_directory(const struct wal_segment *s, uint64_t at)
{
	uint8_t header[RECORD_HEADER];
	const struct bytes b = { .ptr = header, .len = sizeof(header) };
	struct record rec = { 0 };

	/* It has no head, so the header is all that there is to verify. */
	return !file_read(s->file, at, header, sizeof(header), NULL) &&
	       !record_decode_head(b, s->salt, s->number << 32 | at, &rec,
				   NULL) &&
	       rec.kind == SEGMENT_DIRECTORY;
}

/*
 * Read the record at *position, which is in the segment, and advance *position
 * past it. ERR_AGAIN: the segment has no more records now, and *position is set
 * to its end. ERR_IO: the disk could not read the record, and *position stays.
 */
static int read_in_segment(const struct readable *r, uint64_t *position,
			   bool with_body, struct buf *buf,
			   struct logged_sample *out, struct err *err)
{
	uint64_t base = r->s->number << 32;
	uint64_t at = (uint32_t)*position;
	struct segment_profile p = { 0 };
	uint64_t len;
	int rc;

	at = at < FILE_HEADER ? FILE_HEADER : at;
	rc = record_length(r->s, at, r->end, &len, err);
	if (at >= r->end || (len && is_directory(r->s, at))) {
		*position = base | r->end;
		return ERR_AGAIN;
	}
	if (!rc && !len)
		rc = err_set(
			err, ERR_CORRUPT,
			"%s: the record at offset %llu is damaged or incomplete",
			file_path(r->s->file), (unsigned long long)at);
	else if (!rc)
		rc = (with_body ? wal_segment_read : wal_segment_head)(
			r->s, base | at, (uint32_t)len, buf, &p, err);
	if (!rc)
		*out = log_sample_of(&p, base | at);
	if (rc == ERR_CORRUPT)
		*position = base | skip_damage(r->s, at, r->end, false);
	else if (rc != ERR_IO)
		*position = base | (at + len);
	return rc;
}

/* Implement sample_log.skip. */
static int wal_log_skip(struct sample_log *l, uint64_t *position,
			struct err *err)
{
	struct wal *w = (struct wal *)l;
	struct readable r = wal_log_find(w, *position);
	uint64_t at = (uint32_t)*position;
	int rc = 0;

	if (r.s && r.s->number == *position >> 32) {
		rc = wal_mark_unread(w, *position, err);
		at = at < FILE_HEADER ? FILE_HEADER : at;
		if (!rc)
			*position = r.s->number << 32 |
				    skip_damage(r.s, at, r.end, true);
	}
	wal_segment_unref(r.s);
	return rc;
}

int wal_log_visit(const struct wal_segment *s, const struct wal_log_visitor *v,
		  struct err *err)
{
	struct buf buf = { 0 };
	uint64_t at = FILE_HEADER;
	uint64_t len;
	int rc = 0;

	while (!rc && at < s->size) {
		struct segment_profile p = { 0 };
		int failed = record_length(s, at, s->size, &len, err);

		if (!failed && len && is_directory(s, at))
			break;
		if (!failed)
			failed = !len ? ERR_CORRUPT :
					wal_segment_read(
						s, s->number << 32 | at,
						(uint32_t)len, &buf, &p, err);
		if (!failed)
			rc = v->profile(v->ctx, &p, err);
		else if (failed == ERR_CORRUPT)
			v->damaged(v->ctx);
		else if (failed == ERR_IO)
			rc = v->unread(v->ctx, err);
		else
			rc = failed;
		at = failed ? skip_damage(s, at, s->size, failed == ERR_IO) :
			      at + len;
	}
	buf_fini(&buf);
	return rc;
}

/*
 * Go on from *position to another segment. ERR_NOTFOUND: profiles between them
 * could not be read. ERR_IO: nor is it durable yet that their file is kept, and
 * *position stays.
 */
static int wal_log_pass(struct wal *w, uint64_t *position, uint64_t number,
			struct err *err)
{
	bool aside = wal_aside_between(w, *position >> 32, number);

	if (aside && wal_mark_settle(w, err))
		return ERR_IO;
	*position = number << 32;
	return aside ? err_set(err, ERR_NOTFOUND,
			       "the disk cannot read profiles of the WAL before segment %llu; they are appended again when the disk can read them",
			       (unsigned long long)number) :
		       0;
}

/* Implement sample_log.read. */
static int wal_log_read(struct sample_log *l, uint64_t *position,
			bool with_body, struct buf *buf,
			struct logged_sample *out, struct err *err)
{
	struct wal *w = (struct wal *)l;

	for (;;) {
		struct readable r = wal_log_find(w, *position);
		uint64_t number;
		int rc;

		if (!r.s)
			return ERR_AGAIN;
		number = r.s->number;
		if (number != *position >> 32) {
			rc = wal_log_pass(w, position, number, err);
			if (rc) {
				wal_segment_unref(r.s);
				return rc;
			}
		}
		rc = read_in_segment(&r, position, with_body, buf, out, err);
		wal_segment_unref(r.s);
		if (rc != ERR_AGAIN || r.is_current)
			return rc;
		/* All of the segment has been read: go on with the next one. */
		*position = (number + 1) << 32;
	}
}

/* Implement sample_log.wait. */
static void wal_log_wait(struct sample_log *l, uint64_t position,
			 int64_t timeout_ms)
{
	struct wal *w = (struct wal *)l;
	struct timespec at =
		clock_mono_at(clock_mono_ns() + timeout_ms * 1000000);
	int rc = 0;

	mutex_lock(&w->mu);
	while (!rc &&
	       (!w->current || (w->current->number << 32 |
				readable_end(w, w->current)) <= position))
		rc = mutex_wait_until(&w->mu, &w->synced, &at);
	mutex_unlock(&w->mu);
}

/* The bytes of a segment from a position on. */
static uint64_t bytes_from(const struct wal *w, const struct wal_segment *s,
			   uint64_t position) REQUIRES(w->mu)
{
	uint64_t end = readable_end(w, s);
	uint64_t at = (uint32_t)position;

	if (s->number != position >> 32)
		return s->number < position >> 32 ? 0 : end;
	return at < end ? end - at : 0;
}

/* Implement sample_log.bytes. */
static uint64_t wal_log_bytes(struct sample_log *l, uint64_t position)
{
	struct wal *w = (struct wal *)l;
	uint64_t sum = 0;

	mutex_lock(&w->mu);
	for (size_t i = 0; i < w->held_count; i++)
		sum += bytes_from(w, w->held[i], position);
	for (size_t i = 0; i < w->count; i++)
		sum += bytes_from(w, w->segments[i], position);
	mutex_unlock(&w->mu);
	return sum;
}

/* Implement sample_log.keep. */
static void wal_log_keep(struct sample_log *l, uint64_t position)
{
	wal_keep((struct wal *)l, position);
}

/* Implement sample_log.holds. */
static bool wal_log_holds(struct sample_log *l)
{
	struct wal *w = (struct wal *)l;
	bool holds;

	mutex_lock(&w->mu);
	holds = w->held_count > 0;
	mutex_unlock(&w->mu);
	return holds;
}

void wal_log_init(struct wal *w)
{
	w->log = (struct sample_log){ .begin = wal_log_begin,
				      .end = wal_log_end,
				      .next_number = wal_log_next_number,
				      .read = wal_log_read,
				      .skip = wal_log_skip,
				      .wait = wal_log_wait,
				      .holds = wal_log_holds,
				      .bytes = wal_log_bytes,
				      .keep = wal_log_keep };
}

struct sample_log *wal_sample_log(struct wal *w)
{
	return &w->log;
}
