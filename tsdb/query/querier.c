/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/query/querier.h"

#include <stdlib.h>

#include "model/types.h"
#include "tsdb/db/view.h"
#include "tsdb/query/querier_private.h"
#include "tsdb/wal/wal_segment.h"

const struct err *querier_lost(const struct querier *q)
{
	return q->lost ? &q->lost_why : NULL;
}

uint64_t querier_lost_count(const struct querier *q)
{
	return q->lost;
}

/* The first error is kept, because it is usually the cause of later errors. */
void querier_note_lost(struct querier *q, uint64_t count, const struct err *why)
{
	if (q->lost == q->absent)
		q->lost_why = *why;
	q->lost += count;
}

int querier_note_failed(struct querier *q, int rc, const struct err *why)
{
	if ((rc == ERR_CORRUPT || rc == ERR_IO) && !q->failed++ && why)
		q->failed_why = *why;
	return rc;
}

/*
 * Count and log the damage that the querier found, once per querier. Absent
 * parts were counted and logged when they could not be opened.
 */
static void querier_tell_damage(struct querier *q)
{
	uint64_t found = q->lost - q->absent;
	uint64_t sum = found + q->failed;

	if (!sum)
		return;
	metric_add(q->db->metrics.damaged, (int64_t)sum);
	log_event(
		q->db->o.log, LOG_ERROR,
		"profiles, chunks or blocks could not be read for a query; its answer lacks them, or is an error",
		LOG_FIELDS(log_int("profiles_or_chunks", (int64_t)sum),
			   log_err(found ? &q->lost_why : &q->failed_why)));
}

/* Note that heads or blocks are missing in the view. */
static void querier_note_unread(struct querier *q)
{
	size_t count = atomic_load(&q->db->unread_count);
	struct err why;

	if (!count)
		return;
	(void)err_set(&why, ERR_IO,
		      "%zu blocks or head blocks cannot be read from the disk",
		      count);
	querier_note_lost(q, count, &why);
	q->absent = count;
}

/*
 * The copy of the view holds a reference to each part, so that files may be
 * removed from the directory while the querier reads them.
 */
void querier_open(struct tsdb *db, const struct limits *limits,
		  struct querier **out)
{
	struct querier *q = mem_new(struct querier);

	q->db = db;
	if (limits)
		q->limits = *limits;
	atomic_fetch_add(&db->queriers, 1);
	q->parts = db_parts(db, &q->part_count);
	querier_note_unread(q);
	*out = q;
}

void querier_close_cursor(struct cursor *c)
{
	chunks_fini(&c->groups);
	c->open = false;
}

/* Drop the selection and what was derived from it. */
static void forget_hits(struct querier *q)
{
	querier_close_cursor(&q->cursor);
	for (size_t i = 0; i < q->count; i++)
		labels_unref(q->hits[i].labels);
	q->count = 0;
	q->label_bytes = 0;
	q->place_count = 0;
}

void querier_close(struct querier *q)
{
	if (!q)
		return;
	querier_tell_damage(q);
	forget_hits(q);
	/* The reader borrows from the blocks, so it is freed before them. */
	values_reader_fini(&q->values);
	db_parts_free(q->parts, q->part_count);
	atomic_fetch_sub(&q->db->queriers, 1);
	mem_free(q->hits);
	mem_free(q->places);
	times_fini(&q->times);
	vec_fini(&q->others);
	vec_fini(&q->totals.rows);
	vec_fini(&q->totals.values);
	vec_fini(&q->totals.typesets);
	arena_fini(&q->totals.text);
	body_decoder_fini(&q->decoder);
	buf_fini(&q->kept.bytes);
	buf_fini(&q->scratch);
	mem_free(q);
}

void querier_closep(struct querier **q)
{
	querier_close(*q);
	*q = NULL;
}

/*
 * Compare the label set of a hit (a selected series) with a key, for the hash
 * table.
 */
static bool querier_same_labels(const void *ctx, uint32_t number,
				const void *key)
{
	const struct querier *q = ctx;

	return bytes_eq(labels_bytes(q->hits[number].labels),
			labels_bytes(key));
}

/*
 * Record that a series is in a part. A series in several parts is one hit with
 * a list of places. Takes over the caller's reference to ls.
 */
static void querier_add_place(struct querier *q, struct table *index,
			      struct labels *ls, uint32_t part, uint32_t series)
{
	uint32_t n = table_find(index, ls->hash, querier_same_labels, q, ls);
	uint32_t at = (uint32_t)q->place_count;

