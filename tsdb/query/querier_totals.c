/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the totals of many profiles from chunk metadata, without reading the
 * bytes of the profiles. The public functions that querier_totals.c defines are
 * declared in tsdb/query/querier.h.
 */
#include <stdlib.h>

#include "base/dec.h"
#include "model/types.h"
#include "tsdb/query/querier_private.h"
#include "tsdb/wal/wal_segment.h"

/*
 * Find the number of a type set in t->typesets; a new type set is added. The
 * search begins at the end, because most rows have the type set of the row
 * before.
 */
static uint32_t note_typeset(struct totals *t, struct bytes typeset)
{
	size_t n = t->typesets.count;

	while (n && !bytes_eq(t->typesets.v[n - 1], typeset))
		n--;
	if (!n) {
		*vec_add(&t->typesets) =
			bytes_of(arena_str(&t->text, str_from(typeset)));
		n = t->typesets.count;
	}
	return (uint32_t)n - 1;
}

/* Append a row. The caller then appends the row's totals to t->values. */
static void querier_add_row(struct totals *t, int64_t ms, int64_t duration_ns,
			    uint32_t typeset)
{
	*vec_add(&t->rows) = (struct totals_row){
		.ms = ms,
		.duration_ns = duration_ns,
		.typeset = typeset,
		.first = (uint32_t)t->values.count,
	};
}

/*
 * The chunks of a series in one part, and the metadata of the chunk that is
 * being read.
 */
struct heads {
	struct chunk_source source;
	struct chunks groups;
	struct chunk_meta meta; /* metadata and totals of one chunk */
	int64_t from;
	int64_t to;
};

/*
 * Append the rows of one chunk, from its metadata. In the metadata totals are
 * ordered by sample type, in t->values by profile.
 */
static int querier_add_group(struct totals *t, struct heads *s, size_t i,
			     struct err *err)
{
	const struct chunks *g = &s->groups;
	struct chunk_meta *h = &s->meta;
	struct bytes typeset;
	uint32_t number;
	int rc = chunk_read_meta(&s->source, &g->v[i], h, &typeset, err);

	if (rc)
		return rc;
	number = note_typeset(t, typeset);
	for (size_t k = 0; k < h->count; k++) {
		const struct chunk_profile *p = &h->profiles[k];

		if (p->ms < s->from || p->ms > s->to ||
		    chunks_hides(g, g->v[i].at, p->ms))
			continue;
		querier_add_row(t, p->ms, p->duration_ns, number);
		for (size_t n = 0; n < h->total_count; n++)
			*vec_add(&t->values) =
				h->totals[n * CHUNK_PROFILES_MAX + k];
	}
	return 0;
}

/* Append the rows of all chunks of a series in one part. */
static int add_flushed(struct querier *q, const struct place *at, int64_t from,
		       int64_t to, struct err *err)
{
	struct part p = q->parts[at->part];
	struct heads s = { .source = part_source(p), .from = from, .to = to };
	int rc = part_groups(p, at->series, from, to, &s.groups, err);

	s.meta.totals = mem_zalloc(TYPES_MAX,
				   CHUNK_PROFILES_MAX * sizeof(*s.meta.totals));
	for (size_t i = 0; i < s.groups.count && !rc; i++) {
		struct err why;

		rc = querier_add_group(&q->totals, &s, i, &why);
		/*
		 * If the metadata of one chunk is unreadable, the other chunks
		 * are still read.
		 */
		if (rc == ERR_CORRUPT || rc == ERR_IO) {
			s.source.damaged(s.source.ctx, &s.groups.v[i], &why);
			querier_note_lost(q, 1, &why);
			rc = 0;
		} else if (rc) {
			rc = err_set(err, rc, "%s", why.msg);
		}
	}
	mem_free(s.meta.totals);
	chunks_fini(&s.groups);
	return rc;
}

/* Append the row of an unflushed profile, from its WAL record. */
static int add_unflushed(struct querier *q, const struct part_hit *hit,
			 struct err *err)
{
	struct totals *t = &q->totals;
	struct segment_profile p = { 0 };
	struct dec d;
	int rc = wal_segment_head(hit->segment, hit->wal.lsn, hit->wal.len,
				  &q->scratch, &p, err);

	if (rc)
		return rc;
	querier_add_row(t, p.entry.ms, p.duration_ns,
			note_typeset(t, p.entry.typeset));
	d = dec_init(p.totals);
	for (size_t n = 0; n < p.total_count; n++)
		*vec_add(&t->values) = dec_svarint(&d);
	return 0;
}

/*
 * Order for qsort: by time, then by the order in which the rows were found. Of
 * several rows with the same time, order_rows() keeps the first.
 */
