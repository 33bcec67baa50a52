/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/querier.h"

#include <stdlib.h>

#include "base/crc32c.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tsdb/body.h"
#include "tsdb/codec_zstd.h"
#include "tsdb/db.h"

/* A selected series, and its numbers in the ranges that have it. */
struct hit {
	struct labels *labels; /* borrowed from its ranges */
	uint32_t in[WINDOW_RANGES_MAX];
};

struct querier {
	struct tsdb *db;
	struct range *ranges[WINDOW_RANGES_MAX];
	size_t range_count;
	struct hit *hits;
	size_t count;
	size_t cap;
	struct times times;
	struct body_decoder decoder;
	struct buf scratch;
};

void querier_open(struct tsdb *db, struct querier **out)
{
	struct querier *q = mem_new(struct querier);

	q->db = db;
	atomic_fetch_add(&db->queriers, 1);
	pthread_mutex_lock(&db->view_mu);
	for (size_t i = 0; i < db->range_count; i++)
		q->ranges[q->range_count++] = range_ref(db->ranges[i]);
	pthread_mutex_unlock(&db->view_mu);
	*out = q;
}

void querier_close(struct querier *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->range_count; i++)
		range_unref(q->ranges[i]);
	atomic_fetch_sub(&q->db->queriers, 1);
	mem_free(q->hits);
	times_fini(&q->times);
	body_decoder_fini(&q->decoder);
	buf_fini(&q->scratch);
	mem_free(q);
}

void querier_closep(struct querier **q)
{
	querier_close(*q);
	*q = NULL;
}

static bool same_labels(const void *ctx, uint32_t number, const void *key)
{
	const struct querier *q = ctx;

	/* Interned: equal sets are one object. */
	return q->hits[number].labels == key;
}

static struct hit *ensure_hit(struct querier *q, struct table *index,
			      struct labels *ls)
{
	uint32_t n = table_find(index, ls->hash, same_labels, q, ls);
	struct hit *h;

	if (n != TABLE_NONE)
		return &q->hits[n];
	q->hits = mem_grow(q->hits, q->count, &q->cap, sizeof(*q->hits));
	table_add(index, ls->hash, (uint32_t)q->count);
	h = &q->hits[q->count++];
	h->labels = ls;
	for (size_t i = 0; i < WINDOW_RANGES_MAX; i++)
		h->in[i] = SERIES_NONE;
	return h;
}

static int by_labels(const void *a, const void *b)
{
	return labels_cmp(((const struct hit *)a)->labels,
			  ((const struct hit *)b)->labels);
}

void querier_select(struct querier *q, const struct matcher *v, size_t count,
		    int64_t from, int64_t to)
{
	struct table index = { 0 };

	q->count = 0;
	for (size_t i = 0; i < q->range_count; i++) {
		struct range *r = q->ranges[i];
		struct postings p = { 0 };

		if (r->start > to || r->start + WINDOW_MS <= from)
			continue;
		pthread_mutex_lock(&r->mu);
		memindex_select(&r->index, v, count, &p);
		for (size_t k = 0; k < p.count; k++) {
			const struct series *s = r->series[p.v[k]];

			if (series_overlaps(s, from, to))
				ensure_hit(q, &index, s->labels)->in[i] =
					p.v[k];
		}
		pthread_mutex_unlock(&r->mu);
		postings_fini(&p);
	}
	table_fini(&index);
	if (q->count)
		qsort(q->hits, q->count, sizeof(*q->hits), by_labels);
}

size_t querier_count(const struct querier *q)
{
	return q->count;
}

