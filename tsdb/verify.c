/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/verify.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "tsdb/block_writer.h"
#include "tsdb/body.h"
#include "tsdb/dirlock.h"
#include "tsdb/part.h"
#include "tsdb/record.h"
#include "tsdb/tools.h"
#include "tsdb/trash.h"
#include "tsdb/values.h"
#include "tsdb/wal.h"

#define PIECE MIB /* read at once */

static void PRINTF(3, 4)
	report(struct verify *v, const char *path, const char *fmt, ...)
{
	char what[600];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	v->problems++;
	v->found(v->ctx, path, what);
}

/* Parts: every profile of every series. */

struct part_verify {
	struct verify *v;
	struct part part;
	const char *path;
	struct values_reader reader;
	struct values values;
};

static void verify_group(struct part_verify *p, const struct group_source *from,
			 const struct group *g)
{
	struct head h = { 0 };
	struct err err;
	int rc = group_head(from, g, &h, NULL, &err);

	if (rc) {
		report(p->v, p->path, "%s", err.msg);
		return;
	}
	rc = values_all(&p->reader, p->part, &h, &p->values, &err);
	if (rc)
		report(p->v, p->path, "%u profiles from %lld: %s", h.count,
		       (long long)h.profiles[0].ms, err.msg);
	else
		p->v->profiles += h.count;
}

static void verify_series(struct part_verify *p, uint32_t series)
{
	struct group_source from = part_source(p->part);
	struct groups groups = { 0 };
	struct labels *ls = NULL;
	struct err err;
	int rc = part_groups(p->part, series, INT64_MIN, INT64_MAX, &groups,
			     &err);

	if (!rc)
		rc = part_labels(p->part, series, &ls, &err);
	if (rc)
		report(p->v, p->path, "%s", err.msg);
	for (size_t i = 0; i < groups.count; i++)
		verify_group(p, &from, &groups.v[i]);
	labels_unref(ls);
	groups_fini(&groups);
}

static void verify_part(struct verify *v, struct part part, const char *path)
{
	const struct selection everything = { .from = INT64_MIN,
					      .to = INT64_MAX };
	struct part_verify p = { .v = v, .part = part, .path = path };
	struct postings all = { 0 };
	struct err err;

	if (part_select(part, &everything, &all, &err))
		report(v, path, "%s", err.msg);
	for (size_t i = 0; i < all.count; i++)
		verify_series(&p, all.v[i]);
	postings_fini(&all);
	values_reader_fini(&p.reader);
	buf_fini(&p.values.bytes);
}

/* Blocks. */

/* A file's length and checksum, against meta.json. */
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
			crc = crc32c(crc, (struct bytes){ piece, n });
		at += n;
	}
	v->bytes += f->size;
	if (rc)
		report(v, path, "%s", err.msg);
	else if (crc != f->crc)
		report(v, path, "its checksum differs");
}

void verify_open_block(struct verify *v, struct block *b)
{
	uint64_t before = v->profiles;

	if (b->damaged)
		report(v, b->path, "%llu of its files are damaged",
		       (unsigned long long)b->damaged);
	for (size_t i = 0; i < b->meta.file_count; i++)
		verify_file(v, b, &b->meta.files[i]);
	verify_part(v, (struct part){ .block = b }, b->path);
	if (index_series_count(b->index) != b->meta.series)
		report(v, b->path,
		       "the index has %u series, meta.json says %llu",
		       index_series_count(b->index),
		       (unsigned long long)b->meta.series);
	if (v->profiles - before != b->meta.samples)
		report(v, b->path, "%llu profiles are whole, of %llu",
		       (unsigned long long)(v->profiles - before),
		       (unsigned long long)b->meta.samples);
}

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

		/* Removed by the server beside us while we listed. */
		if (fs_list(NULL, gone, &l, NULL))
			return;
		name_list_fini(&l);
	}
	if (rc) {
		report(v, path, "%s", err.msg);
		return;
	}
	ulid_format(&b->meta.ulid, name);
	if (strcmp(strrchr(path, '/') + 1, name) != 0)
		report(v, path, "is the copy of block %s", name);
	verify_open_block(v, b);
	block_unref(b);
}

/* Logs: segments of the WAL, and those of ranges. */

struct log_verify {
	struct verify *v;
	const char *path;
	struct body_decoder decoder;
	struct buf raw;
};

static void damaged_stretch(void *ctx, uint64_t offset, uint64_t len, bool torn)
{
	struct log_verify *l = ctx;

	if (!torn)
		report(l->v, l->path, "at %llu: %llu bytes are no record",
		       (unsigned long long)offset, (unsigned long long)len);
}

static bool all_zero(struct bytes b)
{
	for (size_t i = 0; i < b.len; i++) {
		if (b.ptr[i])
			return false;
	}
	return true;
}

/*
 * What no reader looks at: zeros behind a record's body, which may be cut at
 * the end of the file.
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

static void verify_record(struct log_verify *l, const struct record *r,
			  struct bytes padding)
{
	struct segment_profile p = { 0 };
	struct err err = { .msg = "a body's checksum differs" };
	unsigned long long at = (uint32_t)r->position;

	if (!all_zero(padding))
		report(l->v, l->path, "at %llu: a record's padding is damaged",
		       at);
	if (r->body.len && !r->body_ok)
		report(l->v, l->path, "at %llu: a body's checksum differs", at);
	else if (r->kind != SEGMENT_PROFILE || r->position >> 32 == 0)
		return; /* not a profile of the WAL */
	else if (segment_profile_decode(r, &p, &err) ||
		 body_decode(&l->decoder, &p, &l->raw, &err))
		report(l->v, l->path, "at %llu: %s", at, err.msg);
	else
		l->v->profiles++;
}

