/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a head's log when the database is opened. */
#include "tsdb/head/head_open.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/dec.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "model/types.h"
#include "tsdb/head/head.h"
#include "tsdb/head/head_tombstones.h"
#include "tsdb/io/record.h"
#include "tsdb/io/trash.h"

/* State while one log is read. */
struct load {
	struct head *r;
	bool named; /* the HEAD_SELF record was intact */
	/* One element for each series number in the log. */
	struct load_series {
		/* Number in the head; SERIES_NONE: no labels yet. */
		uint32_t series;
		/*
		 * Index that the next chunk must have: its number among the
		 * chunks that one flush wrote for the series.
		 */
		uint32_t next;
		bool gap; /* an earlier chunk of the same flush is missing */
	} * v;
	size_t count;
	size_t cap;
	uint64_t values_end; /* end of the last chunk's values */
};

/*
 * Log and count a range of the log that is not a record. A torn end (a last
 * record cut short) is normal after a crash, so it has a counter of its own.
 */
static void head_report_damage(void *ctx, uint64_t offset, uint64_t len,
			       bool torn)
{
	struct load *l = ctx;
	const struct head_env *env = l->r->env;

	metric_add(torn ? env->torn : env->corruptions, 1);
	log_event(
		env->log, LOG_WARN,
		torn ? "the log of a head block ends in an incomplete record (a torn end, which is normal after a crash, or while a server writes)" :
		       "the log of a head block has a damaged record; profiles that need it are lost unless the WAL still has them",
		LOG_FIELDS(log_text("file", file_path(l->r->groups)),
			   log_int("offset", (int64_t)offset),
			   log_int("bytes", (int64_t)len)));
}

/*
 * HEAD_SELF: check that the log belongs to its directory. As in the functions
 * below, false means that the record cannot be used.
 */
static bool load_self(struct load *l, struct dec *d)
{
	int64_t start = dec_svarint(d);
	uint64_t lsn = dec_be64(d);
	struct bytes ulid = dec_bytes(d, ULID_BYTES);

	if (d->bad || start != l->r->start || lsn != l->r->lsn)
		return false;
	memcpy(l->r->ulid.bytes, ulid.ptr, ULID_BYTES);
	l->named = true;
	return true;
}

/*
 * The element of l->v for a series number of the log. It is added if there is
 * none.
 */
static struct load_series *head_find_numbered(struct load *l, uint32_t number)
{
	while (l->count <= number) {
		l->v = mem_grow(l->v, l->count, &l->cap, sizeof(*l->v));
		l->v[l->count++] =
			(struct load_series){ .series = SERIES_NONE };
	}
	return &l->v[number];
}

/*
 * Numbers are dense, so a number far above those seen so far is damage. The
 * limit bounds the memory that a damaged number can allocate.
 */
static bool head_is_plausible(uint64_t number, size_t seen)
{
	return number < seen + 1000000;
}

/* HEAD_LABELS: a series number and its labels. */
static bool load_labels(struct load *l, struct dec *d)
{
	uint64_t number = dec_uvarint(d);
	struct str encoded = dec_str(d);
	struct head *r = l->r;
	struct labels *ls = NULL;

	if (d->bad || !head_is_plausible(number, l->count) ||
	    labels_decode(bytes_of(encoded), &ls, NULL))
		return false;
	mutex_lock(&r->mu);
	head_find_numbered(l, (uint32_t)number)->series =
		head_ensure_locked(r, ls);
	r->series[l->v[number].series]->log_number = (uint32_t)number;
	mutex_unlock(&r->mu);
	labels_unref(ls);
	return true;
}

/* HEAD_TYPES: a type set number and the type set. */
static bool load_types(struct load *l, struct dec *d)
{
	uint64_t number = dec_uvarint(d);
	struct str encoded = dec_str(d);

	if (d->bad || !head_is_plausible(number, l->r->typeset_count) ||
	    encoded.len > TYPESET_BYTES_MAX)
		return false;
	head_set_typeset(l->r, (uint32_t)number, bytes_of(encoded));
	return true;
}

/*
 * Record that a chunk of the series cannot be used, so that the flushed LSN of
 * the same flush is not accepted. Returns false, for the caller to return.
 */