struct labels *querier_labels(const struct querier *q, size_t i)
{
	return q->hits[i].labels;
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Ascending, each once. Usually it is so already. */
static void order(struct times *t)
{
	size_t kept = 0;
	bool sorted = true;

	for (size_t i = 1; i < t->count && sorted; i++)
		sorted = t->v[i - 1] < t->v[i];
	if (sorted)
		return;
	qsort(t->v, t->count, sizeof(*t->v), by_time);
	for (size_t i = 0; i < t->count; i++) {
		if (!kept || t->v[i] != t->v[kept - 1])
			t->v[kept++] = t->v[i];
	}
	t->count = kept;
}

int querier_times(struct querier *q, size_t i, int64_t from, int64_t to,
		  struct times_view *out, struct err *err)
{
	const struct hit *h = &q->hits[i];
	int rc = 0;

	q->times.count = 0;
	for (size_t k = 0; k < q->range_count && !rc; k++) {
		if (h->in[k] != SERIES_NONE)
			rc = range_times(q->ranges[k], h->in[k], from, to,
					 &q->times, err);
	}
	if (rc)
		return rc;
	order(&q->times);
	*out = (struct times_view){ q->times.v, q->times.count };
	return 0;
}

void profile_fini(struct profile *p)
{
	buf_fini(&p->typeset);
	buf_fini(&p->raw);
}

static void set_typeset(struct profile *p, struct bytes typeset)
{
	buf_reset(&p->typeset);
	buf_add(&p->typeset, typeset.ptr, typeset.len);
}

static int too_big(const struct profile *p, uint32_t raw_len, struct err *err)
{
	if (!p->raw.max || raw_len <= p->raw.max)
		return 0;
	return err_set(err, ERR_TOOBIG, "the profile has %u bytes", raw_len);
}

static int fetch_pending(struct querier *q, const struct range_hit *hit,
			 struct profile *out, struct err *err)
{
	struct segment_profile p = { 0 };
	int rc;

	if (!hit->segment)
		return err_set(err, ERR_CORRUPT, "its WAL segment is gone");
	rc = too_big(out, hit->wal.raw_len, err);
	if (!rc)
		rc = wal_segment_read(hit->segment, hit->wal.lsn, hit->wal.len,
				      &q->scratch, &p, err);
	metric_add(q->db->metrics.value_bytes, hit->wal.len);
	if (!rc)
		rc = body_decode(&q->decoder, &p, &out->raw, err);
	if (rc)
		return rc;
	out->ms = p.entry.ms;
	out->hash = p.entry.hash;
	out->duration_ns = p.duration_ns;
	out->period = p.period;
	out->sample_count = p.sample_count;
	set_typeset(out, p.entry.typeset);
	return 0;
}

/* The stored bytes of a group, checked, into q->scratch. */
static int read_group(struct querier *q, const struct range *r,
		      const struct head_place *place, struct err *err)
{
	int rc;

	buf_reset(&q->scratch);
	if (!buf_reserve(&q->scratch, place->len))
		return err_set(err, ERR_TOOBIG, "a group of %u bytes",
			       place->len);
	rc = file_read(r->values, place->offset, q->scratch.ptr, place->len,
		       err);
	if (rc)
		return rc;
	metric_add(q->db->metrics.value_bytes, place->len);
	q->scratch.len = place->len;
	if (crc32c(0, buf_bytes(&q->scratch)) != place->crc)
		return err_set(err, ERR_CORRUPT,
			       "%s at %llu: the group's checksum differs",
			       file_path(r->values),
			       (unsigned long long)place->offset);
	return 0;
}

static int fetch_flushed(struct querier *q, const struct range *r,
			 const struct range_hit *hit, struct profile *out,
			 struct err *err)
{
	const struct head_profile *p = &hit->head.profiles[hit->index];
	uint32_t lens[GROUP_PROFILES_MAX];
	struct codec_group group = { .lens = lens, .count = hit->head.count };
	int rc = too_big(out, p->raw_len, err);

