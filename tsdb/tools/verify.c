/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/tools/verify.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/crc32c.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/units.h"
#include "tsdb/block/block.h"
#include "tsdb/block/block_writer.h"
#include "tsdb/block/part.h"
#include "tsdb/block/values.h"
#include "tsdb/head/head_open.h"
#include "tsdb/io/dirlock.h"
#include "tsdb/io/record.h"
#include "tsdb/io/trash.h"
#include "tsdb/maintain/stats.h"
#include "tsdb/open/data_dir.h"
#include "tsdb/open/tsdb.h"
#include "tsdb/wal/body.h"
#include "tsdb/wal/wal.h"

/*
 * Verifies single files: the checksum of a block's file, and the records of log
 * files.
 */

#define PIECE MIB /* number of bytes read at once */

/*
 * Count a problem in the file `path`, and report it to the caller of the
 * verification by v->found().
 */
static void PRINTF(3, 4)
	verify_report(struct verify *v, const char *path, const char *fmt, ...)
{
	char what[600];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	v->problems++;
	v->found(v->ctx, path, what);
}

/* Say why something has the name of what everprof has set aside. */
static const char *verify_aside_text(const char *name)
{
	return strstr(name, ASIDE_UNREAD) ?
		       "the disk could not read this, or a part of it, so everprof has kept it under another name" :
		       "this was damaged, so everprof has renamed it";
}

/* Compare the checksum of a block's file with the checksum in meta.json. */
static void verify_file(struct verify *v, const struct block *b,
			const struct meta_file *f)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", b->path, f->name);
	CLEANUP(mem_freep) uint8_t *piece = mem_alloc(PIECE);
	CLEANUP(file_closep) struct file *file = NULL;
	uint32_t crc = 0;
	struct err err;
	int rc = file_open(NULL, path, FILE_READ, &file, &err);

	for (uint64_t at = 0; at < f->size && !rc;) {
		size_t n = f->size - at < PIECE ? (size_t)(f->size - at) :
						  PIECE;

		rc = file_read(file, at, piece, n, &err);
		if (!rc)
			crc = crc32c_extend(crc, (struct bytes){ piece, n });
		at += n;
	}
	v->bytes += f->size;
	if (rc)
		verify_report(v, path, "%s", err.msg);
	else if (crc != f->crc)
		verify_report(v, path, "checksum mismatch with meta.json");
}

/* The state of verifying one log file. */
struct log_verify {
	struct verify *v;
	const char *path;
	struct body_decoder decoder;
	struct buf raw;
};

/*
 * Callback for bytes that are not a record. A torn end (a record that the end
 * of the file cuts off) is left to verify_records(), which knows whether a
 * server may be writing to the log.
 */
static void damaged_stretch(void *ctx, uint64_t offset, uint64_t len, bool torn)
{
	struct log_verify *l = ctx;

	if (!torn)
		verify_report(
			l->v, l->path,
			"at offset %llu: %llu bytes are not a valid record",
			(unsigned long long)offset, (unsigned long long)len);
}

/* Whether all bytes are zero. */
static bool verify_all_zero(struct bytes b)
{
	for (size_t i = 0; i < b.len; i++) {
		if (b.ptr[i])
			return false;
	}
	return true;
}

/*
 * The padding after a record's body; it may be shorter at the end of the file.
 * No reader uses the padding, but verification checks every byte.
 */
static struct bytes padding_of(struct bytes file, uint64_t end,
			       const struct record *r)
{
	uint64_t from =
		end - r->len + RECORD_HEADER + r->head.len + r->body.len;
	uint64_t to = end < file.len ? end : file.len;

	return (struct bytes){ .ptr = file.ptr + from,
			       .len = (size_t)(to - from) };
}

/*
 * Verify the padding and body of a record. A profile in the WAL is also
 * decoded.
 */
static void verify_record(struct log_verify *l, const struct record *r,
			  struct bytes padding)
{
	struct segment_profile p = { 0 };
	struct err err = { .msg = "checksum mismatch of the stored profile" };
	unsigned long long at = (uint32_t)r->position;

