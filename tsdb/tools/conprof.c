/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/tools/conprof.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/file.h"
#include "base/file_slurp.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/snappy.h"
#include "base/table.h"
#include "base/units.h"
#include "base/zstd.h"
#include "tsdb/block/block.h"
#include "tsdb/block/tombstones.h"
#include "tsdb/chunk/chunks.h"
#include "tsdb/index/index.h"
#include "tsdb/io/ulid.h"

#define FILE_MAX_BYTES (4096ull * MIB) /* largest file that is read, in bytes */

/* Largest uncompressed size of a chunk's values, in bytes. */
#define VALUES_MAX (1024 * MIB)

#define RECORD_MAX (1024 * MIB) /* largest WAL record, in bytes */

/* Value of a chunk's encoding byte that means byte slices. */
#define ENCODING_BYTES 1

/*
 * A series of the head, to which WAL records and head chunks refer by the
 * number `ref`.
 */
struct head_series {
	uint64_t ref;
	struct labels *labels;
};

/*
 * The state of a walk. `series` are the series of the head, found in the WAL.
 */
struct walk {
	const struct conprof_visitor *v;
	const char *path; /* path of the file being read, for messages */
	struct zstd *zstd;
	struct buf values; /* uncompressed values of the current chunk */
	struct buf record; /* WAL record, joined from its fragments */
	struct buf plain;  /* WAL record, uncompressed */
	struct head_series *series;
	size_t count;
	size_t cap;
	struct table index; /* finds series by ref */
	/*
	 * Whether the current pass over the WAL only collects the series and
	 * visits no profiles.
	 */
	bool names_only;
};

/*
 * A chunk with its labels and time range. For a chunk of a block these come
 * from the index, for a chunk of the head from the chunk's header.
 */
struct conprof_chunk {
	struct labels *labels;
	/* Time intervals hidden by tombstones; may be NULL. */
	const struct chunks *gaps;
	int64_t min;
	int64_t max;
	struct bytes data;
};

/* Report damage in the current file to the visitor. */
static void PRINTF(2, 3)
	conprof_report_damage(struct walk *w, const char *fmt, ...)
{
	char what[400];
	struct err err;
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	err_set(&err, ERR_CORRUPT, "%s: %s", w->path, what);
	w->v->damaged(w->v->ctx, &err);
}

/* Report to the visitor a profile whose series is not known. */
static void conprof_report_unknown(struct walk *w, int64_t ms)
{
	char time[40];

	time_format(ms, time);
	conprof_report_damage(w, "a profile at %s belongs to an unknown series",
			      time);
}

/*
 * Report to the visitor that the profiles of a series in the time range [from,
 * to] are damaged.
 */
static void conprof_report_loss(struct walk *w, struct labels *ls, int64_t from,
				int64_t to)
{
	struct buf text = { 0 };
	char first[40];
	char last[40];

	time_format(from, first);
	time_format(to, last);
	labels_text(ls, &text);
	conprof_report_damage(w, "a chunk of %s from %s to %s is damaged",
			      buf_cstr(&text), first, last);
	buf_fini(&text);
}

/*
 * Chunks, which blocks and the head have in the same format: Prometheus' chunk of
 * times, then the compressed values.
 */

/* Whether a tombstone hides the profile at time `ms`. */
static bool is_hidden(const struct chunks *gaps, int64_t ms)
{
	return gaps && chunks_hides(gaps, 0, ms);
}

/*
 * Decode times. The first time is stored as it is, the second as the difference
 * from the first, and each later time as the change of that difference. Returns
 * the number of times decoded.
 */
static size_t times_decode(struct bytes b, size_t count, int64_t *ms)
{
	struct dec d = dec_init(b);
	uint64_t t = 0;
	uint64_t step = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t v = dec_uvarint(&d);

		if (d.bad)
			return i;
		step = i < 2 ? v : step + v;
		t = i ? t + step : v;
		ms[i] = (int64_t)t;
	}
	return count;
}

/*
 * Whether the visitor wants any profile of the chunk. If not, the chunk's
 * values are not decompressed.
 */
static bool any_wanted(const struct walk *w, const struct conprof_chunk *c,
		       const int64_t *ms, size_t count)
{
	bool any = false;

	/*
	 * Do not stop at the first profile that is wanted: the visitor may
	 * count the calls.
	 */
	for (size_t i = 0; i < count; i++)
		any |= !is_hidden(c->gaps, ms[i]) &&
		       w->v->wants(w->v->ctx, ms[i]);
	return any;
}

/*
 * Visit the wanted values of a chunk. If the chunk is damaged, values before
 * the damage are visited, and the rest is reported as lost.
 */
static int visit_values(struct walk *w, const struct conprof_chunk *c,
			const int64_t *ms, size_t count, bool whole,
			struct err *err)
{
	struct dec d = dec_init(buf_bytes(&w->values));
	int rc = 0;
	size_t i;

