/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal_numbers.h"

#include "base/dec.h"
#include "base/enc.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/io/record.h"
#include "tsdb/io/record_file.h"
#include "tsdb/wal/segment_format.h"
#include "tsdb/wal/wal_private.h"

#define NUMBERS_FILE  "numbers"
#define NUMBERS_BYTES 1024 /* maximum size of the file */

/* All fields have a fixed length, so that each state replaces the one before. */
static void wal_numbers_encode(const struct wal_numbers *n, struct buf *out)
{
	enc_be64(out, n->begin.segment);
	enc_be64(out, n->begin.number);
	enc_be64(out, (uint64_t)n->begin.ms);
	enc_be64(out, n->tail.segment);
	enc_be64(out, n->tail.first);
	enc_be64(out, n->tail.next);
	enc_be64(out, (uint64_t)n->tail.last_ms);
}

int wal_numbers_read(struct wal_numbers *out, struct fs *fs, const char *dir,
		     struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/" NUMBERS_FILE, dir);
	struct buf bytes = buf_init(NUMBERS_BYTES);
	struct bytes body = { 0 };
	int rc = record_file_read(fs, path, MAGIC_NUMBERS, &bytes, &body, err);

	if (!rc) {
		struct dec d = dec_init(body);

		out->begin.segment = dec_be64(&d);
		out->begin.number = dec_be64(&d);
		out->begin.ms = (int64_t)dec_be64(&d);
		out->tail.segment = dec_be64(&d);
		out->tail.first = dec_be64(&d);
		out->tail.next = dec_be64(&d);
		out->tail.last_ms = (int64_t)dec_be64(&d);
		if (d.bad || dec_left(&d))
			rc = err_set(err, ERR_CORRUPT,
				     "%s: the file is malformed", path);
	}
	if (!rc) {
		struct file_header h = { 0 };

		rc = file_header_decode(buf_bytes(&bytes), MAGIC_NUMBERS, &h,
					err);
		out->salt = h.salt;
	}
	buf_fini(&bytes);
	return rc;
}

/* Close the file; it says no more than it did. */
static void wal_numbers_close(struct wal *w) REQUIRES(w->numbers_mu)
{
	file_close(w->numbers_file);
	w->numbers_file = NULL;
}

/* Append what was noted, as the file has it. */
static void wal_numbers_file_bytes(struct wal *w, struct buf *out)
	REQUIRES(w->numbers_mu)
{
	struct buf body = { 0 };

	wal_numbers_encode(&w->noted, &body);
	record_file_encode(MAGIC_NUMBERS, w->noted.salt, buf_bytes(&body), out);
	buf_fini(&body);
}

/* Make or replace the file, and open it. */
static int wal_numbers_make(struct wal *w, struct err *err)
	REQUIRES(w->numbers_mu)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/" NUMBERS_FILE, w->dir);
	CLEANUP(mem_freep) char *tmp = mem_printf("%s.tmp", path);
	struct buf bytes = { 0 };
	int rc = record_make_salt(&w->noted.salt, err);

	wal_numbers_file_bytes(w, &bytes);
	if (!rc)
		rc = file_replace(w->o.fs, tmp, path, buf_bytes(&bytes), err);
	if (!rc)
		rc = fs_sync_dir(w->o.fs, w->dir, err);
	if (!rc)
		rc = file_open(w->o.fs, path, FILE_WRITE, &w->numbers_file,
			       err);
	buf_fini(&bytes);
	return rc;
}

/* Write what was noted over what the file says. */
static int wal_numbers_write(struct wal *w, bool durably, struct err *err)
	REQUIRES(w->numbers_mu)
{
	struct buf bytes = { 0 };
	int rc;

	wal_numbers_file_bytes(w, &bytes);
	rc = file_write(w->numbers_file, 0, buf_bytes(&bytes), err);
	if (!rc && durably)
		rc = file_sync(w->numbers_file, err);
	buf_fini(&bytes);
	return rc;
}

/* The first profile behind a segment. */
static struct wal_begin wal_numbers_begin_locked(const struct wal *w,
						 uint64_t upto) REQUIRES(w->mu)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct wal_segment *s = w->segments[i];

		if (s->number > upto && s->first)
			return (struct wal_begin){ s->number, s->first,
						   s->first_ms };
	}
	return (struct wal_begin){ .segment = w->end >> 32,
				   .number = w->next_number };
}