	if (!verify_all_zero(padding))
		verify_report(
			l->v, l->path,
			"at offset %llu: the unused bytes after a record are damaged (no profile is lost)",
			at);
	if (r->body.len && !r->body_ok)
		verify_report(
			l->v, l->path,
			"at offset %llu: checksum mismatch of the content of a record",
			at);
	else if (r->kind != SEGMENT_PROFILE || r->position >> 32 == 0)
		return; /* the record is not a profile in the WAL */
	else if (segment_profile_decode(r, &p, &err) ||
		 body_decode(&l->decoder, &p, &l->raw, &err))
		verify_report(l->v, l->path, "at offset %llu: %s", at, err.msg);
	else
		l->v->profiles++;
}

/*
 * Whether the bytes after the last record are the footer of a sealed segment.
 */
static bool is_footer(struct bytes rest, const struct file_header *h)
{
	uint64_t at;

	return rest.len == SEGMENT_FOOTER &&
	       segment_footer_decode(rest, h->salt, &at);
}

/*
 * Verify all records of a log. `base` is the LSN of the first byte of a WAL
 * segment; 0 for other logs. `live` says that a server may be writing to the
 * file; the end of the file is then not checked. `sealed` says that the file
 * should end with a segment directory (a list of the segment's profiles).
 */
static void verify_records(struct log_verify *l, struct bytes file,
			   const struct file_header *h, uint64_t base,
			   bool live, bool sealed)
{
	struct record_iter it = { .file = file,
				  .salt = h->salt,
				  .base = base,
				  .offset = FILE_HEADER,
				  .end = FILE_HEADER,
				  .damaged = damaged_stretch,
				  .ctx = l };
	struct record r = { 0 };
	struct bytes rest;

	while (record_next(&it, &r))
		verify_record(l, &r, padding_of(file, it.offset, &r));
	if (live)
		return;
	rest = (struct bytes){ .ptr = file.ptr + it.end, .len = 0 };
	if (it.end < file.len)
		rest.len = (size_t)(file.len - it.end);
	if (is_footer(rest, h))
		return;
	if (it.end != file.len)
		verify_report(
			l->v, l->path,
			"at offset %llu: the last record of the file is incomplete (normal after a crash) or damaged",
			(unsigned long long)it.end);
	else if (sealed)
		verify_report(
			l->v, l->path,
			"the WAL segment was not closed (normal after a crash): its last records may be missing");
}

/*
 * Verify the header and all records of a log file. `magic` is the kind of
 * file. `live` says that a server may be writing to the file, so that an
 * incomplete end is no damage. `sealed` says that the file should end with a
 * segment directory (a list of the segment's profiles) and a footer. A missing
 * file is no problem.
 */
static void verify_log(struct verify *v, const char *path, uint32_t magic,
		       bool live, bool sealed)
{
	struct log_verify l = { .v = v, .path = path };
	struct file_header h = { 0 };
	struct buf bytes = { 0 };
	struct err err;
	struct file *f = NULL;
	int rc = file_open(NULL, path, FILE_READ, &f, &err);

	if (!rc)
		rc = file_read_all(f, &bytes, &err);
	file_close(f);
	if (rc == ERR_NOTFOUND)
		/*
		 * The running server has removed the file, or it was never
		 * created.
		 */
		return;
	v->bytes += bytes.len;
	if (!rc)
		rc = file_header_decode(buf_bytes(&bytes), magic, &h, &err);
	/* A running server may not have written the header yet. */
	if (rc && !(live && bytes.len < FILE_HEADER))
		verify_report(v, path, "%s", err.msg);
	if (!rc && magic == MAGIC_TOMBSTONES && bytes.len == FILE_HEADER)
		verify_report(
			v, path,
			"the file has a header, but no tombstones: deleted profiles may show up again");
	/*
	 * Readers use only one of the two copies of the header, so they would
	 * not notice damage to the other copy.
	 */
	if (!rc && memcmp(bytes.ptr, bytes.ptr + FILE_HEADER / 2,
			  FILE_HEADER / 2) != 0)
		verify_report(
			v, path,
			"one of the two copies of the file header is damaged (no profile is lost)");
	if (!rc)
		verify_records(&l, buf_bytes(&bytes), &h,
			       magic == MAGIC_SEGMENT ? h.number << 32 : 0,
			       live, sealed);
	body_decoder_fini(&l.decoder);
	buf_fini(&l.raw);
	buf_fini(&bytes);
}