static bool head_lost(struct load_series *s)
{
	s->gap = true;
	return false;
}

/*
 * HEAD_CHUNK: add a chunk to its series. The flushed LSN in the last chunk of a
 * flush is accepted only if none of the flush's chunks is missing
 * (docs/decisions.md, 6).
 */
static bool head_load_head(struct load *l, const struct record *rec,
			   struct dec *d)
{
	uint64_t number = dec_uvarint(d);
	uint64_t index = dec_uvarint(d);
	uint64_t flushed = dec_be64(d);
	struct bytes bytes = dec_bytes(d, dec_left(d));
	struct chunk_meta h = { 0 };
	struct load_series *s;
	uint32_t typeset;
	uint64_t end;

	if (d->bad || !head_is_plausible(number, l->count))
		return false;
	s = head_find_numbered(l, (uint32_t)number);
	s->gap = index && (s->gap || index != s->next);
	/* After the last chunk of a flush, the next flush begins at index 0. */
	s->next = flushed ? 0 : (uint32_t)index + 1;
	if (chunk_meta_typeset(bytes, &typeset, NULL))
		return head_lost(s);
	h.total_count = (uint16_t)typeset_count(head_typeset(l->r, typeset));
	if (chunk_meta_decode(bytes, &h, NULL))
		return head_lost(s);
	if (s->series == SERIES_NONE)
		return false; /* the record with the series' labels is lost */
	end = h.place.offset + h.place.len;
	l->values_end = end > l->values_end ? end : l->values_end;
	series_add_group(l->r->series[s->series],
			 &(struct chunk){ .first = h.profiles[0].ms,
					  .last = h.profiles[h.count - 1].ms,
					  .at = rec->position,
					  .len = (uint32_t)rec->len });
	if (flushed && !s->gap)
		series_flushed(l->r->series[s->series], flushed);
	return true;
}

static void load_record(struct load *l, const struct record *rec)
{
	struct dec d = dec_init(rec->head);
	bool ok = true;

	switch (rec->kind) {
	case HEAD_SELF:
		ok = load_self(l, &d);
		break;
	case HEAD_LABELS:
		ok = load_labels(l, &d);
		break;
	case HEAD_TYPES:
		ok = load_types(l, &d);
		break;
	case HEAD_CHUNK:
		ok = head_load_head(l, rec, &d);
		break;
	default: /* written by a later version */
		break;
	}
	if (!ok)
		head_report_damage(l, rec->position, rec->len, false);
}

static void load_log(struct load *l, struct bytes file)
{
	struct record_iter it = { .file = file,
				  .salt = l->r->salt,
				  .offset = FILE_HEADER,
				  .end = FILE_HEADER,
				  .damaged = head_report_damage,
				  .ctx = l };
	struct record rec = { 0 };

	while (record_next(&it, &rec))
		load_record(l, &rec);
	l->r->groups_end = it.end;
	l->r->values_end = l->values_end > FILE_HEADER ? l->values_end :
							 FILE_HEADER;
	l->r->next_series = (uint32_t)l->count;
	l->r->next_typeset = (uint32_t)l->r->typeset_count;
}

int head_load(struct head *r, struct bytes file, struct err *err)
{
	struct file_header h = { 0 };
	struct load l = { .r = r };
	int rc = file_header_decode(file, MAGIC_GROUPS, &h, err);

	if (rc)
		return err_wrap(err, rc, "the file \"groups\"");
	r->salt = h.salt;
	load_log(&l, file);
	mem_free(l.v);
	/*
	 * The first record is damaged, so the id of the block is unknown: use a
	 * new one.
	 */
	if (!l.named)
		r->ulid = ulid_new(clock_ms(NULL));
	return 0;
}

static int head_open_file(const struct head *r, const char *name,
			  struct file **out, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", r->path, name);

	return file_open(r->env->fs, path,
			 r->env->read_only ? FILE_READ : FILE_WRITE, out, err);
}

/*
 * Truncate a file after the last intact record, or after the last value that a
 * chunk refers to, because later writes continue there. Up to `padding` bytes
 * before `end` hold nothing: a file that lacks them is extended.
 */
