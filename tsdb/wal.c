/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tsdb/trash.h"
#include "tsdb/wal_key.h"

#define OFFSET_MAX UINT32_MAX

struct wal_segment {
	_Atomic uint32_t refs;
	uint64_t number;
	uint64_t salt;
	struct file *file;
	uint64_t size;
	uint64_t durable; /* LSN before which it is */
	bool failed;      /* a sync or cleanup failed: leave it, and flush it */
	bool guessed;     /* its header cannot be read: the salt is the key's */
	bool unread;      /* stretches of it: it is set aside, not removed */
	bool unsealed;    /* its directory could not be written: flush it */
};

struct wal {
	struct wal_options o;
	char *dir;
	struct wal_key key; /* of the salts */
	uint64_t lowest;    /* segment that was left alone; UINT64_MAX: none */
	struct metric *corruptions;
	struct metric *syncs;
	struct metric *sync_failures;

	/*
	 * The appender's. The current segment is the last of the list; only
	 * the appender changes it, with mu held.
	 */
	struct wal_segment *current; /* NULL: none could be begun yet */
	uint64_t next; /* number of the first segment of this start */
	struct segment_dir directory;
	struct buf scratch;

	pthread_mutex_t mu;
	pthread_cond_t synced;
	struct wal_segment **segments; /* oldest first */
	size_t count;
	size_t cap;
	uint64_t end; /* LSN behind the last record */
	bool syncing; /* one at a time: a failure is told to one alone */
};

static char *segment_path(const struct wal *w, uint64_t number,
			  const char *suffix)
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

static void push_segment(struct wal *w, struct wal_segment *s)
{
	w->segments = mem_grow(w->segments, w->count, &w->cap,
			       sizeof(struct wal_segment *));
	w->segments[w->count++] = s;
}

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

/* Make the file of a new segment, durable with its name. */
static int segment_create(struct wal *w, uint64_t number,
			  struct wal_segment **out, struct err *err)
{
	struct file_header h = { .magic = MAGIC_SEGMENT, .number = number };
	CLEANUP(mem_freep) char *path = segment_path(w, number, "");
	struct buf header = { 0 };
	struct file *f;
	int rc;

	if (wal_key_salt(&w->key, number, &h.salt, err))
		return err->code;
	rc = file_open(w->o.fs, path, FILE_CREATE, &f, err);
	/* Left by an earlier try that could not be undone: it holds nothing. */
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
		if (fs_unlink(w->o.fs, path, NULL)) {
			/* An empty segment is removed at the next start. */
		}
		return rc;
	}
	*out = segment_new(number, h.salt, f, FILE_HEADER);
	return 0;
}

/* A file that never got its header: a start that was cut short. */
static int drop_stillborn(struct wal *w, struct file *f, uint64_t size,
			  struct err *err)
{
	if (size < FILE_HEADER)
		log_event(w->o.log, LOG_WARN,
			  "removing a WAL segment never begun",
			  LOG_FIELDS(log_text("file", file_path(f)),
				     log_int("size", (int64_t)size)));
	return w->o.read_only ? 0 : fs_unlink(w->o.fs, file_path(f), err);
}

/* It stays where it is, out of the list, so that it is never dropped. */
static void tell_left_alone(struct wal *w, uint64_t number, const char *path,
			    const struct err *err)
{
	if (number < w->lowest)
		w->lowest = number;
	metric_add(w->corruptions, 1);
	log_event(w->o.log, LOG_ERROR,
		  "WAL segment is unreadable and left alone",
		  LOG_FIELDS(log_text("file", path), log_err(err)));
}

/*
 * The header of a segment. One that the disk does not give back, or that is
 * damaged, is made up: whether records agree with it, replay finds out.
 */
static int read_header(struct wal *w, const struct file *f, uint64_t number,
		       struct wal_segment *s, struct err *err)
{
	uint8_t first[FILE_HEADER];
	struct bytes b = { .ptr = first, .len = sizeof(first) };
	struct file_header h = { 0 };
	int rc = file_read(f, 0, first, sizeof(first), err);

