/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/wal/wal_aside.h"
#include "tsdb/wal/wal_held.h"
#include "tsdb/wal/wal_log.h"
#include "tsdb/wal/wal_mark.h"
#include "tsdb/wal/wal_private.h"
#include "tsdb/wal/wal_replay.h"
#include "tsdb/wal/wal_segment.h"

/* Put the segments, which were opened from the last one on, in order. */
static void wal_reverse_segments(struct wal *w)
{
	for (size_t i = 0; i < w->count / 2; i++) {
		struct wal_segment *s = w->segments[i];

		w->segments[i] = w->segments[w->count - 1 - i];
		w->segments[w->count - 1 - i] = s;
	}
}

/*
 * Open every segment in the directory, in the order of names, and find the
 * highest number of a segment, also of those that were set aside: new segments
 * get higher ones, so that no LSN is used twice.
 */
static int list_segments(struct wal *w, uint64_t *highest, struct err *err)
{
	struct name_list l = { 0 };
	uint64_t aside = 0;
	uint64_t after = 0;
	uint32_t end = 0;
	int rc = fs_list(w->o.fs, w->dir, &l, err);

	/* A snapshot has no WAL, and so no segments. */
	if (rc == ERR_NOTFOUND && w->o.read_only)
		return 0;
	if (rc)
		return rc;
	for (size_t i = 0; i < l.count; i++) {
		uint64_t number = segment_number(l.names[i]);

		if (number > *highest)
			*highest = number;
		number = segment_aside_number(l.names[i]);
		if (number > aside)
			aside = number;
		if (wal_aside_is_unread(l.names[i]))
			wal_note_kept(w, number);
		wal_aside_note_name(w, l.names[i]);
	}
	/* From the last one on, because each says where the one before ends. */
	for (size_t i = l.count; i-- && !rc;) {
		uint64_t number = segment_number(l.names[i]);

		if (!number)
			continue;
		/* What it says is about the one directly before it. */
		if (number + 1 != after)
			end = 0;
		after = number;
		rc = segment_open(w, number, &end, err);
		/*
		 * A running server may remove a segment after this process has
		 * listed the directory.
		 */
		if (rc == ERR_NOTFOUND && w->o.read_only)
			rc = 0;
	}
	name_list_fini(&l);
	wal_reverse_segments(w);
	if (*highest < aside)
		*highest = aside;
	return rc;
}

/*
 * Remove segments whose removal was interrupted. Failures are only logged:
 * these files take space and are harmless otherwise.
 */
static int wal_clean(struct wal *w, struct err *err)
{
	struct name_list l = { 0 };
	int rc = fs_list(w->o.fs, w->dir, &l, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < l.count && !rc; i++) {
		CLEANUP(mem_freep) char *path = NULL;

		if (!strstr(l.names[i], ".deleting"))
			continue;
		path = mem_printf("%s/%s", w->dir, l.names[i]);
		if (fs_unlink(w->o.fs, path, err))
			log_event(
				w->o.log, LOG_WARN,
				"cannot remove a WAL segment that is no longer needed; the next start tries again",
				LOG_FIELDS(log_text("file", path),
					   log_err(err)));
	}
	name_list_fini(&l);
	return rc;
}

/* Read which profiles the log should have. False: there is no such file. */
static bool wal_read_numbers(struct wal *w)
{
	struct err err;
	int rc = wal_numbers_read(&w->found, w->o.fs, w->dir, &err);

	if (!rc)
		return true;
	w->found = (struct wal_numbers){ .begin = { .number = 0 } };
	if (rc == ERR_NOTFOUND)
		return false;
	log_event(
		w->o.log, LOG_WARN,
		"cannot read the file wal/numbers, which says where the WAL should begin and end; this start does not notice if profiles are missing at the beginning or the end of the WAL",
		LOG_FIELDS(log_err(&err)));
	return true;
}

/* Warn that nothing says which profiles a log should have that is not new. */
static void wal_report_no_numbers(const struct wal *w)
{
	log_event(
		w->o.log, LOG_WARN,
		"the file wal/numbers is missing; if segments of the WAL were removed, too, everprof cannot tell how many profiles are lost",
		LOG_FIELDS(log_text("dir", w->dir)));
}

#define COUNTER(...) METRIC_ROW(COUNTER, struct wal, __VA_ARGS__)

static const struct metric_row metric_rows[] = {
	COUNTER(corruptions, "everprof_tsdb_wal_corruptions_total",
		"Damaged parts found in WAL segments."),
	COUNTER(missing, "everprof_tsdb_wal_profiles_missing_total",
		"Profiles that the WAL lacked when it was read at startup; lost, unless they were flushed or sent before."),
	COUNTER(syncs, "everprof_tsdb_wal_fsyncs_total",
		"Calls of fdatasync for WAL segments."),
	COUNTER(sync_failures, "everprof_tsdb_wal_fsync_failures_total",
		"Calls of fdatasync for WAL segments that failed."),
};