/*
 * Verify the header and length of a head's values file, but not its chunks.
 */
static void verify_values(struct verify *v, const struct head *r, bool live)
{
	uint8_t first[FILE_HEADER] = { 0 };
	struct bytes b = { .ptr = first, .len = sizeof(first) };
	const char *path = file_path(r->values);
	struct file_header h = { 0 };
	uint64_t size = 0;
	struct err err;
	int rc = file_read(r->values, 0, first, sizeof(first), &err);

	if (!rc)
		rc = file_header_decode(b, MAGIC_VALUES, &h, &err);
	if (!rc)
		rc = file_size(r->values, &size, &err);
	v->bytes += size;
	if (rc)
		verify_report(v, path, "%s", err.msg);
	else if (memcmp(first, first + FILE_HEADER / 2, FILE_HEADER / 2) != 0)
		verify_report(
			v, path,
			"one of the two copies of the file header is damaged (no profile is lost)");
	else if (size != r->values_end && !live)
		verify_report(
			v, path,
			"the file has %llu bytes, but the log of the head block (file \"groups\") accounts for %llu (more bytes are normal after a crash; if there are fewer, profiles are lost)",
			(unsigned long long)size,
			(unsigned long long)r->values_end);
}

/* The state of verifying one part. */
struct part_verify {
	struct verify *v;
	struct part part;
	const char *path;
	struct values_reader reader;
	struct values values;
};

/*
 * Verify a chunk: read its metadata, decode its profiles and compare their
 * hashes.
 */
static void verify_group(struct part_verify *p, const struct labels *ls,
			 const struct chunk *g)
{
	struct chunk_source from = part_source(p->part);
	struct chunk_meta h = { 0 };
	struct buf labels = { 0 };
	char time[40];
	struct err err;
	int rc = chunk_read_meta(&from, g, &h, NULL, &err);

	if (rc) {
		verify_report(p->v, p->path, "%s", err.msg);
		return;
	}
	rc = values_all(&p->reader, p->part, &h, &p->values, &err);
	if (!rc) {
		p->v->profiles += h.count;
		return;
	}
	if (ls)
		labels_text(ls, &labels);
	time_format(h.profiles[0].ms, time);
	verify_report(p->v, p->path,
		      "a chunk of %u profiles of %.100s, from %s on: %s",
		      h.count, buf_cstr(&labels), time, err.msg);
	buf_fini(&labels);
}

/* Verify all chunks of a series. */
static void verify_series(struct part_verify *p, uint32_t series)
{
	struct chunks groups = { 0 };
	struct labels *ls = NULL;
	struct err err;
	int rc = part_groups(p->part, series, INT64_MIN, INT64_MAX, &groups,
			     &err);

	if (!rc)
		rc = part_labels(p->part, series, &ls, &err);
	if (rc)
		verify_report(p->v, p->path, "%s", err.msg);
	for (size_t i = 0; i < groups.count; i++)
		verify_group(p, ls, &groups.v[i]);
	labels_unref(ls);
	chunks_fini(&groups);
}

/* Verify all series of a part. */
static void verify_part(struct verify *v, struct part part, const char *path)
{
	const struct selection everything = { .from = INT64_MIN,
					      .to = INT64_MAX };
	struct part_verify p = { .v = v, .part = part, .path = path };
	struct postings all = { 0 };
	struct err err;

	if (part_select(part, &everything, &all, &err))
		verify_report(v, path, "%s", err.msg);
	for (size_t i = 0; i < all.count; i++)
		verify_series(&p, all.v[i]);
	postings_fini(&all);
	values_reader_fini(&p.reader);
	buf_fini(&p.values.bytes);
}

