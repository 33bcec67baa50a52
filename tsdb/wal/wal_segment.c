/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal_segment.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tsdb/io/trash.h"
#include "tsdb/wal/wal_key.h"
#include "tsdb/wal/wal_mark.h"
#include "tsdb/wal/wal_private.h"

/*
 * The number that a file name begins with, if `after` follows it. Else 0. A file
 * with a higher number cannot be a segment: no segment could follow it, because
 * numbers have 32 bits.
 */
static uint64_t segment_parse_name(const char *name, char after)
{
	char *end;
	unsigned long long n = strtoull(name, &end, 10);

	return end - name >= 8 && *end == after && n < SEGMENT_NUMBER_MAX ? n :
									    0;
}

uint64_t segment_number(const char *name)
{
	return segment_parse_name(name, '\0');
}

uint64_t segment_aside_number(const char *name)
{
	return segment_parse_name(name, '.');
}

char *segment_path(const struct wal *w, uint64_t number, const char *suffix)
{
	return mem_printf("%s/%08llu%s", w->dir, (unsigned long long)number,
			  suffix);
}

void wal_segment_unref(struct wal_segment *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	file_close(s->file);
	mem_free(s);
}

void segment_push(struct wal *w, struct wal_segment *s)
{
	w->segments = mem_grow(w->segments, w->count, &w->cap,
			       sizeof(struct wal_segment *));
	w->segments[w->count++] = s;
}

/*
 * Create a segment with one reference. All `size` bytes are treated as durable;
 * replay changes this if a sync fails.
 */
static struct wal_segment *segment_new(uint64_t number, uint64_t salt,
				       struct file *file, uint64_t size)
{
	struct wal_segment *s = mem_new(struct wal_segment);

	atomic_init(&s->refs, 1);
	s->number = number;
	s->salt = salt;
	s->file = file;
	s->size = size;
	s->durable = number << 32 | size;
	return s;
}

int segment_create(struct wal *w, uint64_t number, uint32_t before,
		   struct wal_segment **out, struct err *err)
{
	struct file_header h = { .magic = MAGIC_SEGMENT,
				 .number = number,
				 .extra = before };
	CLEANUP(mem_freep) char *path = segment_path(w, number, "");
	struct buf header = { 0 };
	struct file *f;
	int rc;

	if (number >= SEGMENT_NUMBER_MAX)
		return err_set(
			err, ERR_IO,
			"%s: the numbers of WAL segments are used up; if a file there has the highest number by mistake, stop everprof and move the file away",
			w->dir);
	rc = wal_key_salt(&w->key, number, &h.salt, err);
	if (rc)
		return rc;
	rc = file_open(w->o.fs, path, FILE_CREATE, &f, err);
	/* The file is left from a failed creation and has no records. */
	if (rc == ERR_EXISTS && !fs_unlink(w->o.fs, path, err))
		rc = file_open(w->o.fs, path, FILE_CREATE, &f, err);
	if (rc)
		return rc;
	file_header_encode(&h, &header);
	rc = file_write(f, 0, buf_bytes(&header), err);
	buf_fini(&header);
	if (!rc)
		rc = file_sync(f, err);
	if (!rc)
		rc = fs_sync_dir(w->o.fs, w->dir, err);
	if (rc) {
		file_close(f);
		/* The next startup removes the empty segment. */
		(void)!fs_unlink(w->o.fs, path, NULL);
		return rc;
	}
	*out = segment_new(number, h.salt, f, FILE_HEADER);
	return 0;
}

int wal_segment_set_aside(struct wal *w, struct file *f, struct err *err)
{
	metric_add(w->corruptions, 1);
	log_event(
		w->o.log, LOG_ERROR,
		w->o.read_only ?
			"a WAL segment has lost its contents; its profiles are lost unless they were flushed or sent before" :
			"a WAL segment has lost its contents; its profiles are lost unless they were flushed or sent before; it is renamed to *" ASIDE_DAMAGED,
		LOG_FIELDS(log_text("file", file_path(f))));
	return w->o.read_only ? 0 :
				trash_rename_aside(w->o.fs, file_path(f),
						   ASIDE_DAMAGED, err);
}