int wal_open(const struct wal_options *o, struct wal **out, struct err *err)
{
	struct wal *w = mem_new(struct wal);
	uint64_t highest = 0;
	bool has_numbers = false;
	int rc = 0;

	w->o = *o;
	w->dir = mem_strdup(o->dir);
	w->lowest = UINT64_MAX;
	w->next_number = 1;
	w->gap.after_ms = INT64_MIN;
	mutex_init(&w->mu);
	mutex_init(&w->unread_mu);
	mutex_init(&w->numbers_mu);
	clock_cond_init(&w->synced);
	wal_log_init(w);
	metrics_register(o->metrics, metric_rows, ARRAY_SIZE(metric_rows), w);
	if (!o->read_only) {
		rc = fs_add_dir(o->fs, o->dir, err);
		if (!rc)
			rc = wal_clean(w, err);
	}
	/* A running server may write on, so before the segments are opened. */
	if (!rc)
		has_numbers = wal_read_numbers(w);
	if (!rc)
		wal_key_load(&w->key, o->fs, w->dir, o->read_only, o->log);
	if (!rc)
		rc = list_segments(w, &highest, err);
	if (!rc)
		rc = wal_held_open(w, &highest, err);
	w->next = highest + 1;
	if (!rc && !has_numbers && !o->read_only && (highest || o->was_used))
		wal_report_no_numbers(w);
	if (rc)
		wal_close(w);
	else
		*out = w;
	return rc;
}

/* Whether the current segment accepts no more writes. */
static bool current_failed(struct wal *w)
{
	bool failed;

	mutex_lock(&w->mu);
	failed = w->current->failed;
	mutex_unlock(&w->mu);
	return failed;
}

/* Whether the next record goes to a new segment; see wal_append(). */
static bool current_is_done(struct wal *w)
{
	bool done;

	mutex_lock(&w->mu);
	done = w->current->failed || w->current->unread;
	mutex_unlock(&w->mu);
	return done;
}

/*
 * Seal the current segment at a clean stop, so that the next startup reads the
 * segment's directory instead of all its records (docs/decisions.md, 27).
 */
static void close_current(struct wal *w)
{
	/*
	 * Callers that needed durability have called wal_sync() and got the
	 * error. If the sync fails, no directory may be written
	 * (docs/decisions.md, 55).
	 */
	if (wal_sync(w, w->end, NULL) || current_failed(w))
		return;
	wal_write_directory(w, w->current, &w->directory, (uint32_t)w->end);
	/* The next startup scans the segment instead. */
	(void)!file_sync(w->current->file, NULL);
	wal_numbers_stop(w);
}

void wal_close(struct wal *w)
{
	if (!w)
		return;
	if (w->current)
		close_current(w);
	/* The next start reads these segments again. */
	(void)!wal_mark_settle(w, NULL);
	vec_fini(&w->unmarked);
	vec_fini(&w->asides);
	for (size_t i = 0; i < w->count; i++)
		wal_segment_unref(w->segments[i]);
	mem_free(w->segments);
	wal_held_close(w);
	file_close(w->numbers_file);
	segment_dir_fini(&w->directory);
	buf_fini(&w->scratch);
	pthread_cond_destroy(&w->synced);
	mutex_destroy(&w->mu);
	mutex_destroy(&w->unread_mu);
	mutex_destroy(&w->numbers_mu);
	mem_free(w->dir);
	mem_free(w);
}

/*
 * Sync a segment on behalf of all waiting threads. The caller holds the mutex,
 * which is released during the sync. A failed sync is not repeated
 * (docs/decisions.md, 7): the kernel may have dropped the pages that it could
 * not write, and a second sync would report success.
 */
static int sync_segment_locked(struct wal *w, struct wal_segment *s,
			       uint64_t end, struct err *err) REQUIRES(w->mu)
{
	const struct wal_tail tail = w->tail;
	int rc;

	w->syncing = true;
	atomic_fetch_add(&s->refs, 1);
	mutex_unlock(&w->mu);
	rc = file_sync(s->file, err);
	metric_add(rc ? w->sync_failures : w->syncs, 1);
	/* Of an older segment, nothing is known about the records behind it. */
	if (!rc && tail.segment == s->number)
		wal_numbers_note(w, &tail);
	mutex_lock(&w->mu);
	w->syncing = false;
	if (rc)
		s->failed = true;
	else if (end > s->durable)
		s->durable = end;
	pthread_cond_broadcast(&w->synced);
	wal_segment_unref(s);
	return rc;
}