	if (!rc)
		rc = file_header_decode(b, MAGIC_SEGMENT, &h, err);
	s->salt = h.salt;
	if ((rc != ERR_CORRUPT && rc != ERR_IO) || !w->key.known)
		return rc;
	s->guessed = true;
	return wal_key_salt(&w->key, number, &s->salt, err);
}

static int segment_open(struct wal *w, uint64_t number, struct err *err)
{
	CLEANUP(mem_freep) char *path = segment_path(w, number, "");
	CLEANUP(file_closep) struct file *f = NULL;
	struct wal_segment *s;
	uint64_t size = 0;
	int rc;

	rc = file_open(w->o.fs, path, w->o.read_only ? FILE_READ : FILE_WRITE,
		       &f, err);
	if (!rc)
		rc = file_size(f, &size, err);
	/* Also one that has a header and nothing else. */
	if (!rc && size <= FILE_HEADER)
		return drop_stillborn(w, f, size, err);
	s = segment_new(number, 0, NULL, size);
	if (!rc)
		rc = read_header(w, f, number, s, err);
	s->file = TAKE(f);
	if (!rc) {
		push_segment(w, s);
		return 0;
	}
	wal_segment_unref(s);
	if (rc != ERR_CORRUPT && rc != ERR_IO)
		return err_wrap(err, rc, "%s", path);
	/* Its records cannot be told from garbage. */
	tell_left_alone(w, number, path, err);
	return 0;
}

/* A segment's number, 0 for other names. */
static uint64_t number_of(const char *name)
{
	char *end;
	unsigned long long n = strtoull(name, &end, 10);

	return strlen(name) >= 8 && !*end ? n : 0;
}

static int list_segments(struct wal *w, uint64_t *highest, struct err *err)
{
	struct name_list l = { 0 };
	int rc = fs_list(w->o.fs, w->dir, &l, err);

	/* A snapshot has none. */
	if (rc == ERR_NOTFOUND && w->o.read_only)
		return 0;
	if (rc)
		return rc;
	for (size_t i = 0; i < l.count && !rc; i++) {
		uint64_t number = number_of(l.names[i]);

		if (number > *highest)
			*highest = number;
		if (number)
			rc = segment_open(w, number, err);
		/* Removed by the server beside us while we listed: read on. */
		if (rc == ERR_NOTFOUND && w->o.read_only)
			rc = 0;
	}
	name_list_fini(&l);
	return rc;
}

/* Remove what a removal cut short left behind: harmless while it is there. */
static int clean(struct wal *w, struct err *err)
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
			log_event(w->o.log, LOG_WARN, "it stays for now",
				  LOG_FIELDS(log_text("file", path),
					     log_err(err)));
	}
	name_list_fini(&l);
	return rc;
}

static void register_metrics(struct wal *w, struct metrics *m)
{
	w->corruptions = metrics_counter(
		m, "everprof_tsdb_wal_corruptions_total",
		"Damaged stretches found in WAL segments.", NULL);
	w->syncs = metrics_counter(m, "everprof_tsdb_wal_fsyncs_total",
				   "WAL syncs.", NULL);
	w->sync_failures =
		metrics_counter(m, "everprof_tsdb_wal_fsync_failures_total",
				"WAL syncs that the disk refused.", NULL);
}

int wal_open(const struct wal_options *o, struct wal **out, struct err *err)
{
	struct wal *w = mem_new(struct wal);
	uint64_t highest = 0;
	int rc = 0;

	w->o = *o;
	w->dir = mem_strdup(o->dir);
	w->lowest = UINT64_MAX;
	pthread_mutex_init(&w->mu, NULL);
	pthread_cond_init(&w->synced, NULL);
	register_metrics(w, o->metrics);
	if (!o->read_only) {
		rc = fs_mkdir(o->fs, o->dir, err);
		if (rc == ERR_EXISTS)
			rc = 0;
		if (!rc)
			rc = clean(w, err);
	}
	if (!rc)
		wal_key_load(&w->key, o->fs, w->dir, o->read_only, o->log);
	if (!rc)
		rc = list_segments(w, &highest, err);
	w->next = highest + 1;
	if (rc)
		wal_close(w);
	else
		*out = w;
	return rc;
}