/*
 * Remove the file of a segment that has no records, because its creation was
 * cut short or nothing was appended.
 */
static int drop_stillborn(struct wal *w, struct file *f, uint64_t size,
			  struct err *err)
{
	if (size < FILE_HEADER && !w->o.read_only)
		log_event(
			w->o.log, LOG_WARN,
			"removing a WAL segment whose header is incomplete, which is normal after a crash before its first profile; if the file was cut short instead, its profiles are lost unless they were flushed or sent before",
			LOG_FIELDS(log_text("file", file_path(f)),
				   log_int("size", (int64_t)size)));
	return w->o.read_only ? 0 : fs_unlink(w->o.fs, file_path(f), err);
}

void wal_segment_report_unsynced(const struct wal *w, const struct err *err)
{
	log_event(
		w->o.log, LOG_ERROR,
		w->o.no_heads ?
			"cannot sync a WAL segment; until its profiles are sent, a crash of the machine may lose them" :
			"cannot sync a WAL segment; its profiles are flushed to the head block instead, and until then a crash of the machine may lose them",
		LOG_FIELDS(log_err(err)));
}

void segment_tell_left_alone(struct wal *w, uint64_t number, const char *path,
			     const struct err *err)
{
	wal_note_kept(w, number);
	metric_add(w->corruptions, 1);
	log_event(
		w->o.log, LOG_ERROR,
		"cannot read a WAL segment; its file is kept, but its profiles that were not flushed or sent are missing",
		LOG_FIELDS(log_text("file", path), log_err(err)));
	if (err->code == ERR_IO)
		/* wal_mark_settle() tries again. */
		(void)!wal_mark_unread(w, number << 32, NULL);
}

/*
 * Read the header of a segment file. If the header is unreadable or damaged,
 * derive the salt from the WAL's key instead. A wrong key does no harm: with
 * the wrong salt, replay finds no valid record.
 */
static int wal_segment_read_header(struct wal *w, const struct file *f,
				   uint64_t number, struct wal_segment *s,
				   uint32_t *before, struct err *err)
{
	uint8_t first[FILE_HEADER];
	struct bytes b = { .ptr = first, .len = sizeof(first) };
	struct file_header h = { 0 };
	int rc = file_read(f, 0, first, sizeof(first), err);

	if (!rc)
		rc = file_header_decode(b, MAGIC_SEGMENT, &h, err);
	/* Nothing may be cut off: it may get its name back. */
	if (!rc && h.number != number)
		return err_set(
			err, ERR_CORRUPT,
			"by its header, this is WAL segment %08llu, but by its name it is %08llu: it was renamed or copied; if it was renamed, stop everprof and give it its old name back",
			(unsigned long long)h.number,
			(unsigned long long)number);
	s->salt = h.salt;
	*before = h.extra;
	if ((rc != ERR_CORRUPT && rc != ERR_IO) || !w->key.known)
		return rc;
	s->guessed = true;
	s->unread = rc == ERR_IO;
	return wal_key_salt(&w->key, number, &s->salt, err);
}

int segment_open_read(struct wal *w, const char *path, uint64_t number,
		      struct wal_segment **out, struct err *err)
{
	CLEANUP(file_closep) struct file *f = NULL;
	struct wal_segment *s;
	uint64_t size = 0;
	uint32_t before;
	int rc = file_open(w->o.fs, path, FILE_READ, &f, err);

	if (!rc)
		rc = file_size(f, &size, err);
	if (rc)
		return rc;
	s = segment_new(number, 0, NULL, size);
	rc = wal_segment_read_header(w, f, number, s, &before, err);
	s->file = TAKE(f);
	if (rc)
		wal_segment_unref(s);
	else
		*out = s;
	return rc;
}