/*
 * Append s to the list of segments, and make s the current segment, which takes
 * appends. The list takes over the caller's reference.
 */
static void wal_begin_segment(struct wal *w, struct wal_segment *s)
{
	mutex_lock(&w->mu);
	segment_push(w, s);
	w->current = s;
	w->end = s->number << 32 | FILE_HEADER;
	w->tail.segment = s->number;
	w->tail.first = 0;
	w->tail.next = w->next_number;
	mutex_unlock(&w->mu);
}

/*
 * The new segment is created first, so that nothing changes if the disk has no
 * room for it.
 */
int wal_roll(struct wal *w, struct err *err)
{
	struct wal_segment *old = w->current;
	struct wal_segment *s = NULL;
	uint64_t end = w->end;
	struct err why;
	int rc = segment_create(w, old->number + 1, (uint32_t)end, &s, err);

	if (rc)
		return rc;
	assert(s);
	mutex_lock(&w->mu);
	while (w->syncing)
		mutex_wait(&w->mu, &w->synced);
	if (!old->failed && sync_segment_locked(w, old, end, &why))
		wal_segment_report_unsynced(w, &why);
	mutex_unlock(&w->mu);
	if (!current_failed(w))
		wal_write_directory(w, old, &w->directory, (uint32_t)end);
	segment_dir_fini(&w->directory);
	wal_begin_segment(w, s);
	return 0;
}

/*
 * Write b at the end of the current segment. After a failed write the partial
 * record is cut off; if this fails too, no more records are appended to the
 * segment.
 */
static int write_end(struct wal *w, struct bytes b, struct err *err)
{
	struct wal_segment *s = w->current;
	uint64_t at = (uint32_t)w->end;
	int rc = file_write(s->file, at, b, err);

	if (rc && file_truncate(s->file, at, NULL)) {
		mutex_lock(&w->mu);
		s->failed = true;
		mutex_unlock(&w->mu);
	}
	return rc;
}

/*
 * Begin a new segment if there is none, if the current one has failed or could
 * not be read, has the configured size, or would get an offset of more than 32
 * bits. A profile larger than a segment gets a segment of its own.
 */
static int wal_make_current(struct wal *w, size_t body_len, struct err *err)
{
	uint64_t offset = (uint32_t)w->end;
	int rc = 0;

	if (!w->current)
		rc = wal_replay_begin(w, err);
	else if (current_is_done(w) ||
		 (offset > FILE_HEADER &&
		  offset + body_len > w->o.segment_size) ||
		 offset + body_len + RECORD_HEAD_MAX > OFFSET_MAX)
		rc = wal_roll(w, err);
	/* Callers would take ERR_EXISTS for a conflicting profile. */
	return rc == ERR_EXISTS ?
		       err_wrap(err, ERR_IO, "cannot create a WAL segment") :
		       rc;
}

/* Write a record of a kind; its bytes are then in w->scratch. */
static int wal_append_record(struct wal *w, const struct sample *s,
			     uint8_t kind, struct err *err)
{
	int rc = wal_make_current(w, s->body.len, err);
	struct segment_place at = { .kind = kind, .number = w->next_number };

	if (rc)
		return rc;
	at.lsn = w->end;
	at.salt = w->current->salt;
	buf_reset(&w->scratch);
	rc = segment_profile_encode(s, &at, &w->scratch, err);
	if (!rc)
		rc = write_end(w, buf_bytes(&w->scratch), err);
	if (!rc)
		segment_dir_number(&w->directory, w->next_number);
	return rc;
}

/* Count the record in w->scratch, of a profile of a time, which was written. */
static void wal_advance(struct wal *w, int64_t ms)
{
	struct wal_segment *s = w->current;

	mutex_lock(&w->mu);
	if (!s->first) {
		s->first = w->next_number;
		s->first_ms = ms;
	}
	w->next_number++;
	w->end += w->scratch.len;
	w->tail = (struct wal_tail){ .segment = s->number,
				     .first = s->first,
				     .next = w->next_number,
				     .last_ms = ms };
	s->size = (uint32_t)w->end;
	mutex_unlock(&w->mu);
	/* Free the buffer only if a very large profile made it grow. */
	if (w->scratch.cap > MIB)
		buf_fini(&w->scratch);
}

int wal_append(struct wal *w, const struct sample *s,
	       struct segment_entry *entry, struct err *err)
{
	int rc = wal_append_record(w, s, SEGMENT_PROFILE, err);