	/* Another list of matchers may have found it in this part already. */
	if (n != TABLE_NONE && q->places[q->hits[n].last].part == part &&
	    q->places[q->hits[n].last].series == series) {
		labels_unref(ls);
		return;
	}
	q->places = mem_grow(q->places, q->place_count, &q->place_cap,
			     sizeof(*q->places));
	q->places[q->place_count++] =
		(struct place){ .part = part, .series = series, .next = NONE };
	if (n != TABLE_NONE) {
		labels_unref(ls);
		q->places[q->hits[n].last].next = at;
		q->hits[n].last = at;
		return;
	}
	q->hits = mem_grow(q->hits, q->count, &q->cap, sizeof(*q->hits));
	table_add(index, ls->hash, (uint32_t)q->count);
	q->label_bytes += sizeof(*ls) + ls->len;
	q->hits[q->count++] =
		(struct hit){ .labels = ls, .first = at, .last = at };
}

/* Compare two hits by their label sets. */
static int querier_by_labels(const void *a, const void *b)
{
	return labels_cmp(((const struct hit *)a)->labels,
			  ((const struct hit *)b)->labels);
}

/* Work of reading the labels of a series, in units of limits_meter(). */
#define LABELS_WORK 16

/* Which series of each part are selected, and what is done with them. */
struct querier_choice {
	const struct matcher_list *any;
	size_t count;
	size_t max; /* of each part and list; 0: all */
	int64_t from;
	int64_t to;
	querier_walk_fn fn; /* NULL: all are added to the hits */
	void *ctx;
	struct table index; /* of the hits */
};

/* Take a series, whose labels the caller gives away. */
static int querier_take(struct querier *q, struct querier_choice *c,
			struct labels *ls, struct place at, struct err *err)
{
	int rc = c->fn ? c->fn(c->ctx, ls, err) : 1;

	if (rc == 1) {
		querier_add_place(q, &c->index, ls, at.part, at.series);
		return 0;
	}
	labels_unref(ls);
	return rc;
}

/* Find the series of one part that a list of matchers matches, and take them. */
static int select_list(struct querier *q, uint32_t part,
		       struct querier_choice *c,
		       const struct matcher_list *list, struct err *err)
{
	const struct selection s = { .matchers = list->v,
				     .count = list->count,
				     .from = c->from,
				     .to = c->to,
				     .limits = q->limits };
	struct part p = q->parts[part];
	struct postings found = { 0 };
	struct growth_meter meter = { 0 };
	int rc = part_select(p, &s, &found, err);
	size_t count = c->max && c->max < found.count ? c->max : found.count;

	for (size_t i = 0; i < count && !rc; i++) {
		uint32_t series = found.v[i * found.count / count];
		struct labels *ls = NULL;

		rc = part_labels(p, series, &ls, err);
		if (!rc)
			rc = querier_take(q, c, ls,
					  (struct place){ .part = part,
							  .series = series },
					  err);
		if (!rc)
			rc = limits_meter(&q->limits, &meter, LABELS_WORK, 0,
					  err);
	}
	postings_fini(&found);
	return rc;
}

/* The same for all lists. */
static int select_part(struct querier *q, uint32_t part,
		       struct querier_choice *c, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < c->count && !rc; i++)
		rc = select_list(q, part, c, &c->any[i], err);
	return rc;
}

/*
 * Record a part that cannot be read, and return 0: the other parts still
 * answer. Any other error ends the query.
 */
static int querier_skip_unreadable(struct querier *q, int rc,
				   const struct err *why, struct err *err)
{
	if (!rc)
		return 0;
	if (rc != ERR_CORRUPT && rc != ERR_IO)
		return err_set(err, rc, "%s", why->msg);
	querier_note_lost(q, 1, why);
	return 0;
}

/*
 * Take the matching series part by part. Series with equal labels of several parts
 * become one hit, and the hits are sorted.
 */
static int querier_choose(struct querier *q, struct querier_choice *c,
			  struct err *err)
{
	int rc = 0;

	forget_hits(q);
	for (uint32_t i = 0; i < q->part_count && !rc; i++) {
		struct err why;

		if (part_min(q->parts[i]) > c->to ||
		    part_max(q->parts[i]) < c->from)
			continue;
		rc = select_part(q, i, c, &why);
		rc = querier_skip_unreadable(q, rc, &why, err);
	}
	table_fini(&c->index);
	if (rc)
		forget_hits(q);
	else if (q->count)
		qsort(q->hits, q->count, sizeof(*q->hits), querier_by_labels);
	return rc;
}