static int row_by_time(const void *a, const void *b)
{
	const struct totals_row *x = a;
	const struct totals_row *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Sort the rows by time, and keep only one row for each time. */
static void order_rows(struct totals *t)
{
	size_t kept = 0;
	bool sorted = true;

	for (size_t i = 1; i < t->rows.count && sorted; i++)
		sorted = t->rows.v[i - 1].ms < t->rows.v[i].ms;
	if (sorted)
		return;
	qsort(t->rows.v, t->rows.count, sizeof(*t->rows.v), row_by_time);
	for (size_t i = 0; i < t->rows.count; i++) {
		if (!kept || t->rows.v[kept - 1].ms != t->rows.v[i].ms)
			t->rows.v[kept++] = t->rows.v[i];
	}
	t->rows.count = kept;
}

/*
 * Append the row of a profile that was not in any of the chunks that were read.
 * *moved is set if the profile is no longer only in the WAL: it has been
 * flushed or removed since the times were listed.
 */
static int add_one_unflushed(struct querier *q, size_t i, int64_t ms,
			     bool *moved, struct err *err)
{
	struct found f = { 0 };
	struct err why;
	int rc = querier_lookup(q, i, ms, q->db->wal, &f, &why);

	if (!rc && f.hit.unflushed && f.hit.segment)
		rc = add_unflushed(q, &f.hit, &why);
	/* The profile was flushed or removed after its time was listed. */
	*moved = *moved || (!rc && !(f.hit.unflushed && f.hit.segment));
	wal_segment_unref(f.hit.segment);
	/* If one record is unreadable, the other records are still read. */
	if (rc == ERR_CORRUPT || rc == ERR_IO)
		querier_note_lost(q, 1, &why);
	else if (rc && rc != ERR_NOTFOUND)
		return err_set(err, rc, "%s", why.msg);
	return 0;
}

/*
 * Append the rows of profiles that are not in any chunk, and thus are only in
 * the WAL.
 */
static int add_missing(struct querier *q, size_t i, int64_t from, int64_t to,
		       bool *moved, struct err *err)
{
	struct totals *t = &q->totals;
	size_t flushed = t->rows.count;
	struct times_view times;
	size_t at = 0;
	int rc = querier_times(q, i, from, to, &times, err);

	for (size_t k = 0; !rc && k < times.count; k++) {
		while (at < flushed && t->rows.v[at].ms < times.ms[k])
			at++;
		if (at == flushed || t->rows.v[at].ms != times.ms[k])
			rc = add_one_unflushed(q, i, times.ms[k], moved, err);
	}
	return rc;
}

/*
 * Make one attempt to collect all rows. The chunks are read first, the list of
 * times after them. A profile that is flushed in between is in the list, but
 * not in the chunks that were read; *moved tells the caller to try again.
 */
static int querier_collect(struct querier *q, size_t i, int64_t from,
			   int64_t to, bool *moved, struct err *err)
{
	struct totals *t = &q->totals;
	const struct place *at;
	int rc = 0;

	t->rows.count = 0;
	t->values.count = 0;
	t->typesets.count = 0;
	arena_fini(&t->text);
	/* The array must exist, even if no profile has sample types. */
	vec_reserve(&t->values, 1);
	for (uint32_t n = q->hits[i].first; n != NONE && !rc; n = at->next) {
		at = &q->places[n];
		rc = add_flushed(q, at, from, to, err);
	}
	order_rows(t);
	if (!rc)
		rc = add_missing(q, i, from, to, moved, err);
	order_rows(t);
	return rc;
}

/* Order for qsort. */
static int distance_by_size(const void *a, const void *b)
{
	const int64_t *x = a;
	const int64_t *y = b;

	return *x < *y ? -1 : *x > *y;
}

int64_t querier_usual_distance(const struct totals_view *v)
{
	VEC(int64_t) distances = { 0 };
	int64_t median = 0;

	for (size_t i = 1; i < v->count; i++) {
		int64_t ms = v->rows[i].ms - v->rows[i - 1].ms;

		if (ms >= 1000)
			*vec_add(&distances) = ms;
	}
	if (distances.count) {
		qsort(distances.v, distances.count, sizeof(*distances.v),
		      distance_by_size);
		median = distances.v[distances.count / 2];
	}
	vec_fini(&distances);
	return median;
}

/*
 * If a flush moves profiles while they are being collected, the totals are
 * collected again. After LOOKS attempts the result is returned, although
 * profiles may be missing.
 */
int querier_totals(struct querier *q, size_t i, int64_t from, int64_t to,
		   struct totals_view *out, struct err *err)
{
	struct totals *t = &q->totals;
	bool moved = true;
	int rc = 0;

	for (int tries = 0; tries < LOOKS && moved && !rc; tries++) {
		moved = false;
		rc = querier_collect(q, i, from, to, &moved, err);
	}
	if (rc)
		return rc;
	*out = (struct totals_view){
		.rows = t->rows.v,
		.count = t->rows.count,
		.totals = t->values.v,
		.typesets = t->typesets.v,
		.typeset_count = t->typesets.count,
		.increments = str_is(
			labels_get(querier_labels(q, i), str_of(LABEL_DELTA)),
			"false"),
	};
	return 0;
}
