/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/tools/inspect.h"
#include "base/mutex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "tsdb/block/values.h"
#include "tsdb/db/db.h"
#include "tsdb/db/view.h"
#include "tsdb/open/data_dir.h"
#include "tsdb/tools/conprof.h"

bool tsdb_is_dir(const char *path)
{
	struct err err;

	return !tsdb_check_dir(NULL, path, false, &err) &&
	       !conprof_is_dir(path);
}

/* Set *out to the properties of a block, which are all in meta.json. */
static void inspect_describe_block(const struct block *b,
				   char name[ULID_TEXT + 1],
				   struct tsdb_part *out)
{
	ulid_format(&b->meta.ulid, name);
	*out = (struct tsdb_part){ .name = name,
				   .is_block = true,
				   .min_ms = b->meta.min_ms,
				   .max_ms = b->meta.max_ms,
				   .samples = b->meta.samples,
				   .series = b->meta.series,
				   .groups = b->meta.chunks,
				   .bytes = b->bytes,
				   .level = b->meta.level };
}

/*
 * Add to *out the properties of a head that are in memory. The caller holds the
 * head's lock.
 */
static void count_range_locked(const struct head *r, struct tsdb_part *out)
	REQUIRES(r->mu)
{
	out->series = r->index.series;
	out->samples = r->unflushed;
	out->bytes = r->values_end + r->groups_end;
	for (uint32_t i = 0; i < r->index.series; i++)
		out->groups += r->series[i]->group_count;
}

/*
 * Set *out to the properties of a head. Counting the profiles of its chunks
 * reads their metadata.
 */
static void inspect_describe_range(struct head *r, char name[ULID_TEXT + 1],
				   struct tsdb_part *out)
{
	struct chunk_source from = head_source(r);

	ulid_format(&r->ulid, name);
	*out = (struct tsdb_part){ .name = name,
				   .min_ms = r->start,
				   .max_ms = r->start + WINDOW_MS };
	mutex_lock(&r->mu);
	count_range_locked(r, out);
	mutex_unlock(&r->mu);
	for (uint32_t i = 0; i < out->series; i++) {
		struct chunks groups = { 0 };
		struct times times = { 0 };

		head_groups(r, i, INT64_MIN, INT64_MAX, &groups);
		if (!chunks_times(&from, &groups, INT64_MIN, INT64_MAX, &times,
				  NULL))
			out->samples += times.count;
		times_fini(&times);
		chunks_fini(&groups);
	}
}

void tsdb_each_part(struct tsdb *db,
		    void (*fn)(void *ctx, const struct tsdb_part *p), void *ctx)
{
	size_t count;
	struct part *v = db_parts(db, &count);

	for (size_t i = 0; i < count; i++) {
		char name[ULID_TEXT + 1];
		struct tsdb_part p;

		if (v[i].head)
			inspect_describe_range(v[i].head, name, &p);
		else
			inspect_describe_block(v[i].block, name, &p);
		fn(ctx, &p);
	}
	db_parts_free(v, count);
}

struct tally;

/*
 * A table (dictionary of a stripe) that is counted already. All of them are
 * remembered, because the series that share a table are not visited in
 * sequence.
 */
struct counted {
	const struct file *file;
	uint64_t offset;
};

/*
 * Add one chunk to the counts. There is one function of this type for each
 * grouping: by label value, by codec, and by section (a named part of the bytes
 * that a codec stores).
 */
typedef int (*tally_fn)(struct tally *t, struct part p, const struct labels *ls,
			const struct chunk_meta *h, struct err *err);

/*
 * The state of one count. `v` has a row of statistics for each label value, for
 * each codec, or for each section.
 */
struct tally {
	struct str label;
	tally_fn group;
	struct values_reader reader;
	struct buf scratch;
	/* Bytes of the metadata of the chunk that is being counted. */
	size_t head_bytes;
	/* Name of the codec whose sections are being counted. */
	const char *codec;
	VEC(struct counted) tables; /* tables that are counted already */
	struct table table_index;
	struct tsdb_label_stats *v;
	size_t count;
	size_t cap;
	struct table index; /* finds rows of v by value */
};