/*
 * Compare the checksums of the block's files with meta.json, decode all
 * chunks, and compare the numbers of series and profiles with meta.json.
 */
void verify_open_block(struct verify *v, struct block *b)
{
	uint64_t before = v->profiles;

	if (b->damaged)
		verify_report(
			v, b->path,
			"%llu files of the block are missing, damaged or unreadable",
			(unsigned long long)b->damaged);
	for (size_t i = 0; i < b->meta.file_count; i++)
		verify_file(v, b, &b->meta.files[i]);
	verify_part(v, (struct part){ .block = b }, b->path);
	if (index_series_count(b->index) != b->meta.series)
		verify_report(
			v, b->path,
			"the index has %u series, but meta.json says %llu",
			index_series_count(b->index),
			(unsigned long long)b->meta.series);
	if (v->profiles - before != b->meta.samples)
		verify_report(v, b->path,
			      "only %llu of %llu profiles are readable",
			      (unsigned long long)(v->profiles - before),
			      (unsigned long long)b->meta.samples);
}

/* Open and verify a block. */
static void verify_block(struct verify *v, const struct block_env *env,
			 const char *path)
{
	struct block *b = NULL;
	char name[ULID_TEXT + 1];
	struct err err;
	int rc = block_open(env, path, &b, &err);

	v->blocks++;
	if (rc == ERR_NOTFOUND) {
		CLEANUP(mem_freep) char *gone = mem_printf("%s/chunks", path);
		struct name_list l = { 0 };

		/*
		 * If the directory is gone, the running server has removed the
		 * block since the data directory was listed.
		 */
		if (fs_list(NULL, gone, &l, NULL))
			return;
		name_list_fini(&l);
	}
	if (rc) {
		verify_report(v, path, "%s", err.msg);
		return;
	}
	ulid_format(&b->meta.ulid, name);
	if (strcmp(strrchr(path, '/') + 1, name) != 0)
		verify_report(
			v, path,
			"the name of the directory is not the ULID in its meta.json: it is a copy of block %s, or that block was renamed",
			name);
	verify_open_block(v, b);
	block_unref(b);
}

/* Open and verify a head, with its log files. */
static void verify_head(struct verify *v, struct head_env *env,
			const char *name, bool live)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", env->dir, name);
	CLEANUP(mem_freep) char *groups = mem_printf("%s/groups", path);
	CLEANUP(mem_freep) char *gone = mem_printf("%s/tombstones", path);
	struct head *r = NULL;
	struct err err;
	int rc = head_open(env, name, &r, &err);

	v->heads++;
	if (rc == ERR_NOTFOUND)
		/*
		 * The head was never completely created, or the running server
		 * has removed it.
		 */
		return;
	if (rc) {
		verify_report(v, path, "%s", err.msg);
		return;
	}
	verify_log(v, groups, MAGIC_GROUPS, live, false);
	verify_log(v, gone, MAGIC_TOMBSTONES, false, false);
	verify_values(v, r, live);
	verify_open_head(v, r);
	head_unref(r);
}

void verify_open_head(struct verify *v, struct head *r)
{
	verify_part(v, (struct part){ .head = r }, r->path);
}

/*
 * Verify all blocks of a data directory. Directories that an earlier startup
 * has renamed because they are damaged are reported as problems, too.
 */
static int verify_blocks(struct verify *v, const char *dir,
			 struct metric *ignored, struct err *err)
{
	struct block_env env = { .dir = dir,
				 .log = v->log,
				 .corruptions = ignored,
				 .columns = v->columns };
	struct name_list l = { 0 };
	int rc = fs_list(NULL, dir, &l, err);

	if (v->columns)
		env.tables = tables_new(v->columns, 0);
	for (size_t i = 0; i < l.count && !rc; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s/%s", dir, l.names[i]);
		struct ulid u;

		if (ulid_parse(str_of(l.names[i]), &u))
			verify_block(v, &env, path);
		else if (trash_is_aside_name(l.names[i]))
			verify_report(v, path, "%s",
				      verify_aside_text(l.names[i]));
	}
	name_list_fini(&l);
	tables_free(env.tables);
	return rc;
}