/* Log that the next start may miss profiles without noticing it. */
static void wal_numbers_report(const struct wal *w, const struct err *err)
{
	log_event(
		w->o.log, LOG_WARN,
		"cannot note in the file wal/numbers where the WAL begins and ends; until that succeeds, a start may not notice that profiles are missing there",
		LOG_FIELDS(log_err(err)));
}

/* Remove the file, which says what is not true any more. */
static int wal_numbers_forget(struct wal *w, struct err *err)
	REQUIRES(w->numbers_mu)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/" NUMBERS_FILE, w->dir);
	int rc;

	wal_numbers_close(w);
	rc = fs_unlink(w->o.fs, path, err);
	/* The sync of an earlier removal may have failed. */
	if (!rc || rc == ERR_NOTFOUND)
		rc = fs_sync_dir(w->o.fs, w->dir, err);
	return rc;
}

/*
 * Whether a start may keep the file: what it says is true, though it may say less
 * than is noted. It says nothing if none was found. If something was missing, the
 * file must not say so again, or it would be counted twice.
 */
static bool wal_numbers_is_true(const struct wal *w) REQUIRES(w->numbers_mu)
{
	const struct wal_begin *found = &w->found.begin;
	const struct wal_begin *begin = &w->noted.begin;

	return !metric_get(w->missing) && found->number == begin->number &&
	       found->segment <= begin->segment &&
	       w->found.tail.next <= w->noted.tail.next;
}

/* Open the file that the start has found, and write what is noted over it. */
static int wal_numbers_keep(struct wal *w, struct err *err)
	REQUIRES(w->numbers_mu)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/" NUMBERS_FILE, w->dir);
	int rc = file_open(w->o.fs, path, FILE_WRITE, &w->numbers_file, err);

	w->noted.salt = w->found.salt;
	if (!rc)
		rc = wal_numbers_write(w, false, err);
	if (rc)
		wal_numbers_close(w);
	return rc;
}

void wal_numbers_start(struct wal *w)
{
	struct err err;
	bool is_kept;

	mutex_lock(&w->numbers_mu);
	mutex_lock(&w->mu);
	w->noted.begin = wal_numbers_begin_locked(w, 0);
	w->noted.tail = w->tail;
	mutex_unlock(&w->mu);
	is_kept = wal_numbers_is_true(w) && !wal_numbers_keep(w, NULL);
	if (!is_kept && wal_numbers_make(w, &err)) {
		wal_numbers_report(w, &err);
		if (wal_numbers_forget(w, &err))
			wal_numbers_report(w, &err);
	}
	mutex_unlock(&w->numbers_mu);
}

/* Note the tail, and write it. */
static void wal_numbers_put(struct wal *w, const struct wal_tail *tail,
			    bool durably)
{
	struct err err;
	bool is_next;
	int rc = 0;

	mutex_lock(&w->numbers_mu);
	is_next = tail->segment != w->noted.tail.segment;
	w->noted.tail = *tail;
	if (w->numbers_file)
		rc = wal_numbers_write(w, durably, &err);
	else if (is_next || durably)
		rc = wal_numbers_make(w, &err);
	if (rc) {
		wal_numbers_close(w);
		wal_numbers_report(w, &err);
	}
	mutex_unlock(&w->numbers_mu);
}

void wal_numbers_note(struct wal *w, const struct wal_tail *tail)
{
	wal_numbers_put(w, tail, false);
}

void wal_numbers_stop(struct wal *w)
{
	struct wal_tail tail;

	mutex_lock(&w->mu);
	tail = w->tail;
	mutex_unlock(&w->mu);
	wal_numbers_put(w, &tail, true);
}

int wal_numbers_drop(struct wal *w, uint64_t upto, struct err *err)
{
	struct wal_begin begin;
	int rc;

	mutex_lock(&w->numbers_mu);
	mutex_lock(&w->mu);
	begin = wal_numbers_begin_locked(w, upto);
	mutex_unlock(&w->mu);
	/* Another thread may drop more at the same time. */
	if (begin.number <= w->noted.begin.number && w->numbers_file) {
		mutex_unlock(&w->numbers_mu);
		return 0;
	}
	if (begin.number > w->noted.begin.number)
		w->noted.begin = begin;
	rc = w->numbers_file ? wal_numbers_write(w, true, err) :
			       wal_numbers_make(w, err);
	if (rc)
		wal_numbers_close(w);
	if (rc == ERR_NOSPACE) {
		wal_numbers_report(w, err);
		rc = wal_numbers_forget(w, err);
	}
	mutex_unlock(&w->numbers_mu);
	return rc;
}
