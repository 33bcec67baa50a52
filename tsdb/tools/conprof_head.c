/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/tools/conprof_head.h"

#include <inttypes.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/file_slurp.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/snappy.h"
#include "base/zstd.h"
#include "tsdb/tools/conprof_walk.h"

#define HEAD_MAGIC     0x0130BC91u /* first bytes of a file of head chunks */
#define ENCODING_BYTES 1
/*
 * The WAL consists of pages of this size in bytes. A record is stored as one or
 * more fragments, each within one page.
 */
#define PAGE ((size_t)32 * 1024)
/* Size of a fragment's header in bytes: u8 type, u16 length, u32 CRC. */
#define FRAGMENT_HEADER 7

/* Compare the ref (number) of a series with a key, for the hash table. */
static bool same_ref(const void *ctx, uint32_t number, const void *key)
{
	const struct walk *w = ctx;

	return w->series[number].ref == *(const uint64_t *)key;
}

/*
 * Hash of a ref. Refs are consecutive numbers; the multiplication gives them
 * hashes that are far apart.
 */
static uint64_t ref_hash(uint64_t ref)
{
	return ref * 0x9e3779b97f4a7c15u;
}

/*
 * The labels of the series with this ref, borrowed; NULL if the series is
 * unknown.
 */
static struct labels *find_series(const struct walk *w, uint64_t ref)
{
	uint32_t n = table_find(&w->index, ref_hash(ref), same_ref, w, &ref);

	return n == TABLE_NONE ? NULL : w->series[n].labels;
}

/*
 * Add a series to the walk; takes over the reference to `ls`. A series may
 * occur in a checkpoint and again in a segment; the second one is ignored.
 */
static void add_series(struct walk *w, uint64_t ref, struct labels *ls)
{
	if (find_series(w, ref)) {
		labels_unref(ls);
		return;
	}
	w->series = mem_grow(w->series, w->count, &w->cap, sizeof(*w->series));
	w->series[w->count] = (struct head_series){ ref, ls };
	table_add(&w->index, ref_hash(ref), (uint32_t)w->count++);
}

/* Read a WAL record of series: {be64 ref | count | names and values} … */
static void series_record(struct walk *w, struct dec d)
{
	while (dec_left(&d)) {
		uint64_t ref = dec_be64(&d);
		uint64_t n = dec_count(&d, LABELS_MAX);
		struct labels_builder b = { 0 };
		struct labels *ls = NULL;
		struct err err = { .msg = "a series record is damaged" };

		for (uint64_t i = 0; i < n && !d.bad; i++) {
			struct str name = dec_str(&d);

			labels_set(&b, name, dec_str(&d));
		}
		if (!d.bad && !labels_build(&b, &ls, &err))
			add_series(w, ref, ls);
		else
			conprof_report_damage(w, "%s", err.msg);
		labels_builder_fini(&b);
	}
}

/*
 * Read a WAL record of samples. Refs and times are stored as differences from
 * the first sample.
 */
static int samples_record(struct walk *w, struct dec d, struct err *err)
{
	uint64_t first = dec_be64(&d);
	uint64_t start = dec_be64(&d);
	int rc = 0;

	while (dec_left(&d) && !rc) {
		uint64_t ref = first + (uint64_t)dec_svarint(&d);
		int64_t ms = (int64_t)(start + (uint64_t)dec_svarint(&d));
		struct bytes value = bytes_of(dec_str(&d));
		struct labels *ls = find_series(w, ref);

		if (d.bad)
			conprof_report_damage(w, "a samples record is damaged");
		else if (!ls)
			conprof_report_damage(
				w,
				"a sample at %" PRId64
				" ms belongs to an unknown series",
				ms);
		else if (w->v->wants(w->v->ctx, ms))
			rc = w->v->visit(w->v->ctx, w->path, ls, ms, value,
					 err);
	}
	return rc;
}

/*
 * Read a WAL record of series or samples. Other types, tombstones and
 * exemplars, are ignored.
 */