/* Compare the value of a row with a key, for the hash table. */
static bool inspect_same_value(const void *ctx, uint32_t number,
			       const void *key)
{
	const struct tally *t = ctx;

	return str_is(*(const struct str *)key, t->v[number].value);
}

/* Find the row of a value, or add one. */
static struct tsdb_label_stats *tally_of(struct tally *t, struct str value)
{
	uint64_t hash = hash_key(bytes_of(value));
	uint32_t n = table_find(&t->index, hash, inspect_same_value, t, &value);

	if (n == TABLE_NONE) {
		t->v = mem_grow(t->v, t->count, &t->cap, sizeof(*t->v));
		n = (uint32_t)t->count++;
		t->v[n] = (struct tsdb_label_stats){ .value = mem_strndup(
							     value) };
		table_add(&t->index, hash, n);
	}
	return &t->v[n];
}

/* Add a chunk to the counts of a row. */
static void count_group(const struct tally *t, struct tsdb_label_stats *s,
			const struct chunk_meta *h)
{
	s->head_bytes += t->head_bytes;
	s->profiles += h->count;
	s->stored_bytes += h->place.len;
	for (size_t i = 0; i < h->count; i++)
		s->raw_bytes += h->profiles[i].raw_len;
}

/* Count a chunk in the row of its label value. */
static int by_label(struct tally *t, struct part p UNUSED,
		    const struct labels *ls, const struct chunk_meta *h,
		    struct err *err UNUSED)
{
	count_group(t, tally_of(t, labels_get(ls, t->label)), h);
	return 0;
}

/*
 * Compare the place (file and offset) of table i with a key, for the hash
 * table.
 */
static bool same_table(const void *ctx, uint32_t i, const void *key)
{
	const struct tally *t = ctx;

	return !memcmp(&t->tables.v[i], key, sizeof(struct counted));
}

/*
 * Whether the chunk's table was not counted yet. If so, the table is recorded
 * as counted.
 */
static bool is_new_table(struct tally *t, struct part p,
			 const struct chunk_meta *h)
{
	struct counted c = { part_values(p, h), h->place.table.offset };
	uint64_t hash =
		hash_key((struct bytes){ (const uint8_t *)&c, sizeof(c) });

	if (!h->place.table.len ||
	    table_find(&t->table_index, hash, same_table, t, &c) != TABLE_NONE)
		return false;
	table_add(&t->table_index, hash, (uint32_t)t->tables.count);
	*vec_add(&t->tables) = c;
	return true;
}

/* Find or add the row with the name "CODEC: WHAT". */
static struct tsdb_label_stats *
inspect_get_named(struct tally *t, const char *codec, const char *what)
{
	char name[80];

	snprintf(name, sizeof(name), "%s: %s", codec, what);
	return tally_of(t, str_of(name));
}

/*
 * Count a chunk in the row of its codec. Its table is counted in a separate
 * row.
 */
static int by_codec(struct tally *t, struct part p,
		    const struct labels *ls UNUSED, const struct chunk_meta *h,
		    struct err *err UNUSED)
{
	const struct codec *codec = values_codec(p, h->codec);
	const char *name = codec ? codec->name : "unknown";

	count_group(t, tally_of(t, str_of(name)), h);
	if (is_new_table(t, p, h))
		inspect_get_named(t, name, "tables")->stored_bytes +=
			h->place.table.len;
	return 0;
}

/* Add the bytes of one section of a chunk or table. */
static void count_section(void *ctx, const char *section, size_t bytes)
{
	struct tally *t = ctx;

	inspect_get_named(t, t->codec, section)->stored_bytes += bytes;
}

/*
 * Count the sections of a chunk, and of its table if that was not counted yet.
 * Damaged chunks and tables are left out.
 */