static int head_cut(const struct head *r, struct file *f, uint64_t end,
		    uint64_t padding, struct err *err)
{
	uint64_t size = 0;
	int rc = file_size(f, &size, err);

	if (rc || r->env->read_only)
		return rc;
	if (size + padding < end) {
		/*
		 * The file is too short: values that chunks refer to are
		 * missing. Readers report each lost profile.
		 */
		metric_add(r->env->corruptions, 1);
		log_event(
			r->env->log, LOG_ERROR,
			"a file of a head block is truncated; the profiles after its end are lost",
			LOG_FIELDS(log_text("file", file_path(f)),
				   log_int("size", (int64_t)size),
				   log_int("expected", (int64_t)end)));
		return 0;
	}
	return size != end ? file_truncate(f, end, err) : 0;
}

/* Report a range of bytes of the log that the disk cannot read. */
static void head_report_unread(void *ctx, uint64_t offset, uint64_t len)
{
	struct head *r = ctx;

	r->unreadable = true;
	metric_add(r->env->corruptions, 1);
	log_event(
		r->env->log, LOG_ERROR,
		"the disk cannot read some bytes of the log of a head block; profiles may be missing until it can",
		LOG_FIELDS(log_text("file", file_path(r->groups)),
			   log_int("offset", (int64_t)offset),
			   log_int("bytes", (int64_t)len)));
}

/* Cut off the torn ends of both files. */
static int head_cut_all(const struct head *r, struct err *err)
{
	int rc = head_cut(r, r->groups, r->groups_end, RECORD_PADDING_MAX, err);

	return rc ? rc : head_cut(r, r->values, r->values_end, 0, err);
}

static int open_all(struct head *r, struct err *err)
{
	struct buf log = { 0 };
	int rc = head_open_file(r, "groups", &r->groups, err);

	if (!rc)
		rc = head_open_file(r, "values", &r->values, err);
	if (!rc)
		rc = file_read_around(r->groups, &log, head_report_unread, r,
				      err);
	if (!rc)
		rc = head_load(r, buf_bytes(&log), err);
	/*
	 * The header, or all of the log, is in a part of the file that the disk
	 * cannot read. It may be intact, so the head is not known to be corrupt
	 * or empty.
	 */
	if (r->unreadable && (rc == ERR_CORRUPT || (!rc && !r->index.series)))
		rc = err_set(err, ERR_IO, "the disk cannot read its log");
	buf_fini(&log);
	/*
	 * The records that could not be read may have values anywhere, and
	 * numbers of series and types. So nothing is cut off, and nothing will
	 * be written.
	 */
	if (!rc && r->unreadable)
		rc = file_size(r->values, &r->values_end, err);
	else if (!rc)
		rc = head_cut_all(r, err);
	if (!rc)
		head_load_tombstones(r);
	return rc;
}

/*
 * Parse a directory name, "<start>.<lsn>": the start of the window in decimal,
 * and the opening LSN as 16 hexadecimal digits. The suffix of a head that was
 * set aside may follow.
 */
static bool parse_name(const char *name, struct head *r)
{
	char *dot;
	char *end;

	r->start = strtoll(name, &dot, 10);
	if (dot == name || *dot != '.')
		return false;
	r->lsn = strtoull(dot + 1, &end, 16);
	return end == dot + 17 && (!*end || trash_is_aside_name(end));
}

int head_open(struct head_env *env, const char *name, struct head **out,
	      struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", env->dir, name);
	struct head *r = head_new(env, path);
	int rc;

	if (!parse_name(name, r)) {
		head_unref(r);
		return err_set(err, ERR_NOTFOUND, "%s is not a head block",
			       path);
	}
	rc = open_all(r, err);
	if ((rc == ERR_CORRUPT || rc == ERR_NOTFOUND) && head_is_stillborn(r)) {
		rc = env->read_only ? 0 : fs_remove_dir(env->fs, path, err);
		if (!rc)
			rc = err_set(err, ERR_NOTFOUND,
				     "%s contains no profile", path);
	} else if (rc) {
		/*
		 * A missing file is damage; ERR_NOTFOUND would mean an empty
		 * head.
		 */
		if (rc == ERR_NOTFOUND)
			rc = ERR_CORRUPT;
		err_wrap(err, rc, "head block %s", path);
	}
	if (rc)
		head_unref(r);
	else
		*out = r;
	return rc;
}