int querier_select(struct querier *q, const struct matcher *v, size_t count,
		   int64_t from, int64_t to, struct err *err)
{
	const struct matcher_list all = { v, count };

	return querier_select_any(q, &all, 1, 0, from, to, err);
}

/* NOLINTNEXTLINE(readability-function-size): what, how many, and when */
int querier_select_any(struct querier *q, const struct matcher_list *any,
		       size_t count, size_t max, int64_t from, int64_t to,
		       struct err *err)
{
	struct querier_choice c = {
		.any = any, .count = count, .max = max, .from = from, .to = to
	};

	return querier_choose(q, &c, err);
}

/* NOLINTNEXTLINE(readability-function-size): what, when, and a callback */
int querier_walk(struct querier *q, const struct matcher_list *any,
		 size_t count, int64_t from, int64_t to, querier_walk_fn fn,
		 void *ctx, struct err *err)
{
	struct querier_choice c = { .any = any,
				    .count = count,
				    .from = from,
				    .to = to,
				    .fn = fn,
				    .ctx = ctx };

	return querier_choose(q, &c, err);
}

void querier_keep(struct querier *q,
		  bool (*keep)(void *ctx, const struct labels *ls), void *ctx)
{
	size_t kept = 0;

	querier_close_cursor(&q->cursor);
	for (size_t i = 0; i < q->count; i++) {
		if (keep(ctx, q->hits[i].labels))
			q->hits[kept++] = q->hits[i];
		else
			labels_unref(q->hits[i].labels);
	}
	q->count = kept;
}

/* Texts that are passed on to a caller until the limits are reached. */
struct texts_reader {
	void (*fn)(void *ctx, struct str text);
	void *ctx;
	const struct limits *limits;
	struct growth_meter meter;
	int rc;
	struct err err;
};

/* Callback of part_texts(): pass a text on. */
static void texts_reader_take(void *ctx, struct str text)
{
	struct texts_reader *r = ctx;

	if (!r->rc)
		r->rc = limits_meter(r->limits, &r->meter, 1, 0, &r->err);
	if (!r->rc)
		r->fn(r->ctx, text);
}

/* NOLINTNEXTLINE(readability-function-size): a range, and a callback */
int querier_texts(struct querier *q, struct str name, int64_t from, int64_t to,
		  void (*fn)(void *ctx, struct str text), void *ctx,
		  struct err *err)
{
	struct texts_reader r = { .fn = fn, .ctx = ctx, .limits = &q->limits };

	for (uint32_t i = 0; i < q->part_count && !r.rc; i++) {
		struct err why;

		if (part_min(q->parts[i]) > to || part_max(q->parts[i]) < from)
			continue;
		/* If one part is unreadable, the other parts still answer. */
		if (part_texts(q->parts[i], name, texts_reader_take, &r, &why))
			querier_note_lost(q, 1, &why);
	}
	return r.rc ? err_set(err, r.rc, "%s", r.err.msg) : 0;
}

/*
 * An estimate, which counts only the memory that grows with the query. It is
 * asked for each profile, so it takes the same time for any selection.
 */
size_t querier_memory(const struct querier *q)
{
	return q->cap * sizeof(*q->hits) + q->place_cap * sizeof(*q->places) +
	       q->label_bytes + values_reader_memory(&q->values) +
	       q->cursor.groups.cap * sizeof(struct chunk) + q->kept.bytes.cap +
	       q->scratch.cap + q->times.cap * sizeof(*q->times.v) +
	       vec_memory(&q->totals.rows) + vec_memory(&q->totals.values);
}

size_t querier_count(const struct querier *q)
{
	return q->count;
}

struct labels *querier_labels(const struct querier *q, size_t i)
{
	return q->hits[i].labels;
}

static int querier_by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Sort times and drop duplicates. Usually the times are sorted already, but two
 * parts may have the same profiles while a flush or a compaction moves them.
 */
static void querier_order(struct times *t)
{
	size_t kept = 0;
	bool sorted = true;

	for (size_t i = 1; i < t->count && sorted; i++)
		sorted = t->v[i - 1] < t->v[i];
	if (sorted)
		return;
	qsort(t->v, t->count, sizeof(*t->v), querier_by_time);
	for (size_t i = 0; i < t->count; i++) {
		if (!kept || t->v[i] != t->v[kept - 1])
			t->v[kept++] = t->v[i];
	}
	t->count = kept;
}