/*
 * Verify all heads of a data directory. They are opened read-only, so that
 * nothing is repaired.
 */
static void verify_heads(struct verify *v, const char *dir,
			 struct metric *ignored, bool live)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/ranges", dir);
	struct head_env env = { .dir = path,
				.log = v->log,
				.corruptions = ignored,
				.torn = ignored,
				.read_only = true };
	struct name_list l = { 0 };

	if (fs_list(NULL, path, &l, NULL))
		/* A new database has no heads yet. */
		return;
	env.interner = interner_new();
	for (size_t i = 0; i < l.count; i++) {
		CLEANUP(mem_freep)
		char *at = mem_printf("%s/%s", path, l.names[i]);

		if (trash_is_aside_name(l.names[i]))
			verify_report(v, at, "%s",
				      verify_aside_text(l.names[i]));
		else if (!strstr(l.names[i], HEAD_DELETE_SUFFIX))
			verify_head(v, &env, l.names[i], live);
	}
	interner_free(env.interner);
	name_list_fini(&l);
}

/* Whether a file in wal/ is a segment. */
static bool is_segment(const char *name)
{
	return strspn(name, "0123456789") == strlen(name);
}

/*
 * Index of the last segment, to which a running server writes. Names are
 * sorted, but other files may follow the segments.
 */
static size_t last_segment(const struct name_list *l)
{
	size_t last = l->count;

	for (size_t i = 0; i < l->count; i++) {
		if (is_segment(l->names[i]))
			last = i;
	}
	return last;
}

/* Verify all WAL segments. */
static void verify_wal(struct verify *v, const char *dir, bool live)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/wal", dir);
	struct name_list l = { 0 };
	size_t last;

	if (fs_list(NULL, path, &l, NULL))
		return;
	last = last_segment(&l);
	for (size_t i = 0; i < l.count; i++) {
		CLEANUP(mem_freep)
		char *at = mem_printf("%s/%s", path, l.names[i]);

		if (trash_is_aside_name(l.names[i]))
			verify_report(v, at, "%s",
				      verify_aside_text(l.names[i]));
		if (!is_segment(l.names[i]))
			continue;
		v->segments++;
		verify_log(v, at, MAGIC_SEGMENT, live && i == last, true);
	}
	name_list_fini(&l);
}

/*
 * Report profiles that are only in the WAL although a head or block should have
 * them. Opening the database read-only finds them without changing anything.
 */
static void verify_recovered(struct verify *v, const char *dir)
{
	struct metrics *m = metrics_new();
	struct tsdb_options o = { .path = dir,
				  .metrics = m,
				  .columns = v->columns,
				  .read_only = true };
	struct tsdb *db = NULL;
	uint64_t n = 0;

	if (!tsdb_open(&o, &db, NULL))
		n = tsdb_recovered(db);
	if (n)
		verify_report(
			v, dir,
			"%llu profiles are only in the WAL: a head block or block that contained them is missing, damaged or unreadable (starting the server or tsdb repair restores them)",
			(unsigned long long)n);
	tsdb_close(db);
	metrics_free(m);
}

int tsdb_verify(const char *dir, struct verify *v, struct err *err)
{
	bool live = dirlock_is_held(dir);
	int checked = tsdb_check_dir(NULL, dir, false, err);
	struct metrics *m = metrics_new();
	struct metric *ignored =
		metrics_counter(m, "corruptions", "Not shown.", NULL);
	int rc;

	if (checked) {
		metrics_free(m);
		return checked;
	}
	/*
	 * Verify the WAL first, then the heads, then the blocks, because
	 * profiles move in this order. If a running server moves a profile
	 * during the verification, the profile is seen twice rather than not at
	 * all.
	 */
	verify_wal(v, dir, live);
	verify_heads(v, dir, ignored, live);
	rc = verify_blocks(v, dir, ignored, err);
	if (!rc && !live)
		verify_recovered(v, dir);
	metrics_free(m);
	return rc;
}