	for (i = 0; i < count && !rc; i++) {
		struct bytes value = bytes_of(dec_str(&d));

		if (d.bad)
			break;
		if (!is_hidden(c->gaps, ms[i]) && w->v->wants(w->v->ctx, ms[i]))
			rc = w->v->visit(w->v->ctx, w->path, c->labels, ms[i],
					 value, err);
	}
	if (!rc && (i < count || !whole))
		conprof_report_loss(w, c->labels, i < count ? ms[i] : c->min,
				    c->max);
	return rc;
}

/*
 * Visit the profiles of a chunk that are wanted and not hidden by tombstones.
 * The chunk's format is: u16 count | u32 length of times | u32 length of values
 * | times | one zstd frame of values. Damage is reported to the visitor.
 * Returns the first error of the visitor.
 */
NODISCARD static int visit_chunk(struct walk *w, const struct conprof_chunk *c,
				 struct err *err)
{
	struct dec d = dec_init(c->data);
	size_t count = dec_be16(&d);
	size_t times_len = dec_be32(&d);
	size_t values_len = dec_be32(&d);
	struct bytes times = dec_bytes(&d, times_len);
	struct bytes values = dec_bytes(&d, values_len);
	CLEANUP(mem_freep) int64_t *ms = mem_alloc(count * sizeof(*ms));
	size_t known = d.bad ? 0 : times_decode(times, count, ms);
	bool whole;

	if (d.bad || known < count) {
		conprof_report_loss(w, c->labels, c->min, c->max);
		return 0;
	}
	if (!any_wanted(w, c, ms, count))
		return 0;
	buf_reset(&w->values);
	w->values.max = VALUES_MAX;
	whole = !zstd_decompress_all(w->zstd, values, &w->values, NULL);
	return visit_values(w, c, ms, count, whole, err);
}

/*
 * The head of a conprof data directory: its write-ahead log (WAL) and the
 * files of its memory-mapped chunks.
 */

#define HEAD_MAGIC 0x0130BC91u /* first bytes of a file of head chunks */
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
	return hash_number(ref);
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
			conprof_report_unknown(w, ms);
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

/*
 * Read the WAL in `dir`: collects its series if w->names_only is set, else
 * visits its samples. With `checkpoints`, the segments in checkpoint folders
 * are read first, because their records are older than those of the other
 * segments. Damage is reported to the visitor. Returns the first error of the
 * visitor.
 */
NODISCARD static int walk_wal(struct walk *w, const char *dir, bool checkpoints,
			      struct err *err)
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
			"at offset %zu: a chunk is skipped, because its series or its encoding is not known",
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

/*
 * Visit the chunks in the files in `dir` (chunks_head/). The series must have
 * been collected from the WAL before. Damage is reported to the visitor.
 * Returns the first error of the visitor.
 */
NODISCARD static int walk_head(struct walk *w, const char *dir, struct err *err)
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

/* Blocks. */

/*
 * Find the chunk at offset `at` of a file and set *data to its data. Format:
 * {uvarint length | encoding | data | CRC}. Returns false if the chunk is
 * damaged.
 */
static bool chunk_at(struct bytes file, uint64_t at, struct bytes *data)
{
	struct dec d;
	struct bytes covered;
	size_t len;

	if (at > file.len)
		return false;
	d = dec_init((struct bytes){ file.ptr + at, file.len - (size_t)at });
	len = (size_t)dec_count(&d, UINT32_MAX);
	covered = dec_bytes(&d, len + 1);
	if (dec_be32(&d) != crc32c_extend(0, covered) || d.bad ||
	    covered.ptr[0] != ENCODING_BYTES)
		return false;
	*data = (struct bytes){ covered.ptr + 1, len };
	return true;
}

/* A conprof block, with the contents of its files in memory. */
struct old_block {
	struct index *index;
	struct buf *files; /* contents of the files in chunks/ */
	size_t file_count;
	struct tombstones *tombstones;
};

/*
 * Visit all chunks of a series of a block. A damaged chunk or series is left
 * out; the import goes on.
 */
static int visit_series(struct walk *w, const struct old_block *b, uint32_t ref,
			struct err *err)
{
	struct index_series s = { 0 };
	struct chunks gaps = { 0 };
	struct labels *ls = NULL;
	struct err why;
	int rc = 0;

	if (index_series(b->index, ref, &s, &why) ||
	    index_labels(b->index, &s, &ls, &why)) {
		conprof_report_damage(w, "%s", why.msg);
		s.chunk_count = 0;
	}
	tombstones_gaps(b->tombstones, ref, &gaps);
	for (size_t i = 0; i < s.chunk_count && !rc; i++) {
		struct conprof_chunk c = { .labels = ls,
					   .gaps = &gaps,
					   .min = s.chunks[i].min,
					   .max = s.chunks[i].max };
		/*
		 * A chunk reference is a file number and an offset in this
		 * file.
		 */
		uint64_t file = s.chunks[i].ref >> 32;

		if (file < b->file_count &&
		    chunk_at(buf_bytes(&b->files[file]),
			     (uint32_t)s.chunks[i].ref, &c.data))
			rc = visit_chunk(w, &c, err);
		else
			conprof_report_loss(w, ls, c.min, c.max);
	}
	chunks_fini(&gaps);
	index_series_fini(&s);
	labels_unref(ls);
	return rc;
}