/* The times of all parts are collected, then sorted. */
int querier_times(struct querier *q, size_t i, int64_t from, int64_t to,
		  struct times_view *out, struct err *err)
{
	const struct place *at;
	int rc = 0;

	q->times.count = 0;
	q->times.lost = 0;
	for (uint32_t n = q->hits[i].first; n != NONE && !rc; n = at->next) {
		struct part p;

		at = &q->places[n];
		p = q->parts[at->part];
		if (part_min(p) <= to && part_max(p) >= from)
			rc = part_times(p, at->series, from, to, &q->times,
					err);
	}
	if (q->times.lost)
		querier_note_lost(q, q->times.lost, &q->times.why);
	if (rc)
		return rc;
	querier_order(&q->times);
	*out = (struct times_view){ q->times.v, q->times.count };
	return 0;
}

void querier_on_spend(struct querier *q, querier_spend_fn spend, void *ctx)
{
	q->spend = spend;
	q->spend_ctx = ctx;
}

int querier_spend_bytes(struct querier *q, size_t bytes, struct err *err)
{
	return q->spend && bytes ? q->spend(q->spend_ctx, bytes, err) : 0;
}

/*
 * Find the newest time of series i. It is usually in the part that begins last,
 * so only this part is read first.
 */
static int querier_find_newest(struct querier *q, size_t i, int64_t *ms,
			       struct err *err)
{
	struct times_view t = { 0 };
	int64_t from = INT64_MIN;
	const struct place *at;
	int rc;

	for (uint32_t n = q->hits[i].first; n != NONE; n = at->next) {
		at = &q->places[n];
		if (part_min(q->parts[at->part]) > from)
			from = part_min(q->parts[at->part]);
	}
	rc = querier_times(q, i, from, INT64_MAX, &t, err);
	if (!rc && !t.count)
		/*
		 * The profiles of that part may have been deleted: read all
		 * parts.
		 */
		rc = querier_times(q, i, 0, INT64_MAX, &t, err);
	if (!rc && !t.count)
		rc = err_set(err, ERR_NOTFOUND, "the series has no profile");
	if (!rc)
		*ms = t.ms[t.count - 1];
	return rc;
}

/*
 * Type sets are in the chunk metadata or, for an unflushed profile, in the WAL
 * record.
 */
int querier_newest_types(struct querier *q, size_t i, struct buf *out,
			 struct err *err)
{
	struct segment_profile p = { 0 };
	struct found f = { 0 };
	struct bytes typeset;
	int64_t ms = 0;
	int rc = querier_find_newest(q, i, &ms, err);

	if (!rc)
		rc = querier_lookup(q, i, ms, q->db->wal, &f, err);
	typeset = f.hit.group.typeset;
	if (!rc && f.hit.unflushed && !f.hit.segment)
		rc = err_set(
			err, ERR_NOTFOUND,
			"retention removed the profile while it was being read");
	if (!rc && f.hit.unflushed) {
		rc = wal_segment_head(f.hit.segment, f.hit.wal.lsn,
				      f.hit.wal.len, &q->scratch, &p, err);
		typeset = p.entry.typeset;
	}
	if (!rc)
		buf_add(out, typeset.ptr, typeset.len);
	wal_segment_unref(f.hit.segment);
	return rc;
}

/*
 * The search continues after a part that cannot be read, because a later part
 * may have the profile, too.
 */
int querier_lookup(struct querier *q, size_t i, int64_t ms, struct wal *wal,
		   struct found *f, struct err *err)
{
	int rc = err_set(
		err, ERR_NOTFOUND,
		"it was deleted, or removed by retention, while it was being read");
	const struct place *at;

	for (uint32_t n = q->hits[i].first; n != NONE && rc; n = at->next) {
		struct err why = { 0 };
		int failed;

		at = &q->places[n];
		f->part = q->parts[at->part];
		if (part_min(f->part) > ms || part_max(f->part) < ms)
			continue;
		failed = part_lookup(f->part, at->series, ms, wal, &f->hit,
				     &why);
		if (!failed)
			return 0;
		if (failed != ERR_NOTFOUND)
			rc = err_set(err, failed, "%s", why.msg);
	}
	return rc;
}
