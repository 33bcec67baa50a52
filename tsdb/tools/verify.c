/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/tools/verify.h"

#include <stdarg.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/units.h"
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
#include "tsdb/tools/verify_files.h"
#include "tsdb/wal/wal.h"

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
 * Compares the checksums of the block's files with meta.json, decodes all
 * chunks, and compares the numbers of series and profiles with meta.json.
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
		verify_report(v, path, "is a copy of block %s", name);
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
		else if (aside_is_name(l.names[i]))
			verify_report(
				v, path,
				"was set aside because it could not be read");
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

		if (aside_is_name(l.names[i]))
			verify_report(
				v, at,
				"was set aside because it could not be read");
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

		if (aside_is_name(l.names[i]))
			verify_report(
				v, at,
				"was set aside because it could not be read completely");
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
			"%llu profiles are only in the WAL: a head block or block that contained them is missing (starting the server or tsdb repair restores them)",
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