	if (!rc && hit->head.codec != codec_zstd.id)
		rc = err_set(err, ERR_UNSUPPORTED,
			     "stored with codec %u, which this everprof lacks",
			     hit->head.codec);
	if (!rc)
		rc = read_group(q, r, &hit->head.place, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < hit->head.count; i++)
		lens[i] = hit->head.profiles[i].raw_len;
	group.stored = buf_bytes(&q->scratch);
	buf_reset(&out->raw);
	rc = codec_zstd.decode(NULL, &group, hit->index, 1, &out->raw, err);
	if (!rc && hash64(buf_bytes(&out->raw)) != p->hash)
		rc = err_set(err, ERR_CORRUPT,
			     "the profile's hash differs from when it came");
	if (rc)
		return err_wrap(err, rc, "%s", file_path(r->values));
	out->ms = p->ms;
	out->hash = p->hash;
	out->duration_ns = p->duration_ns;
	out->period = p->period;
	out->sample_count = p->sample_count;
	set_typeset(out, hit->typeset);
	return 0;
}

int querier_fetch(struct querier *q, size_t i, int64_t ms, struct profile *out,
		  struct err *err)
{
	const struct hit *h = &q->hits[i];
	int rc = err_set(err, ERR_NOTFOUND, "no profile at this time");

	for (size_t k = 0; k < q->range_count && rc; k++) {
		struct range_hit hit = { 0 };

		if (h->in[k] == SERIES_NONE)
			continue;
		rc = range_lookup(q->ranges[k], h->in[k], ms, q->db->wal, &hit,
				  err);
		if (rc)
			continue;
		rc = hit.pending ?
			     fetch_pending(q, &hit, out, err) :
			     fetch_flushed(q, q->ranges[k], &hit, out, err);
		wal_segment_unref(hit.segment);
	}
	return rc;
}

int querier_stat(struct querier *q, size_t i, int64_t ms, uint64_t *hash,
		 uint32_t *raw_len, struct err *err)
{
	const struct hit *h = &q->hits[i];
	int rc = err_set(err, ERR_NOTFOUND, "no profile at this time");

	for (size_t k = 0; k < q->range_count && rc; k++) {
		struct range_hit hit = { 0 };

		if (h->in[k] == SERIES_NONE)
			continue;
		rc = range_lookup(q->ranges[k], h->in[k], ms, NULL, &hit, err);
		if (rc)
			continue;
		*hash = hit.pending ? hit.wal.hash :
				      hit.head.profiles[hit.index].hash;
		*raw_len = hit.pending ? hit.wal.raw_len :
					 hit.head.profiles[hit.index].raw_len;
	}
	return rc;
}

/* The newest time of the series, and the range that has it. */
static bool newest(struct querier *q, const struct hit *h, size_t *range,
		   int64_t *ms)
{
	bool found = false;

	for (size_t k = 0; k < q->range_count; k++) {
		int64_t last;

		if (h->in[k] == SERIES_NONE ||
		    !range_newest(q->ranges[k], h->in[k], &last))
			continue;
		if (!found || last > *ms) {
			*ms = last;
			*range = k;
		}
		found = true;
	}
	return found;
}

int querier_newest_types(struct querier *q, size_t i, struct buf *out,
			 struct err *err)
{
	const struct hit *h = &q->hits[i];
	struct segment_profile p = { 0 };
	struct range_hit hit = { 0 };
	size_t range = 0;
	int64_t ms = 0;
	int rc = 0;

	if (!newest(q, h, &range, &ms))
		return err_set(err, ERR_NOTFOUND, "the series is empty");
	rc = range_lookup(q->ranges[range], h->in[range], ms, q->db->wal, &hit,
			  err);
	if (!rc && hit.pending && !hit.segment)
		rc = err_set(err, ERR_NOTFOUND, "its WAL segment is gone");
	if (!rc && hit.pending) {
		rc = wal_segment_head(hit.segment, hit.wal.lsn, &q->scratch, &p,
				      err);
		hit.typeset = p.entry.typeset;
	}
	if (!rc)
		buf_add(out, hit.typeset.ptr, hit.typeset.len);
	wal_segment_unref(hit.segment);
	return rc;
}