/*
 * Read all chunk files. The chunks of an unreadable file are later reported as
 * damaged.
 */
static void read_chunk_files(struct walk *w, const char *dir,
			     struct old_block *b)
{
	CLEANUP(mem_freep) char *chunks = mem_printf("%s/chunks", dir);
	struct name_list l = { 0 };
	struct err err;

	if (fs_list(NULL, chunks, &l, &err))
		conprof_report_damage(w, "%s", err.msg);
	b->files = mem_zalloc(l.count, sizeof(*b->files));
	b->file_count = l.count;
	for (size_t i = 0; i < l.count; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s/%s", chunks, l.names[i]);

		b->files[i] = buf_init(FILE_MAX_BYTES);
		if (file_slurp(path, &b->files[i], &err))
			conprof_report_damage(w, "%s", err.msg);
	}
	name_list_fini(&l);
}

/*
 * Read the tombstones of a block. If the file is missing or unreadable, the
 * block has none.
 */
static void conprof_read_tombstones(struct walk *w, const char *dir,
				    struct old_block *b)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/tombstones", dir);
	struct buf bytes = buf_init(FILE_MAX_BYTES);
	struct err err;

	if (!file_slurp(path, &bytes, NULL) &&
	    tombstones_decode(buf_bytes(&bytes), &b->tombstones, &err))
		conprof_report_damage(
			w,
			"tombstones: %s; deleted profiles of this block are imported, too",
			err.msg);
	if (!b->tombstones)
		b->tombstones = tombstones_new();
	buf_fini(&bytes);
}

/*
 * Visit all profiles of a block. A block without a readable index is left out.
 */
static int walk_block(struct walk *w, const char *dir, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/index", dir);
	struct old_block b = { 0 };
	struct blob *blob = NULL;
	struct err why;
	int rc = 0;

	w->path = dir;
	if (blob_open(NULL, path, BLOB_READ, &blob, &why) ||
	    index_open(blob, &b.index, &why)) {
		conprof_report_damage(w, "the block is skipped: %s", why.msg);
		return 0;
	}
	read_chunk_files(w, dir, &b);
	conprof_read_tombstones(w, dir, &b);
	for (uint32_t i = 0; i < index_series_count(b.index) && !rc; i++) {
		uint32_t ref = 0;

		rc = index_ref(b.index, i, &ref, err);
		if (!rc)
			rc = visit_series(w, &b, ref, err);
	}
	for (size_t i = 0; i < b.file_count; i++)
		buf_fini(&b.files[i]);
	mem_free(b.files);
	tombstones_unref(b.tombstones);
	index_close(b.index);
	return rc;
}

/* Whether path has a subdirectory of this name. */
static bool has_dir(const char *path, const char *name)
{
	CLEANUP(mem_freep) char *at = mem_printf("%s/%s", path, name);
	struct stat st;

	return !stat(at, &st) && S_ISDIR(st.st_mode);
}

/*
 * A data directory of conprof has wal/ but no ranges/; a data directory of
 * everprof has both.
 */
bool conprof_is_dir(const char *path)
{
	CLEANUP(mem_freep) char *key = mem_printf("%s/wal/key", path);

	/* An agent of everprof has a WAL alone, with a key. */
	return has_dir(path, "wal") && !has_dir(path, "ranges") &&
	       access(key, F_OK) < 0;
}

/* Visit all blocks, which are the directories named by a ULID. */
static int walk_blocks(struct walk *w, const char *path, struct err *err)
{
	struct name_list l = { 0 };
	int rc = fs_list(NULL, path, &l, err);

	for (size_t i = 0; i < l.count && !rc; i++) {
		CLEANUP(mem_freep)
		char *dir = mem_printf("%s/%s", path, l.names[i]);
		struct ulid u;

		if (ulid_parse(str_of(l.names[i]), &u))
			rc = walk_block(w, dir, err);
	}
	name_list_fini(&l);
	return rc;
}

int conprof_walk(const char *path, const struct conprof_visitor *v,
		 struct err *err)
{
	CLEANUP(mem_freep) char *wal = mem_printf("%s/wal", path);
	CLEANUP(mem_freep) char *head = mem_printf("%s/chunks_head", path);
	struct walk w = { .v = v, .zstd = zstd_new(), .names_only = true };
	/*
	 * The first pass over the WAL collects the series: head chunks and
	 * samples refer to them by number. The samples are visited in a second
	 * pass, at the end.
	 */
	int rc = walk_wal(&w, wal, true, err);

	w.names_only = false;
	if (!rc)
		rc = walk_blocks(&w, path, err);
	if (!rc)
		rc = walk_head(&w, head, err);
	if (!rc)
		rc = walk_wal(&w, wal, true, err);
	for (size_t i = 0; i < w.count; i++)
		labels_unref(w.series[i].labels);
	mem_free(w.series);
	table_fini(&w.index);
	buf_fini(&w.values);
	buf_fini(&w.record);
	buf_fini(&w.plain);
	zstd_free(w.zstd);
	return rc;
}