/* What a scan or a directory gives, on its way to the caller. */
struct replay {
	struct wal *w;
	struct wal_segment *segment;
	segment_entry_fn fn;
	void *ctx;
	struct segment_dir directory;
};

static void damaged(void *ctx, uint64_t offset, uint64_t len, bool torn)
{
	struct replay *r = ctx;

	metric_add(torn ? r->w->o.torn : r->w->corruptions, 1);
	log_event(
		r->w->o.log, LOG_WARN,
		torn ? "torn end of WAL segment (beside a running server: not written yet)" :
		       "damaged record in WAL segment",
		LOG_FIELDS(log_text("file", file_path(r->segment->file)),
			   log_int("offset", (int64_t)offset),
			   log_int("bytes", (int64_t)len)));
}

static void scan_record(struct replay *r, const struct record *rec)
{
	struct segment_profile p = { 0 };

	if (rec->kind != SEGMENT_PROFILE)
		return;
	if (!rec->body_ok || segment_profile_decode(rec, &p, NULL)) {
		damaged(r, (uint32_t)rec->position, rec->len, false);
		return;
	}
	segment_dir_add(&r->directory, &p.entry);
	r->fn(r->ctx, &p.entry);
}

/* A stretch that the disk does not give back. */
static void unread(void *ctx, uint64_t offset, uint64_t len)
{
	struct replay *r = ctx;

	r->segment->unread = true;
	metric_add(r->w->corruptions, 1);
	log_event(r->w->o.log, LOG_ERROR,
		  "the disk does not give back a stretch of a WAL segment",
		  LOG_FIELDS(log_text("file", file_path(r->segment->file)),
			     log_int("offset", (int64_t)offset),
			     log_int("bytes", (int64_t)len)));
}

static struct record_iter iter_of(const struct wal_segment *s,
				  struct bytes bytes)
{
	return (struct record_iter){ .file = bytes,
				     .salt = s->salt,
				     .base = s->number << 32,
				     .offset = FILE_HEADER,
				     .end = FILE_HEADER };
}

static void note_damage(void *ctx, uint64_t offset UNUSED, uint64_t len UNUSED,
			bool torn UNUSED)
{
	*(bool *)ctx = true;
}

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

/* Read it all, and once more if it is damaged: memory may be wrong, too. */
static int read_segment(struct replay *r, struct buf *bytes, struct err *err)
{
	int rc = file_read_around(r->segment->file, bytes, unread, r, err);

	if (rc || r->segment->unread ||
	    !has_damage(r->segment, buf_bytes(bytes)))
		return rc;
	buf_reset(bytes);
	return file_read_around(r->segment->file, bytes, unread, r, err);
}

/* Go through the records one by one; *end is where the last whole one ends. */
static int scan(struct replay *r, uint64_t *end, struct err *err)
{
	struct buf bytes = { 0 };
	struct record_iter it;
	struct record rec = { 0 };
	int rc = read_segment(r, &bytes, err);

	it = iter_of(r->segment, buf_bytes(&bytes));
	it.damaged = damaged;
	it.ctx = r;
	while (!rc && record_next(&it, &rec)) {
		/* A directory is no profile: cut it and write a new one. */
		if (rec.kind == SEGMENT_DIRECTORY)
			break;
		*end = it.end;
		scan_record(r, &rec);
	}
	buf_fini(&bytes);
	if (!rc && r->segment->guessed && *end == FILE_HEADER)
		rc = err_set(err, ERR_CORRUPT,
			     "its header is damaged, and so are its records");
	return rc;
}