/* What may stand behind the last record: a footer, if it is a segment's. */
static bool is_footer(struct bytes rest, const struct file_header *h)
{
	uint64_t at;

	return rest.len == SEGMENT_FOOTER &&
	       segment_footer_decode(rest, h->salt, &at);
}

/*
 * Go through a log. base: of positions. live: a server may be writing it.
 * sealed: it should end with a directory.
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
		report(l->v, l->path, "at %llu: its end is torn",
		       (unsigned long long)it.end);
	else if (sealed)
		report(l->v, l->path,
		       "it was not closed: what was written last may be missing");
}

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
		return; /* dropped by the server beside us; or never made */
	v->bytes += bytes.len;
	if (!rc)
		rc = file_header_decode(buf_bytes(&bytes), magic, &h, &err);
	if (rc && !(live && bytes.len < FILE_HEADER))
		report(v, path, "%s", err.msg);
	if (!rc && magic == MAGIC_TOMBSTONES && bytes.len == FILE_HEADER)
		report(v, path, "its tombstones are gone");
	/* A reader needs only one copy of the header. */
	if (!rc && memcmp(bytes.ptr, bytes.ptr + FILE_HEADER / 2,
			  FILE_HEADER / 2) != 0)
		report(v, path, "a copy of the file header is damaged");
	if (!rc)
		verify_records(&l, buf_bytes(&bytes), &h,
			       magic == MAGIC_SEGMENT ? h.number << 32 : 0,
			       live, sealed);
	body_decoder_fini(&l.decoder);
	buf_fini(&l.raw);
	buf_fini(&bytes);
}

/* Only its header: groups are checked one by one. */
static void verify_values(struct verify *v, const struct range *r, bool live)
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
		report(v, path, "%s", err.msg);
	else if (memcmp(first, first + FILE_HEADER / 2, FILE_HEADER / 2) != 0)
		report(v, path, "a copy of the file header is damaged");
	else if (size != r->values_end && !live)
		report(v, path, "it has %llu bytes, the log knows of %llu",
		       (unsigned long long)size,
		       (unsigned long long)r->values_end);
}

static void verify_range(struct verify *v, struct range_env *env,
			 const char *name, bool live)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", env->dir, name);
	CLEANUP(mem_freep) char *groups = mem_printf("%s/groups", path);
	CLEANUP(mem_freep) char *gone = mem_printf("%s/tombstones", path);
	struct range *r = NULL;
	struct err err;
	int rc = range_open(env, name, &r, &err);

	v->ranges++;
	if (rc == ERR_NOTFOUND)
		return; /* never begun, or removed beside us */
	if (rc) {
		report(v, path, "%s", err.msg);
		return;
	}
	verify_log(v, groups, MAGIC_GROUPS, live, false);
	verify_log(v, gone, MAGIC_TOMBSTONES, false, false);
	verify_values(v, r, live);
	verify_part(v, (struct part){ .range = r }, path);
	range_unref(r);
}

/* The whole. */

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
		else if (strstr(l.names[i], ASIDE_SUFFIX))
			report(v, path, "was set aside: it cannot be read");
	}
	name_list_fini(&l);
	tables_free(env.tables);
	return rc;
}

static void verify_ranges(struct verify *v, const char *dir,
			  struct metric *ignored, bool live)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/ranges", dir);
	struct range_env env = { .dir = path,
				 .log = v->log,
				 .corruptions = ignored,
				 .torn = ignored,
				 .read_only = true };
	struct name_list l = { 0 };

	if (fs_list(NULL, path, &l, NULL))
		return; /* there is none yet */
	env.interner = interner_new();
	for (size_t i = 0; i < l.count; i++) {
		CLEANUP(mem_freep)
		char *at = mem_printf("%s/%s", path, l.names[i]);

		if (strstr(l.names[i], ASIDE_SUFFIX))
			report(v, at, "was set aside: it cannot be read");
		else if (!strstr(l.names[i], RANGE_DELETE_SUFFIX))
			verify_range(v, &env, l.names[i], live);
	}
	interner_free(env.interner);
	name_list_fini(&l);
}

static bool is_segment(const char *name)
{
	return strspn(name, "0123456789") == strlen(name);
}

/* Names are sorted, but a segment need not be the last of them. */
static size_t last_segment(const struct name_list *l)
{
	size_t last = l->count;

	for (size_t i = 0; i < l->count; i++) {
		if (is_segment(l->names[i]))
			last = i;
	}
	return last;
}

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

		if (strstr(l.names[i], ASIDE_SUFFIX))
			report(v, at, "was set aside: it cannot be read whole");
		if (!is_segment(l.names[i]))
			continue;
		v->segments++;
		verify_log(v, at, MAGIC_SEGMENT, live && i == last, true);
	}
	name_list_fini(&l);
}

/* What the WAL alone has, though a range or a block should have it, too. */
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
		report(v, dir,
		       "%llu profiles are in the WAL alone: a range or a block that had them is not there (a start, and repair, take them back)",
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
	/* In the order in which profiles move, so that none is missed. */
	verify_wal(v, dir, live);
	verify_ranges(v, dir, ignored, live);
	rc = verify_blocks(v, dir, ignored, err);
	if (!rc && !live)
		verify_recovered(v, dir);
	metrics_free(m);
	return rc;
}