static int wal_record(struct walk *w, struct bytes record, struct err *err)
{
	struct dec d = dec_init(record);
	uint8_t type = dec_u8(&d);

	if (type == 1 && w->names_only)
		series_record(w, d);
	if (type == 2 && !w->names_only)
		return samples_record(w, d, err);
	return 0;
}

/*
 * Read a record whose fragments are complete, after decompressing it if
 * necessary. A damaged record does not end the walk.
 */
static int finish_record(struct walk *w, bool packed, struct err *err)
{
	struct err why;
	int rc;

	if (w->record.over) {
		conprof_report_damage(w, "a record is larger than %llu bytes",
				      (unsigned long long)RECORD_MAX);
		rc = 0;
	} else if (!packed) {
		rc = wal_record(w, buf_bytes(&w->record), err);
	} else {
		w->plain.max = RECORD_MAX;
		rc = snappy_decompress(buf_bytes(&w->record), &w->plain, &why);
		if (rc) {
			conprof_report_damage(w, "%s", why.msg);
			rc = 0;
		} else {
			rc = wal_record(w, buf_bytes(&w->plain), err);
		}
	}
	buf_reset(&w->record);
	return rc;
}

/*
 * A fragment of a record, as stored in a page: {type | u16 length | u32 CRC |
 * data}.
 */
struct fragment {
	/*
	 * 0: padding up to the end of the page, 1: a whole record, 2: first
	 * fragment of a record, 3: middle fragment, 4: last fragment.
	 */
	uint8_t kind;
	bool packed; /* the record is compressed with snappy */
	struct bytes data;
	size_t len; /* bytes of header and data */
};

/* Decode a fragment and verify its checksum. Returns false if it is damaged. */
static bool fragment_decode(struct bytes page, struct fragment *f)
{
	struct dec d = dec_init(page);
	uint8_t type = dec_u8(&d);
	size_t len = dec_be16(&d);
	uint32_t crc = dec_be32(&d);

	*f = (struct fragment){ .kind = type & 7, .packed = type & 8 };
	if (d.bad || !f->kind)
		return !f->kind;
	f->data = dec_bytes(&d, len);
	f->len = FRAGMENT_HEADER + len;
	return !d.bad && f->kind <= 4 && crc == crc32c_extend(0, f->data);
}

/*
 * Read the fragments of one page. *open says whether a record has begun and not
 * ended. After damage the rest of the page is skipped, because a damaged length
 * does not show where the next fragment begins.
 */
static int walk_page(struct walk *w, struct bytes page, uint64_t at, bool *open,
		     struct err *err)
{
	size_t pos = 0;
	int rc = 0;

	while (pos + FRAGMENT_HEADER <= page.len && !rc) {
		struct bytes rest = { page.ptr + pos, page.len - pos };
		struct fragment f;

		if (!fragment_decode(rest, &f)) {
			/*
			 * Both passes over the WAL find this damage. Only the
			 * first pass reports it.
			 */
			if (w->names_only)
				conprof_report_damage(w,
						      "at offset %" PRIu64
						      ": a record is damaged",
						      at + pos);
			*open = false;
			break;
		}
		if (!f.kind)
			break;
		pos += f.len;
		if (f.kind <= 2)
			buf_reset(&w->record);
		if (f.kind > 2 && !*open)
			/*
			 * The fragment continues a record of which an earlier
			 * fragment was damaged: skip it.
			 */
			continue;
		buf_add(&w->record, f.data.ptr, f.data.len);
		*open = f.kind == 2 || f.kind == 3;
		if (!*open)
			rc = finish_record(w, f.packed, err);
	}
	return rc;
}

/* Read a WAL segment page by page. */
static int walk_segment(struct walk *w, const char *path, struct err *err)
{
	struct buf bytes = buf_init(FILE_MAX_BYTES);
	bool open = false;
	struct err why;
	int rc = 0;

	w->path = path;
	w->record.max = RECORD_MAX;
	if (file_slurp(path, &bytes, &why))
		conprof_report_damage(w, "%s", why.msg);
	for (size_t at = 0; at < bytes.len && !rc; at += PAGE) {
		size_t left = bytes.len - at;
		struct bytes page = { bytes.ptr + at,
				      left < PAGE ? left : PAGE };

		rc = walk_page(w, page, at, &open, err);
	}
	buf_fini(&bytes);
	return rc;
}