/* Read the directory. ERR_CORRUPT: there is none, or it is damaged. */
static int replay_directory(struct replay *r, struct err *err)
{
	struct wal_segment *s = r->segment;
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
		return err_set(err, ERR_CORRUPT, "no directory");
	bytes.len = (size_t)(s->size - sizeof(footer) - at);
	bytes.ptr = mem_alloc(bytes.len);
	rc = file_read(s->file, at, bytes.ptr, bytes.len, err);
	if (!rc)
		rc = record_decode(buf_bytes(&bytes), s->salt,
				   s->number << 32 | at, true, &rec, err);
	if (!rc && (rec.kind != SEGMENT_DIRECTORY || !rec.body_ok))
		rc = err_set(err, ERR_CORRUPT, "the directory is damaged");
	if (!rc)
		rc = segment_dir_decode(rec.body, s->number, r->fn, r->ctx,
					err);
	buf_fini(&bytes);
	return rc;
}

static void set_size(struct wal *w, struct wal_segment *s, uint64_t size)
{
	pthread_mutex_lock(&w->mu);
	s->size = size;
	pthread_mutex_unlock(&w->mu);
}

/* What was written of the directory goes; the segment is flushed soon. */
static void leave_unsealed(struct wal *w, struct wal_segment *s, uint64_t end,
			   const struct err *err)
{
	if (file_truncate(s->file, end, NULL)) {
		/* The next start cuts it. */
	}
	pthread_mutex_lock(&w->mu);
	s->unsealed = true;
	pthread_mutex_unlock(&w->mu);
	log_event(
		w->o.log, LOG_WARN, "WAL segment could not be sealed",
		LOG_FIELDS(log_text("file", file_path(s->file)), log_err(err)));
}

/*
 * Write a segment's directory behind its records, which are durable: a start
 * believes it, and it must not outlive what it lists. Not synced: without it
 * the segment is only scanned at the next start, and a failure is told, no
 * more.
 */