	if (rc)
		return rc;
	*entry = (struct segment_entry){
		.lsn = w->end,
		.len = (uint32_t)w->scratch.len,
		.raw_len = s->raw_len,
		.ms = s->ms,
		.hash = s->hash,
		.labels = labels_bytes(s->labels),
		.typeset = s->typeset,
	};
	segment_dir_add(&w->directory, entry);
	wal_advance(w, s->ms);
	return 0;
}

int wal_append_resend(struct wal *w, const struct sample *s, struct err *err)
{
	int rc = wal_append_record(w, s, SEGMENT_RESEND, err);

	if (!rc)
		wal_advance(w, s->ms);
	return rc;
}

static int wal_tell_failed(const struct wal_segment *s, struct err *err)
{
	return err_set(
		err, ERR_IO,
		"%s: an earlier write or sync of this WAL segment failed; until its profiles are flushed or sent, a crash of the machine may lose them",
		file_path(s->file));
}

int wal_sync(struct wal *w, uint64_t lsn, struct err *err)
{
	int rc = 0;

	mutex_lock(&w->mu);
	while (!rc) {
		struct wal_segment *s = wal_find_locked(w, lsn);

		/*
		 * No segment: it was removed after its profiles had been
		 * flushed.
		 */
		if (!s || lsn <= s->durable)
			break;
		if (s->failed)
			rc = wal_tell_failed(s, err);
		else if (w->syncing)
			mutex_wait(&w->mu, &w->synced);
		else
			rc = sync_segment_locked(w, s, w->end, err);
	}
	mutex_unlock(&w->mu);
	return rc;
}

int wal_sync_range(struct wal *w, uint64_t from, uint64_t lsn, struct err *err)
{
	int rc = wal_sync(w, lsn, err);

	/* Each segment was synced, or failed, before the next one began. */
	mutex_lock(&w->mu);
	for (size_t i = 0; i < w->count && !rc; i++) {
		const struct wal_segment *s = w->segments[i];

		if (s->number >= from >> 32 && s->number < lsn >> 32 &&
		    s->failed && s->durable < (s->number << 32 | s->size))
			rc = wal_tell_failed(s, err);
	}
	mutex_unlock(&w->mu);
	return rc;
}

bool wal_may_be_lost(struct wal *w, uint64_t lsn)
{
	struct wal_segment *s;
	bool lost;

	mutex_lock(&w->mu);
	s = wal_find_locked(w, lsn);
	lost = s && s->failed && lsn >= s->durable;
	mutex_unlock(&w->mu);
	return lost;
}

uint64_t wal_corruptions(const struct wal *w)
{
	return (uint64_t)metric_get(w->corruptions);
}

uint64_t wal_bytes(struct wal *w)
{
	uint64_t sum = 0;

	mutex_lock(&w->mu);
	for (size_t i = 0; i < w->count; i++)
		sum += w->segments[i]->size;
	mutex_unlock(&w->mu);
	return sum;
}

/*
 * Set the size of a segment under the lock, because other threads read the size
 * in wal_bytes().
 */
static void set_size(struct wal *w, struct wal_segment *s, uint64_t size)
{
	mutex_lock(&w->mu);
	s->size = size;
	mutex_unlock(&w->mu);
}

/*
 * Cut off a directory that could not be written completely, and mark the
 * segment, so that it is flushed soon and the next startup need not scan it.
 */
static void leave_unsealed(struct wal *w, struct wal_segment *s, uint64_t end,
			   const struct err *err)
{
	/* Harmless: the next startup cuts the directory off. */
	(void)!file_truncate(s->file, end, NULL);
	mutex_lock(&w->mu);
	s->unsealed = true;
	mutex_unlock(&w->mu);
	log_event(
		w->o.log, LOG_WARN,
		"cannot write the list of profiles at the end of a WAL segment; no profile is lost, but the next start has to read the whole segment unless it is flushed or sent before",
		LOG_FIELDS(log_text("file", file_path(s->file)), log_err(err)));
}

void wal_write_directory(struct wal *w, struct wal_segment *s,
			 const struct segment_dir *directory, uint64_t end)
{
	struct buf out = { 0 };
	struct err err;
	int rc = 0;

	segment_dir_encode(directory, s->salt, s->number << 32 | end, &out);
	if (s->size > end)
		rc = file_truncate(s->file, end, &err);
	if (!rc)
		rc = file_write(s->file, end, buf_bytes(&out), &err);
	if (!rc)
		set_size(w, s, end + out.len);
	else
		leave_unsealed(w, s, end, &err);
	buf_fini(&out);
}

int wal_replay_begin(struct wal *w, struct err *err)
{
	struct wal_segment *s = NULL;
	int rc = segment_create(w, w->next, w->replayed_end, &s, err);

	if (!rc && s)
		wal_begin_segment(w, s);
	return rc;
}
