/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/tools/conprof.h"

#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/file_slurp.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/zstd.h"
#include "tsdb/block/block.h"
#include "tsdb/block/tombstones.h"
#include "tsdb/index/index.h"
#include "tsdb/io/ulid.h"
#include "tsdb/tools/conprof_head.h"
#include "tsdb/tools/conprof_walk.h"

/* Value of a chunk's encoding byte that means byte slices. */
#define ENCODING_BYTES 1

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