static void write_directory(struct wal *w, struct wal_segment *s,
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

/* What a start found whole is durable from now on, or may never be. */
static void sync_replayed(struct wal *w, struct wal_segment *s)
{
	struct err err;

	if (!file_sync(s->file, &err))
		return;
	s->failed = true;
	s->durable = s->number << 32 | FILE_HEADER;
	log_event(w->o.log, LOG_ERROR, "WAL sync failed",
		  LOG_FIELDS(log_err(&err)));
}

static int replay_segment(struct replay *r, struct err *err)
{
	struct wal *w = r->w;
	uint64_t end = FILE_HEADER;
	int rc = replay_directory(r, err);

	if (!rc)
		return 0;
	rc = scan(r, &end, err);
	if (!rc && !w->o.read_only) {
		sync_replayed(w, r->segment);
		/* What could not be read must not be cut off. */
		if (!r->segment->failed && !r->segment->unread)
			write_directory(w, r->segment, &r->directory, end);
	}
	segment_dir_fini(&r->directory);
	return rc;
}

/* Put a segment at the end of the list, to be appended to. */
static void make_current(struct wal *w, struct wal_segment *s)
{
	pthread_mutex_lock(&w->mu);
	push_segment(w, s);
	w->current = s;
	w->end = s->number << 32 | FILE_HEADER;
	pthread_mutex_unlock(&w->mu);
}

/* The first segment of this start. Without room for it, appends try again. */
static int begin(struct wal *w, struct err *err)
{
	struct wal_segment *s = NULL;
	int rc = segment_create(w, w->next, &s, err);

	if (!rc && s)
		make_current(w, s);
	return rc;
}

/* A segment of which nobody has heard a record goes out of the list. */
static void leave_alone(struct wal *w, size_t i, const struct err *err)
{
	struct wal_segment *s = w->segments[i];

	tell_left_alone(w, s->number, file_path(s->file), err);
	w->count--;
	memmove(w->segments + i, w->segments + i + 1,
		(w->count - i) * sizeof(struct wal_segment *));
	wal_segment_unref(s);
}

int wal_replay(struct wal *w, uint64_t floor, segment_entry_fn fn, void *ctx,
	       struct err *err)
{
	for (size_t i = 0; i < w->count;) {
		struct replay r = {
			.w = w, .segment = w->segments[i], .fn = fn, .ctx = ctx
		};

		if (replay_segment(&r, err))
			leave_alone(w, i, err);
		else
			i++;
	}
	if (w->next <= floor)
		w->next = floor + 1;
	w->end = w->next << 32;
	if (!w->o.read_only && begin(w, err))
		log_event(
			w->o.log, LOG_ERROR,
			"no WAL segment could be begun: nothing is stored until that works",
			LOG_FIELDS(log_err(err)));
	return 0;
}

static bool current_failed(struct wal *w)
{
	bool failed;

	pthread_mutex_lock(&w->mu);
	failed = w->current->failed;
	pthread_mutex_unlock(&w->mu);
	return failed;
}

/* With a directory, so that a start reads that and no more. */
static void close_current(struct wal *w)
{
	/* Who needed it durable has asked, and has been told if it is not. */
	if (wal_sync(w, w->end, NULL) || current_failed(w))
		return;
	write_directory(w, w->current, &w->directory, (uint32_t)w->end);
	if (file_sync(w->current->file, NULL)) {
		/* The next start scans it. */
	}
}

void wal_close(struct wal *w)
{
	if (!w)
		return;
	if (w->current)
		close_current(w);
	for (size_t i = 0; i < w->count; i++)
		wal_segment_unref(w->segments[i]);
	mem_free(w->segments);
	segment_dir_fini(&w->directory);
	buf_fini(&w->scratch);
	pthread_cond_destroy(&w->synced);
	pthread_mutex_destroy(&w->mu);
	mem_free(w->dir);
	mem_free(w);
}

/*
 * Sync a segment for everybody, with mu held and let go meanwhile. A failed
 * sync is final: what it held may be gone, and a second try would lie.
 */
static int sync_segment_locked(struct wal *w, struct wal_segment *s,
			       uint64_t end, struct err *err)
{
	int rc;

	w->syncing = true;
	atomic_fetch_add(&s->refs, 1);
	pthread_mutex_unlock(&w->mu);
	rc = file_sync(s->file, err);
	metric_add(rc ? w->sync_failures : w->syncs, 1);
	pthread_mutex_lock(&w->mu);
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
 * Begin a new segment and seal the old one. The new one comes first: without
 * room for it nothing has changed.
 */
static int roll(struct wal *w, struct err *err)
{
	struct wal_segment *old = w->current;
	struct wal_segment *s = NULL;
	uint64_t end = w->end;
	struct err why;
	int rc = segment_create(w, old->number + 1, &s, err);

	if (rc)
		return rc;
	assert(s);
	pthread_mutex_lock(&w->mu);
	while (w->syncing)
		pthread_cond_wait(&w->synced, &w->mu);
	if (!old->failed && sync_segment_locked(w, old, end, &why))
		log_event(w->o.log, LOG_ERROR, "WAL sync failed",
			  LOG_FIELDS(log_err(&why)));
	pthread_mutex_unlock(&w->mu);
	if (!current_failed(w))
		write_directory(w, old, &w->directory, (uint32_t)end);
	segment_dir_fini(&w->directory);
	make_current(w, s);
	return 0;
}

/* Write at the end; what a failure left is cut away. */
static int write_end(struct wal *w, struct bytes b, struct err *err)
{
	struct wal_segment *s = w->current;
	uint64_t at = (uint32_t)w->end;
	int rc = file_write(s->file, at, b, err);

	if (rc && file_truncate(s->file, at, NULL)) {
		pthread_mutex_lock(&w->mu);
		s->failed = true;
		pthread_mutex_unlock(&w->mu);
	}
	return rc;
}

int wal_append(struct wal *w, const struct sample *s,
	       struct segment_entry *entry, struct err *err)
{
	uint64_t offset = (uint32_t)w->end;
	struct wal_segment *seg;
	int rc = 0;

	if (!w->current)
		rc = begin(w, err);
	else if (current_failed(w) ||
		 (offset > FILE_HEADER &&
		  offset + s->body.len > w->o.segment_size) ||
		 offset + s->body.len + RECORD_HEAD_MAX > OFFSET_MAX)
		rc = roll(w, err);
	if (rc)
		return rc;
	seg = w->current;
	assert(seg);
	buf_reset(&w->scratch);
	rc = segment_profile_encode(s, seg->salt, w->end, &w->scratch, err);
	if (!rc)
		rc = write_end(w, buf_bytes(&w->scratch), err);
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
	pthread_mutex_lock(&w->mu);
	w->end += w->scratch.len;
	seg->size = (uint32_t)w->end;
	pthread_mutex_unlock(&w->mu);
	/* Keep the scratch of ordinary profiles, not of a giant one. */
	if (w->scratch.cap > MIB)
		buf_fini(&w->scratch);
	return 0;
}

uint64_t wal_end(struct wal *w)
{
	uint64_t end;

	pthread_mutex_lock(&w->mu);
	end = w->end;
	pthread_mutex_unlock(&w->mu);
	return end;
}

static struct wal_segment *find_locked(const struct wal *w, uint64_t lsn)
{
	for (size_t i = w->count; i--;) {
		if (w->segments[i]->number == lsn >> 32)
			return w->segments[i];
	}
	return NULL;
}

int wal_sync(struct wal *w, uint64_t lsn, struct err *err)
{
	int rc = 0;

	pthread_mutex_lock(&w->mu);
	while (!rc) {
		struct wal_segment *s = find_locked(w, lsn);

		/* One that is gone has been flushed before. */
		if (!s || lsn <= s->durable)
			break;
		if (s->failed)
			rc = err_set(err, ERR_IO, "the WAL's disk failed: %s",
				     file_path(s->file));
		else if (w->syncing)
			pthread_cond_wait(&w->synced, &w->mu);
		else
			rc = sync_segment_locked(w, s, w->end, err);
	}
	pthread_mutex_unlock(&w->mu);
	return rc;
}

bool wal_may_be_lost(struct wal *w, uint64_t lsn)
{
	struct wal_segment *s;
	bool lost;

	pthread_mutex_lock(&w->mu);
	s = find_locked(w, lsn);
	lost = s && s->failed && lsn >= s->durable;
	pthread_mutex_unlock(&w->mu);
	return lost;
}

struct wal_segment *wal_segment(struct wal *w, uint64_t lsn)
{
	struct wal_segment *found;

	pthread_mutex_lock(&w->mu);
	found = find_locked(w, lsn);
	if (found)
		atomic_fetch_add(&found->refs, 1);
	pthread_mutex_unlock(&w->mu);
	return found;
}

static int damaged_at(const struct wal_segment *s, uint64_t lsn, int rc,
		      struct err *err)
{
	return err_wrap(err, rc, "%s is damaged at %u", file_path(s->file),
			(uint32_t)lsn);
}

int wal_segment_read(const struct wal_segment *s, uint64_t lsn, uint32_t len,
		     struct buf *buf, struct segment_profile *out,
		     struct err *err)
{
	struct record r = { 0 };
	int rc;

	buf_reset(buf);
	if (!buf_reserve(buf, len))
		return err_set(err, ERR_TOOBIG, "a record of %u bytes", len);
	rc = file_read(s->file, (uint32_t)lsn, buf->ptr, len, err);
	if (rc)
		return rc;
	buf->len = len;
	rc = record_decode(buf_bytes(buf), s->salt, lsn, true, &r, err);
	if (!rc && !r.body_ok)
		rc = err_set(err, ERR_CORRUPT, "the body's checksum differs");
	if (!rc)
		rc = segment_profile_decode(&r, out, err);
	return rc ? damaged_at(s, lsn, rc, err) : 0;
}

/* Read the first n bytes of a record into buf, of which it has some. */
static int read_head(const struct wal_segment *s, uint64_t lsn, size_t n,
		     struct buf *buf, struct err *err)
{
	if (!buf_reserve(buf, n - buf->len))
		return err_set(err, ERR_TOOBIG, "a record of %zu bytes", n);
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
	rc = read_head(s, lsn, guess > RECORD_HEADER ? guess : RECORD_HEADER,
		       buf, err);
	if (rc)
		return rc;
	want = record_head_len(buf->ptr);
	if (want > RECORD_HEAD_MAX) {
		rc = err_set(err, ERR_CORRUPT, "no record here");
		return damaged_at(s, lsn, rc, err);
	}
	want += RECORD_HEADER;
	if (want > buf->len)
		rc = read_head(s, lsn, want, buf, err);
	buf->len = want;
	if (!rc)
		rc = record_decode_head(buf_bytes(buf), s->salt, lsn, &r, err);
	if (!rc)
		rc = segment_profile_decode(&r, out, err);
	return rc == ERR_CORRUPT ? damaged_at(s, lsn, rc, err) : rc;
}

uint64_t wal_begin(struct wal *w)
{
	uint64_t lowest;

	pthread_mutex_lock(&w->mu);
	lowest = w->count && w->segments[0]->number < w->lowest ?
			 w->segments[0]->number :
			 w->lowest;
	pthread_mutex_unlock(&w->mu);
	return lowest == UINT64_MAX ? w->end : lowest << 32;
}

uint64_t wal_corruptions(const struct wal *w)
{
	return (uint64_t)metric_get(w->corruptions);
}

uint64_t wal_bytes(struct wal *w)
{
	uint64_t sum = 0;

	pthread_mutex_lock(&w->mu);
	for (size_t i = 0; i < w->count; i++)
		sum += w->segments[i]->size;
	pthread_mutex_unlock(&w->mu);
	return sum;
}

uint64_t wal_overdue(struct wal *w, uint64_t budget)
{
	uint64_t upto = 0;
	bool over = wal_bytes(w) > budget;

	pthread_mutex_lock(&w->mu);
	if (over && w->count && w->segments[0] != w->current)
		upto = w->segments[0]->number;
	for (size_t i = 0; i < w->count; i++) {
		const struct wal_segment *s = w->segments[i];

		if ((s->failed || s->unread || s->unsealed) && s != w->current)
			upto = s->number;
	}
	pthread_mutex_unlock(&w->mu);
	return upto;
}

uint64_t wal_oldest(struct wal *w)
{
	uint64_t number = 0;

	pthread_mutex_lock(&w->mu);
	if (w->count && w->segments[0] != w->current)
		number = w->segments[0]->number;
	pthread_mutex_unlock(&w->mu);
	return number;
}

int wal_retire(struct wal *w, struct err *err)
{
	if (!w->current || (uint32_t)wal_end(w) <= FILE_HEADER)
		return 0;
	return roll(w, err);
}

/* What could not be read of it may be read another day. */
static int set_aside(struct wal *w, const struct wal_segment *s,
		     struct err *err)
{
	log_event(
		w->o.log, LOG_ERROR,
		"a WAL segment that the disk did not give back whole is set aside as *" ASIDE_SUFFIX,
		LOG_FIELDS(log_text("file", file_path(s->file))));
	return rename_aside(w->o.fs, file_path(s->file), err);
}

static int remove_file(struct wal *w, const struct wal_segment *s,
		       struct err *err)
{
	CLEANUP(mem_freep) char *gone = segment_path(w, s->number, ".deleting");
	int rc;

	if (s->unread)
		return set_aside(w, s, err);
	rc = fs_rename(w->o.fs, file_path(s->file), gone, err);
	return rc ? rc : fs_unlink(w->o.fs, gone, err);
}

int wal_drop(struct wal *w, uint64_t upto, struct err *err)
{
	for (;;) {
		struct wal_segment *s = NULL;
		int rc;

		pthread_mutex_lock(&w->mu);
		if (w->count && w->segments[0] != w->current &&
		    w->segments[0]->number <= upto) {
			s = w->segments[0];
			w->count--;
			memmove(w->segments, w->segments + 1,
				w->count * sizeof(struct wal_segment *));
		}
		pthread_mutex_unlock(&w->mu);
		if (!s)
			return 0;
		rc = remove_file(w, s, err);
		wal_segment_unref(s);
		if (rc)
			return rc;
	}
}