int segment_open(struct wal *w, uint64_t number, uint32_t *end, struct err *err)
{
	CLEANUP(mem_freep) char *path = segment_path(w, number, "");
	CLEANUP(file_closep) struct file *f = NULL;
	struct wal_segment *s;
	uint64_t size = 0;
	bool is_empty;
	int rc;

	rc = file_open(w->o.fs, path, w->o.read_only ? FILE_READ : FILE_WRITE,
		       &f, err);
	if (!rc)
		rc = file_size(f, &size, err);
	/* A file with a header and nothing else counts as empty. */
	is_empty = !rc && size <= FILE_HEADER;
	s = segment_new(number, 0, NULL, size);
	s->expected_end = *end;
	*end = 0;
	if (!rc)
		rc = wal_segment_read_header(w, f, number, s, end, err);
	if (is_empty) {
		rc = s->expected_end > FILE_HEADER ?
			     wal_segment_set_aside(w, f, err) :
			     drop_stillborn(w, f, size, err);
		wal_segment_unref(s);
		return rc;
	}
	s->file = TAKE(f);
	if (!rc) {
		segment_push(w, s);
		return 0;
	}
	wal_segment_unref(s);
	if (rc != ERR_CORRUPT && rc != ERR_IO)
		return err_wrap(err, rc, "%s", path);
	/* Without the salt, no record can be verified. */
	segment_tell_left_alone(w, number, path, err);
	return 0;
}

int wal_segment_directory(const struct wal_segment *s, segment_entry_fn fn,
			  void *ctx, uint64_t *end,
			  struct segment_numbers *numbers, struct err *err)
{
	uint8_t footer[SEGMENT_FOOTER];
	struct bytes last = { .ptr = footer, .len = sizeof(footer) };
	struct buf bytes = { 0 };
	struct record rec = { 0 };
	uint64_t at = 0;
	int rc = file_read(s->file, s->size - sizeof(footer), footer,
			   sizeof(footer), err);

	if (rc)
		return rc;
	if (!segment_footer_decode(last, s->salt, &at) ||
	    at >= s->size - sizeof(footer))
		return err_set(
			err, ERR_CORRUPT,
			"the WAL segment has no directory of its records");
	bytes.len = (size_t)(s->size - sizeof(footer) - at);
	bytes.ptr = mem_alloc(bytes.len);
	rc = file_read(s->file, at, bytes.ptr, bytes.len, err);
	if (!rc)
		rc = record_decode(buf_bytes(&bytes), s->salt,
				   s->number << 32 | at, true, &rec, err);
	if (!rc && (rec.kind != SEGMENT_DIRECTORY || !rec.body_ok))
		rc = err_set(err, ERR_CORRUPT,
			     "the directory of the WAL segment is damaged");
	if (!rc)
		rc = segment_dir_decode(rec.body, s->number, fn, ctx, numbers,
					err);
	if (!rc)
		*end = at;
	buf_fini(&bytes);
	return rc;
}

/* Add the segment's file and the record's offset to an error message. */
static int damaged_at(const struct wal_segment *s, uint64_t lsn, int rc,
		      struct err *err)
{
	return err_wrap(err, rc, "%s is damaged at offset %u",
			file_path(s->file), (uint32_t)lsn);
}

int wal_segment_read(const struct wal_segment *s, uint64_t lsn, uint32_t len,
		     struct buf *buf, struct segment_profile *out,
		     struct err *err)
{
	struct record r = { 0 };
	int rc;

	buf_reset(buf);
	if (!buf_reserve(buf, len))
		return err_set(
			err, ERR_TOOBIG,
			"%s: the record at offset %u has %u bytes; at most %zu are allowed here",
			file_path(s->file), (uint32_t)lsn, len, buf_limit(buf));
	rc = file_read(s->file, (uint32_t)lsn, buf->ptr, len, err);
	if (rc)
		return rc;
	buf->len = len;
	rc = record_decode(buf_bytes(buf), s->salt, lsn, true, &r, err);
	if (!rc && !r.body_ok)
		rc = err_set(err, ERR_CORRUPT,
			     "checksum mismatch of the stored profile");
	if (!rc)
		rc = segment_profile_decode(&r, out, err);
	return rc ? damaged_at(s, lsn, rc, err) : 0;
}