static int by_section(struct tally *t, struct part p,
		      const struct labels *ls UNUSED,
		      const struct chunk_meta *h, struct err *err)
{
	const struct codec *codec = values_codec(p, h->codec);
	const struct file *f = part_values(p, h);
	struct chunk_place table = { .offset = h->place.table.offset,
				     .len = h->place.table.len,
				     .crc = h->place.table.crc };
	struct bytes stored;
	int rc;

	if (!codec || !codec->sections || !f)
		return 0;
	t->codec = codec->name;
	rc = values_stored(&t->reader, f, &h->place, &stored, err);
	if (!rc)
		codec->sections(stored, false, count_section, t);
	if (rc || !is_new_table(t, p, h))
		return rc == ERR_CORRUPT ? 0 : rc;
	rc = values_stored(&t->reader, f, &table, &stored, err);
	if (!rc)
		codec->sections(stored, true, count_section, t);
	return rc == ERR_CORRUPT ? 0 : rc;
}

/*
 * Count all chunks of a series of a part. Damaged metadata is skipped:
 * verification reports damage.
 */
static int tally_series(struct tally *t, struct part p, uint32_t series,
			struct err *err)
{
	struct chunk_source from = part_source(p);
	struct chunks groups = { 0 };
	struct labels *ls = NULL;
	int rc = part_labels(p, series, &ls, err);

	if (!rc)
		rc = part_groups(p, series, INT64_MIN, INT64_MAX, &groups, err);
	for (size_t i = 0; i < groups.count && !rc; i++) {
		struct chunk_meta h = { 0 };
		struct bytes stored = { 0 };

		if (from.meta(from.ctx, &groups.v[i], &t->scratch, &stored,
			      NULL) ||
		    chunk_read_meta(&from, &groups.v[i], &h, NULL, NULL))
			continue;
		t->head_bytes = stored.len;
		rc = t->group(t, p, ls, &h, err);
	}
	chunks_fini(&groups);
	labels_unref(ls);
	return rc;
}

/* Count all chunks of all series of a part. */
static int tally_part(struct tally *t, struct part p, struct err *err)
{
	const struct selection everything = { .from = INT64_MIN,
					      .to = INT64_MAX };
	struct postings all = { 0 };
	int rc = part_select(p, &everything, &all, err);

	for (size_t i = 0; i < all.count && !rc; i++)
		rc = tally_series(t, p, all.v[i], err);
	postings_fini(&all);
	return rc;
}

/* Comparison for the order of rows: by value. */
static int by_value(const void *a, const void *b)
{
	return strcmp(((const struct tsdb_label_stats *)a)->value,
		      ((const struct tsdb_label_stats *)b)->value);
}

/*
 * Add up the label statistics of all parts in `t`, and pass its rows to `fn` in
 * the order of their values. Frees `t`.
 */
static int tell_tally(struct tsdb *db, struct tally t,
		      void (*fn)(void *ctx, const struct tsdb_label_stats *s),
		      void *ctx, struct err *err)
{
	size_t count;
	struct part *v = db_parts(db, &count);
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++)
		rc = tally_part(&t, v[i], err);
	values_reader_fini(&t.reader);
	buf_fini(&t.scratch);
	db_parts_free(v, count);
	if (t.count)
		qsort(t.v, t.count, sizeof(*t.v), by_value);
	for (size_t i = 0; i < t.count; i++) {
		if (!rc)
			fn(ctx, &t.v[i]);
		mem_free(t.v[i].value);
	}
	mem_free(t.v);
	vec_fini(&t.tables);
	table_fini(&t.table_index);
	table_fini(&t.index);
	return rc;
}

int tsdb_label_stats(struct tsdb *db, const char *label,
		     void (*fn)(void *ctx, const struct tsdb_label_stats *s),
		     void *ctx, struct err *err)
{
	return tell_tally(
		db, (struct tally){ .label = str_of(label), .group = by_label },
		fn, ctx, err);
}

int tsdb_codec_stats(struct tsdb *db,
		     void (*fn)(void *ctx, const struct tsdb_label_stats *s),
		     void *ctx, struct err *err)
{
	return tell_tally(db, (struct tally){ .group = by_codec }, fn, ctx,
			  err);
}

int tsdb_section_stats(struct tsdb *db,
		       void (*fn)(void *ctx, const struct tsdb_label_stats *s),
		       void *ctx, struct err *err)
{
	return tell_tally(db, (struct tally){ .group = by_section }, fn, ctx,
			  err);
}
