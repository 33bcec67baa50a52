/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/head/head.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/dec.h"
#include "base/enc.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "model/types.h"
#include "tsdb/head/head_open.h"
#include "tsdb/io/record.h"
#include "tsdb/wal/wal.h"

/* Largest size of the first record of a log, in bytes. */
#define SELF_RECORD_MAX 96

struct head *head_new(struct head_env *env, const char *path)
{
	struct head *r = mem_new(struct head);

	atomic_init(&r->refs, 1);
	r->env = env;
	r->path = mem_strdup(path);
	mutex_init(&r->mu);
	return r;
}

/* The caller holds a reference, so the counter needs no memory ordering. */
struct head *head_ref(struct head *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

void head_unref(struct head *r)
{
	if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
		return;
	atomic_fetch_sub(&r->env->weight, (int64_t)r->weight);
	atomic_fetch_sub(&r->env->unflushed, (int64_t)r->unflushed);
	/* The index borrows from the label sets, so it is freed before them. */
	memindex_fini(&r->index);
	for (size_t i = 0; i < r->by_labels.count; i++) {
		interner_put(r->env->interner, r->series[i]->labels);
		series_fini(r->series[i]);
		mem_free(r->series[i]);
	}
	mem_free(r->series);
	table_fini(&r->by_labels);
	for (size_t i = 0; i < r->typeset_count; i++)
		mem_free(r->typesets[i].ptr);
	mem_free(r->typesets);
	file_close(r->groups);
	file_close(r->values);
	mutex_destroy(&r->mu);
	mem_free(r->path);
	mem_free(r);
}

/* Creating a head. */

/*
 * Encode the beginning of a file: its header and, in a log, the HEAD_SELF
 * record that identifies the head.
 */
static void front_encode(const struct head *r, struct file_header *h,
			 struct buf *out)
{
	struct buf self = { 0 };
	struct record rec = { .position = FILE_HEADER, .kind = HEAD_SELF };

	file_header_encode(h, out);
	if (h->magic != MAGIC_GROUPS)
		return;
	enc_svarint(&self, r->start);
	enc_be64(&self, r->lsn);
	buf_add(&self, r->ulid.bytes, sizeof(r->ulid.bytes));
	rec.head = buf_bytes(&self);
	record_encode(&rec, h->salt, out);
	buf_fini(&self);
}

/*
 * Create one of the head's files, durably. Sets h->salt to a random number that
 * the file's checksums include, and *end to the length of the file.
 */
static int make_file(const struct head *r, const char *name,
		     struct file_header *h, struct file **out, uint64_t *end,
		     struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", r->path, name);
	struct buf front = { 0 };
	int rc = record_make_salt(&h->salt, err);

	if (rc)
		return rc;
	front_encode(r, h, &front);
	rc = file_open(r->env->fs, path, FILE_CREATE, out, err);
	if (!rc)
		rc = file_write(*out, 0, buf_bytes(&front), err);
	if (!rc)
		rc = file_sync(*out, err);
	*end = front.len;
	buf_fini(&front);
	return rc;
}

/* Create the directory and both files, and make their names durable. */
static int make_files(struct head *r, struct err *err)
{
	struct file_header values = { .magic = MAGIC_VALUES,
				      .number = (uint64_t)r->start };
	struct file_header groups = { .magic = MAGIC_GROUPS,
				      .number = (uint64_t)r->start };
	int rc = fs_mkdir(r->env->fs, r->path, err);

	/*
	 * The directory is left over from a failed creation and has no
	 * profiles.
	 */
	if (rc == ERR_EXISTS && head_is_stillborn(r) &&
	    !fs_remove_dir(r->env->fs, r->path, err))
		rc = fs_mkdir(r->env->fs, r->path, err);
	if (!rc)
		rc = make_file(r, "values", &values, &r->values, &r->values_end,
			       err);
	if (!rc)
		rc = make_file(r, "groups", &groups, &r->groups, &r->groups_end,
			       err);
	if (!rc)
		rc = fs_sync_dir(r->env->fs, r->path, err);
	if (!rc)
		rc = fs_sync_dir(r->env->fs, r->env->dir, err);
	r->salt = groups.salt;
	return rc;
}

int head_create(struct head_env *env, int64_t start, uint64_t lsn,
		int64_t now_ms, struct head **out, struct err *err)
{
	CLEANUP(mem_freep)
	char *path =
		mem_printf("%s/%" PRId64 ".%016" PRIx64, env->dir, start, lsn);
	struct head *r = head_new(env, path);
	int rc;

	r->start = start;
	r->lsn = lsn;
	r->ulid = ulid_new(now_ms);
	r->touched_ms = now_ms;
	rc = make_files(r, err);
	/* Another head owns the directory, so it must not be removed. */
	if (rc == ERR_EXISTS) {
		head_unref(r);
		return rc;
	}
	if (rc) {
		/* The directory is removed when the database is opened. */
		(void)!fs_remove_dir(env->fs, path, NULL);
		head_unref(r);
		return rc;
	}
	*out = r;
	return 0;
}

/* The head's state in memory. */

/* Equality callback of the hash table `by_labels`. */
static bool head_same_labels(const void *ctx, uint32_t number, const void *key)
{
	const struct head *r = ctx;

	return bytes_eq(labels_bytes(r->series[number]->labels),
			labels_bytes(key));
}

static uint32_t head_find_locked(const struct head *r, const struct labels *ls)
	REQUIRES(r->mu)
{
	return table_find(&r->by_labels, ls->hash, head_same_labels, r, ls);
}

uint32_t head_ensure_locked(struct head *r, struct labels *ls)
{
	uint32_t n = head_find_locked(r, ls);
	struct series *s;

	if (n != TABLE_NONE)
		return n;
	n = r->index.series;
	s = mem_new(struct series);
	s->labels = interner_get(r->env->interner, ls);
	s->log_number = SERIES_UNWRITTEN;
	r->series =
		mem_grow(r->series, n, &r->series_cap, sizeof(struct series *));
	r->series[n] = s;
	table_add(&r->by_labels, s->labels->hash, n);
	memindex_add(&r->index, s->labels);
	r->weight += series_weight(s->labels);
	atomic_fetch_add_explicit(&r->env->weight,
				  (int64_t)series_weight(s->labels),
				  memory_order_relaxed);
	return n;
}

uint32_t head_find(struct head *r, const struct labels *ls)
{
	uint32_t n;

	mutex_lock(&r->mu);
	n = head_find_locked(r, ls);
	mutex_unlock(&r->mu);
	return n;
}

void head_insert(struct head *r, struct labels *labels,
		 const struct unflushed *p, int64_t now_ms)
{
	struct series *s;
	uint32_t n;

	mutex_lock(&r->mu);
	n = head_ensure_locked(r, labels); /* may reallocate r->series */
	s = r->series[n];
	series_add(s, p);
	head_recount_locked(r, s, s->unflushed_count - 1);
	r->touched_ms = now_ms;
	mutex_unlock(&r->mu);
}

void head_recount_locked(struct head *r, const struct series *s,
			 uint32_t before)
{
	int64_t change = (int64_t)s->unflushed_count - (int64_t)before;

	r->unflushed = (size_t)((int64_t)r->unflushed + change);
	atomic_fetch_add_explicit(&r->env->unflushed, change,
				  memory_order_relaxed);
}

void head_forget_flushed_locked(struct head *r, uint32_t series, uint64_t lsn)
{
	struct series *s = r->series[series];
	uint32_t before = s->unflushed_count;

	series_flushed(s, lsn);
	head_recount_locked(r, s, before);
}

/*
 * Replay calls this function for each WAL record, so that no profile is flushed
 * twice and no deleted profile comes back.
 */
bool head_is_done_with(struct head *r, uint32_t series, int64_t ms,
		       uint64_t lsn)
{
	const struct series *s;
	bool done;

	mutex_lock(&r->mu);
	s = r->series[series];
	done = lsn <= s->flushed_lsn || series_hides(s, ms, lsn);
	mutex_unlock(&r->mu);
	return done;
}

uint64_t head_oldest(struct head *r)
{
	uint64_t oldest = UINT64_MAX;

	mutex_lock(&r->mu);
	/* The loop ends at once if the head has no unflushed profiles. */
	for (uint32_t i = 0; i < r->index.series && r->unflushed; i++) {
		uint64_t lsn = series_oldest(r->series[i]);

		oldest = lsn < oldest ? lsn : oldest;
	}
	mutex_unlock(&r->mu);
	return oldest;
}

struct bytes head_typeset(struct head *r, uint32_t number)
{
	struct bytes b = { 0 };

	mutex_lock(&r->mu);
	if (number < r->typeset_count)
		b = r->typesets[number];
	mutex_unlock(&r->mu);
	return b;
}

/*
 * If the log record of a type set is damaged, the element for its number is
 * empty; a later record with this number may fill it. A type set is never
 * replaced: readers may have borrowed it.
 */
void head_set_typeset(struct head *r, uint32_t number, struct bytes typeset)
{
	mutex_lock(&r->mu);
	while (r->typeset_count <= number) {
		r->typesets = mem_grow(r->typesets, r->typeset_count,
				       &r->typeset_cap, sizeof(*r->typesets));
		r->typesets[r->typeset_count++] = (struct bytes){ 0 };
	}
	if (!r->typesets[number].ptr)
		r->typesets[number] = (struct bytes){
			.ptr = mem_dup(typeset.ptr, typeset.len),
			.len = typeset.len
		};
	mutex_unlock(&r->mu);
}

void head_drop_typesets(struct head *r, uint32_t first)
{
	mutex_lock(&r->mu);
	while (r->typeset_count > first)
		mem_free(r->typesets[--r->typeset_count].ptr);
	mutex_unlock(&r->mu);
}

uint32_t head_typeset_number(struct head *r, struct bytes typeset)
{
	uint32_t found = UINT32_MAX;

	mutex_lock(&r->mu);
	for (size_t i = 0; i < r->typeset_count; i++) {
		if (r->typesets[i].ptr && bytes_eq(r->typesets[i], typeset)) {
			found = (uint32_t)i;
			break;
		}
	}
	mutex_unlock(&r->mu);
	return found;
}

/* Reading chunks and unflushed profiles. */

/* Callback chunk_source.meta: read and verify a HEAD_CHUNK record. */
static int head_read_head(void *ctx, const struct chunk *g, struct buf *scratch,
			  struct bytes *head, struct err *err)
{
	const struct head *r = ctx;
	struct record rec = { 0 };
	struct dec d;
	int rc;

	buf_reset(scratch);
	if (!buf_reserve(scratch, g->len))
		return err_set(err, ERR_TOOBIG,
			       "%s: chunk metadata of %u bytes is too large",
			       file_path(r->groups), g->len);
	rc = file_read(r->groups, g->at, scratch->ptr, g->len, err);
	scratch->len = rc ? 0 : g->len;
	if (!rc)
		rc = record_decode(buf_bytes(scratch), r->salt, g->at, false,
				   &rec, err);
	if (rc)
		return err_wrap(err, rc, "%s at offset %" PRIu64,
				file_path(r->groups), g->at);
	/*
	 * Skip series number, index and flushed LSN, which come before the
	 * metadata.
	 */
	d = dec_init(rec.head);
	dec_uvarint(&d);
	dec_uvarint(&d);
	dec_be64(&d);
	*head = dec_bytes(&d, dec_left(&d));
	return 0;
}

/* Callback chunk_source.typeset. */
static struct bytes head_typeset_at(void *ctx, uint32_t number)
{
	return head_typeset(ctx, number);
}

/* Callback chunk_source.damaged: count and log a damaged chunk. */
static void head_damaged(void *ctx, const struct chunk *g,
			 const struct err *err)
{
	struct head *r = ctx;

	metric_add(r->env->corruptions, 1);
	log_event(
		r->env->log, LOG_ERROR,
		"cannot read the metadata of a chunk; its profiles (at most 32) are left out",
		LOG_FIELDS(log_text("file", file_path(r->groups)),
			   log_int("offset", (int64_t)g->at), log_err(err)));
}

struct chunk_source head_source(struct head *r)
{
	return (struct chunk_source){ .ctx = r,
				      .path = r->path,
				      .meta = head_read_head,
				      .typeset = head_typeset_at,
				      .damaged = head_damaged };
}

/*
 * Copy chunks and tombstone intervals that overlap [from, to], so that the
 * files can be read without the lock.
 */
static void groups_copy_locked(const struct series *s, int64_t from, int64_t to,
			       struct chunks *out)
{
	for (uint32_t i = 0; i < s->group_count; i++) {
		if (s->groups[i].first <= to && s->groups[i].last >= from)
			chunks_add(out, &s->groups[i]);
	}
	for (uint32_t i = 0; i < s->gap_count; i++) {
		if (s->gaps[i].from <= to && s->gaps[i].to >= from)
			chunks_add_tombstone(out, &s->gaps[i]);
	}
}

void head_groups(struct head *r, uint32_t series, int64_t from, int64_t to,
		 struct chunks *out)
{
	mutex_lock(&r->mu);
	groups_copy_locked(r->series[series], from, to, out);
	mutex_unlock(&r->mu);
}

/*
 * Unflushed profiles and chunks are copied while the lock is held once: a flush
 * in between would hide a profile or show it twice.
 */
int head_times(struct head *r, uint32_t series, int64_t from, int64_t to,
	       struct times *out, struct err *err)
{
	struct chunk_source source = head_source(r);
	struct chunks groups = { 0 };
	const struct series *s;
	int rc;

	mutex_lock(&r->mu);
	s = r->series[series];
	for (uint32_t i = 0; i < s->unflushed_count; i++) {
		if (s->unflushed[i].ms >= from && s->unflushed[i].ms <= to)
			times_add(out, s->unflushed[i].ms);
	}
	groups_copy_locked(s, from, to, &groups);
	mutex_unlock(&r->mu);
	rc = chunks_times(&source, &groups, from, to, out, err);
	chunks_fini(&groups);
	return rc;
}

/*
 * Unflushed profiles are looked at first; the chunks are read from disk after
 * the lock has been released.
 */
int head_lookup(struct head *r, uint32_t series, int64_t ms, struct wal *wal,
		struct part_hit *out, struct err *err)
{
	struct chunk_source source = head_source(r);
	struct chunks groups = { 0 };
	const struct unflushed *p;
	int rc = 0;

	*out = (struct part_hit){ 0 };
	mutex_lock(&r->mu);
	p = series_find(r->series[series], ms);
	if (p) {
		out->unflushed = true;
		out->wal = *p;
		out->segment = wal ? wal_segment(wal, p->lsn) : NULL;
	} else {
		groups_copy_locked(r->series[series], ms, ms, &groups);
	}
	mutex_unlock(&r->mu);
	if (!out->unflushed)
		rc = chunks_find(&source, &groups, ms, &out->group, err);
	chunks_fini(&groups);
	return rc;
}

/* Unflushed profiles are left out: the WAL itself knows their LSNs. */
uint64_t head_highest_lsn(struct head *r)
{
	uint64_t highest = r->lsn;

	mutex_lock(&r->mu);
	for (size_t i = 0; i < r->by_labels.count; i++) {
		const struct series *s = r->series[i];

		if (s->flushed_lsn > highest)
			highest = s->flushed_lsn;
		for (uint32_t k = 0; k < s->gap_count; k++) {
			if (s->gaps[k].lsn > highest)
				highest = s->gaps[k].lsn;
		}
	}
	mutex_unlock(&r->mu);
	return highest;
}

/*
 * Size of one of the head's files; 0 if the file is missing. On other errors
 * UINT64_MAX, so that the head is not treated as empty.
 */
static uint64_t head_file_size_of(const struct head *r, const char *name)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", r->path, name);
	uint64_t size = 0;
	int rc = fs_size(r->env->fs, path, &size, NULL);

	return rc && rc != ERR_NOTFOUND ? UINT64_MAX : size;
}

bool head_is_stillborn(const struct head *r)
{
	return head_file_size_of(r, "values") <= FILE_HEADER &&
	       head_file_size_of(r, "groups") <= FILE_HEADER + SELF_RECORD_MAX;
}