int wal_segment_body(const struct wal_segment *s,
		     const struct segment_profile *p, struct body_decoder *d,
		     struct buf *out, struct err *err)
{
	int rc = body_decode(d, p, out, err);

	return rc ? damaged_at(s, p->entry.lsn, rc, err) : 0;
}

/*
 * Read the first n bytes of a record into `buf`. On entry at least buf->len
 * bytes are allocated; buf->len must not exceed n.
 */
static int wal_segment_read_head(const struct wal_segment *s, uint64_t lsn,
				 size_t n, struct buf *buf, struct err *err)
{
	if (!buf_reserve(buf, n - buf->len))
		return err_set(
			err, ERR_TOOBIG,
			"%s: the head of the record at offset %u has %zu bytes; at most %zu are allowed here",
			file_path(s->file), (uint32_t)lsn, n, buf_limit(buf));
	buf->len = n;
	return file_read(s->file, (uint32_t)lsn, buf->ptr, n, err);
}

int wal_segment_head(const struct wal_segment *s, uint64_t lsn, uint32_t len,
		     struct buf *buf, struct segment_profile *out,
		     struct err *err)
{
	struct record r = { 0 };
	size_t guess = buf->len < len ? buf->len : len;
	size_t want;
	int rc;

	buf_reset(buf);
	rc = wal_segment_read_head(
		s, lsn, guess > RECORD_HEADER ? guess : RECORD_HEADER, buf,
		err);
	if (rc)
		return rc;
	/*
	 * The length is not verified yet. The limit keeps a damaged length from
	 * causing a huge allocation.
	 */
	want = record_head_len(buf->ptr);
	if (want > RECORD_HEAD_MAX) {
		rc = err_set(err, ERR_CORRUPT,
			     "the header of the record is damaged");
		return damaged_at(s, lsn, rc, err);
	}
	want += RECORD_HEADER;
	if (want > buf->len)
		rc = wal_segment_read_head(s, lsn, want, buf, err);
	buf->len = want;
	if (!rc)
		rc = record_decode_head(buf_bytes(buf), s->salt, lsn, &r, err);
	if (!rc)
		rc = segment_profile_decode(&r, out, err);
	return rc == ERR_CORRUPT ? damaged_at(s, lsn, rc, err) : rc;
}

/*
 * Find the segment that contains `lsn`; NULL if it has been removed. The search
 * begins with the newest segment, which most callers need.
 */
struct wal_segment *wal_find_locked(const struct wal *w, uint64_t lsn)
	REQUIRES(w->mu)
{
	for (size_t i = w->count; i--;) {
		if (w->segments[i]->number == lsn >> 32)
			return w->segments[i];
	}
	return NULL;
}

struct wal_segment *wal_segment(struct wal *w, uint64_t lsn)
{
	struct wal_segment *found;

	mutex_lock(&w->mu);
	found = wal_find_locked(w, lsn);
	if (found)
		atomic_fetch_add(&found->refs, 1);
	mutex_unlock(&w->mu);
	return found;
}

uint64_t wal_begin(struct wal *w)
{
	uint64_t lowest;

	mutex_lock(&w->mu);
	lowest = w->count && w->segments[0]->number < w->lowest ?
			 w->segments[0]->number :
			 w->lowest;
	mutex_unlock(&w->mu);
	return lowest == UINT64_MAX ? w->end : lowest << 32;
}

uint64_t wal_end(struct wal *w)
{
	uint64_t end;

	mutex_lock(&w->mu);
	end = w->end;
	mutex_unlock(&w->mu);
	return end;
}

void wal_note_kept(struct wal *w, uint64_t number)
{
	mutex_lock(&w->mu);
	if (number < w->lowest)
		w->lowest = number;
	mutex_unlock(&w->mu);
}