int walk_wal(struct walk *w, const char *dir, bool checkpoints, struct err *err)
{
	struct name_list l = { 0 };
	int rc = 0;

	if (fs_list(NULL, dir, &l, NULL))
		/* The directory does not exist: there is no WAL. */
		return 0;
	for (int folders = 1; folders >= 0 && !rc; folders--) {
		for (size_t i = 0; i < l.count && !rc; i++) {
			CLEANUP(mem_freep)
			char *path = mem_printf("%s/%s", dir, l.names[i]);
			bool folder = checkpoints &&
				      !strncmp(l.names[i], "checkpoint.", 11) &&
				      !strstr(l.names[i], ".tmp");
			bool segment = strspn(l.names[i], "0123456789") ==
				       strlen(l.names[i]);

			if (folders && folder)
				rc = walk_wal(w, path, false, err);
			else if (!folders && segment)
				rc = walk_segment(w, path, err);
		}
	}
	name_list_fini(&l);
	return rc;
}

/*
 * Visit one chunk of a file of head chunks. After a damaged chunk the rest of
 * the file is skipped, because nothing marks where the next chunk begins.
 */
static int visit_head_chunk(struct walk *w, struct dec *d, struct bytes file,
			    struct err *err)
{
	const uint8_t *start = d->pos;
	uint64_t ref = dec_be64(d);
	struct conprof_chunk c = { .min = (int64_t)dec_be64(d) };
	uint8_t encoding;
	struct bytes covered;

	c.max = (int64_t)dec_be64(d);
	encoding = dec_u8(d);
	c.data = dec_bytes(d, (size_t)dec_count(d, UINT32_MAX));
	covered = (struct bytes){ start, (size_t)(d->pos - start) };
	if (dec_be32(d) != crc32c_extend(0, covered) || d->bad) {
		conprof_report_damage(
			w,
			"at offset %zu: a head chunk is damaged; the rest of the file is skipped",
			(size_t)(start - file.ptr));
		d->bad = true;
		return 0;
	}
	c.labels = find_series(w, ref);
	if (encoding != ENCODING_BYTES || !c.labels) {
		conprof_report_damage(
			w,
			"at offset %zu: a chunk of an unknown series, or with an unknown encoding",
			(size_t)(start - file.ptr));
		return 0;
	}
	return visit_chunk(w, &c, err);
}

/*
 * Whether the rest of the file is zeros: space that was allocated in advance
 * and not used.
 */
static bool conprof_all_zero(const struct dec *d)
{
	for (const uint8_t *p = d->pos; p < d->end; p++) {
		if (*p)
			return false;
	}
	return true;
}

/* Visit all chunks of a file of head chunks. */
static int walk_head_file(struct walk *w, const char *path, struct err *err)
{
	struct buf bytes = buf_init(FILE_MAX_BYTES);
	struct err why;
	struct dec d;
	int rc = 0;

	w->path = path;
	if (file_slurp(path, &bytes, &why))
		conprof_report_damage(w, "%s", why.msg);
	d = dec_init(buf_bytes(&bytes));
	if (bytes.len && dec_be32(&d) != HEAD_MAGIC)
		conprof_report_damage(w, "the file is not a head chunks file");
	dec_be32(&d);
	while (dec_left(&d) && !conprof_all_zero(&d) && !rc)
		rc = visit_head_chunk(w, &d, buf_bytes(&bytes), err);
	buf_fini(&bytes);
	return rc;
}

int walk_head(struct walk *w, const char *dir, struct err *err)
{
	struct name_list l = { 0 };
	int rc = 0;

	if (fs_list(NULL, dir, &l, NULL))
		return 0;
	for (size_t i = 0; i < l.count && !rc; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s/%s", dir, l.names[i]);

		rc = walk_head_file(w, path, err);
	}
	name_list_fini(&l);
	return rc;
}
