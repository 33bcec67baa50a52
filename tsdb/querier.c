/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/querier.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/dec.h"
#include "base/vec.h"
#include "model/types.h"
#include "tsdb/body.h"
#include "tsdb/db.h"
#include "tsdb/part.h"
#include "tsdb/values.h"

#define NONE  UINT32_MAX
#define LOOKS 8 /* at totals, while profiles are being flushed */

/* Where a selected series is. */
struct place {
	uint32_t part;
	uint32_t series; /* its number there */
	uint32_t next;   /* another place, or NONE */
};

struct hit {
	struct labels *labels; /* referenced */
	uint32_t first;        /* its places, in the order of parts */
	uint32_t last;
};

/*
 * The groups of a series in a block, for profiles that are asked for one after
 * another.
 */
struct cursor {
	bool open;
	size_t hit;     /* which series */
	uint32_t place; /* where */
	struct groups groups;
	size_t at; /* the group whose head is below; SIZE_MAX: none */
	struct head head;
};

struct querier {
	struct tsdb *db;
	struct part *parts; /* older first: of two at one time it counts */
	size_t part_count;
	struct hit *hits;
	size_t count;
	size_t cap;
	struct place *places;
	size_t place_count;
	size_t place_cap;
	struct times times;
	struct totals {
		VEC(struct totals_row) rows;
		VEC(int64_t) values;
		VEC(struct bytes) typesets;
		struct arena text;
	} totals;
	struct body_decoder decoder;
	struct values_reader values;
	bool sequential;
	struct values kept; /* the group fetched last, when sequential */
	const struct file *kept_file;
	struct head_place kept_place;
	struct err
		kept_why; /* what is wrong with its profiles that are not ok */
	struct cursor cursor;
	struct buf scratch;
	querier_spend_fn spend; /* may be NULL */
	void *spend_ctx;
	uint64_t lost; /* parts, groups and profiles left out of answers */
	struct err lost_why;
	uint64_t failed; /* profiles that somebody asked for, and was told of */
	struct err failed_why;
};

const struct err *querier_lost(const struct querier *q)
{
	return q->lost ? &q->lost_why : NULL;
}

uint64_t querier_lost_count(const struct querier *q)
{
	return q->lost;
}

/* Note what an answer lacks. */
static void note_lost(struct querier *q, uint64_t count, const struct err *why)
{
	if (!q->lost)
		q->lost_why = *why;
	q->lost += count;
}

/* Note that a profile cannot be read; returns rc. */
static int note_failed(struct querier *q, int rc, const struct err *why)
{
	if ((rc == ERR_CORRUPT || rc == ERR_IO) && !q->failed++ && why)
		q->failed_why = *why;
	return rc;
}

/* Damage is counted and logged, whoever met it; once for each query. */
static void tell_damage(struct querier *q)
{
	uint64_t sum = q->lost + q->failed;

	if (!sum)
		return;
	metric_add(q->db->metrics.damaged, (int64_t)sum);
	log_event(q->db->o.log, LOG_ERROR,
		  "a query could not read all that is stored",
		  LOG_FIELDS(log_int("profiles_or_groups", (int64_t)sum),
			     log_err(q->lost ? &q->lost_why : &q->failed_why)));
}

void querier_open(struct tsdb *db, struct querier **out)
{
	struct querier *q = mem_new(struct querier);

	q->db = db;
	atomic_fetch_add(&db->queriers, 1);
	q->parts = db_parts(db, &q->part_count);
	*out = q;
}

static void close_cursor(struct cursor *c)
{
	groups_fini(&c->groups);
	c->open = false;
}

static void forget_hits(struct querier *q)
{
	close_cursor(&q->cursor);
	for (size_t i = 0; i < q->count; i++)
		labels_unref(q->hits[i].labels);
	q->count = 0;
	q->place_count = 0;
}

void querier_close(struct querier *q)
{
	if (!q)
		return;
	tell_damage(q);
	forget_hits(q);
	values_reader_fini(&q->values); /* before the blocks that it read */
	db_parts_free(q->parts, q->part_count);
	atomic_fetch_sub(&q->db->queriers, 1);
	mem_free(q->hits);
	mem_free(q->places);
	times_fini(&q->times);
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

static bool same_labels(const void *ctx, uint32_t number, const void *key)
{
	const struct querier *q = ctx;

	return bytes_eq(labels_bytes(q->hits[number].labels),
			labels_bytes(key));
}

/* Note that a series is in a part. Takes the reference on its labels. */
static void add_place(struct querier *q, struct table *index, struct labels *ls,
		      uint32_t part, uint32_t series)
{
	uint32_t n = table_find(index, ls->hash, same_labels, q, ls);
	uint32_t at = (uint32_t)q->place_count;

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
	q->hits[q->count++] =
		(struct hit){ .labels = ls, .first = at, .last = at };
}

static int by_labels(const void *a, const void *b)
{
	return labels_cmp(((const struct hit *)a)->labels,
			  ((const struct hit *)b)->labels);
}

static int select_part(struct querier *q, uint32_t part, struct table *index,
		       const struct selection *s, struct err *err)
{
	struct part p = q->parts[part];
	struct postings found = { 0 };
	int rc = part_select(p, s, &found, err);

	for (size_t i = 0; i < found.count && !rc; i++) {
		struct labels *ls = NULL;

		rc = part_labels(p, found.v[i], &ls, err);
		if (!rc)
			add_place(q, index, ls, part, found.v[i]);
	}
	postings_fini(&found);
	return rc;
}

void querier_select(struct querier *q, const struct matcher *v, size_t count,
		    int64_t from, int64_t to)
{
	const struct selection s = {
		.matchers = v, .count = count, .from = from, .to = to
	};
	struct table index = { 0 };

	forget_hits(q);
	for (uint32_t i = 0; i < q->part_count; i++) {
		struct err err;

		if (part_min(q->parts[i]) > to || part_max(q->parts[i]) < from)
			continue;
		if (select_part(q, i, &index, &s, &err))
			note_lost(q, 1, &err); /* the others answer */
	}
	table_fini(&index);
	if (q->count)
		qsort(q->hits, q->count, sizeof(*q->hits), by_labels);
}

void querier_texts(struct querier *q, struct str name, int64_t from, int64_t to,
		   void (*fn)(void *ctx, struct str text), void *ctx)
{
	for (uint32_t i = 0; i < q->part_count; i++) {
		struct err err;

		if (part_min(q->parts[i]) > to || part_max(q->parts[i]) < from)
			continue;
		if (part_texts(q->parts[i], name, fn, ctx, &err))
			note_lost(q, 1, &err); /* the others answer */
	}
}

size_t querier_memory(const struct querier *q)
{
	size_t sum =
		q->cap * sizeof(*q->hits) + q->place_cap * sizeof(*q->places);

	sum += values_reader_memory(&q->values) +
	       q->cursor.groups.cap * sizeof(struct group) + q->kept.bytes.cap +
	       q->scratch.cap + q->times.cap * sizeof(*q->times.v) +
	       vec_memory(&q->totals.rows) + vec_memory(&q->totals.values);
	for (size_t i = 0; i < q->count; i++)
		sum += sizeof(struct labels) + q->hits[i].labels->len;
	return sum;
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
		note_lost(q, q->times.lost, &q->times.why);
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

void querier_on_spend(struct querier *q, querier_spend_fn spend, void *ctx)
{
	q->spend = spend;
	q->spend_ctx = ctx;
}

/* By how much a buffer will grow that is filled with n bytes. */
static size_t growth(const struct buf *b, size_t n)
{
	return n > b->cap ? n - b->cap : 0;
}

static int spend(struct querier *q, size_t bytes, struct err *err)
{
	return q->spend && bytes ? q->spend(q->spend_ctx, bytes, err) : 0;
}

/* All profiles of a group. */
static size_t raw_bytes(const struct head *h)
{
	size_t sum = 0;

	for (size_t i = 0; i < h->count; i++)
		sum += h->profiles[i].raw_len;
	return sum;
}

static int too_big(const struct profile *p, uint32_t raw_len, struct err *err)
{
	if (!p->raw.max || raw_len <= p->raw.max)
		return 0;
	return err_set(err, ERR_TOOBIG, "the profile has %u bytes", raw_len);
}

static int fetch_pending(struct querier *q, const struct part_hit *hit,
			 struct profile *out, struct err *err)
{
	struct segment_profile p = { 0 };
	int rc;

	if (!hit->segment) /* retention has removed it meanwhile */
		return err_set(err, ERR_NOTFOUND, "its WAL segment is gone");
	rc = too_big(out, hit->wal.raw_len, err);
	if (!rc)
		rc = spend(q,
			   growth(&q->scratch, hit->wal.len) +
				   growth(&out->raw, hit->wal.raw_len),
			   err);
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

void querier_trim(struct querier *q)
{
	q->kept_file = NULL;
	buf_fini(&q->kept.bytes);
	buf_fini(&q->scratch);
	buf_fini(&q->values.stored);
}

void querier_sequential(struct querier *q)
{
	q->sequential = true;
}

static bool is_kept(const struct querier *q, const struct file *f,
		    const struct head_place *place)
{
	return q->kept_file == f && q->kept_place.offset == place->offset &&
	       q->kept_place.len == place->len;
}

/* A profile out of its whole group, which is kept for the next one. */
static int fetch_kept(struct querier *q, struct part part, const struct head *h,
		      size_t index, struct buf *out, struct err *err)
{
	const struct file *f = part_values(part, h);
	int rc = 0;

	if (!is_kept(q, f, &h->place)) {
		q->kept_file = NULL;
		rc = spend(q,
			   growth(&q->values.stored, h->place.len) +
				   growth(&q->kept.bytes, raw_bytes(h)),
			   err);
		if (rc)
			return rc;
		metric_add(q->db->metrics.value_bytes, h->place.len);
		rc = values_all(&q->values, part, h, &q->kept, &q->kept_why);
		if (rc && rc != ERR_CORRUPT)
			return err_set(err, rc, "%s", q->kept_why.msg);
		q->kept_file = f;
		q->kept_place = h->place;
	}
	if (!q->kept.ok[index])
		return err_set(err, ERR_CORRUPT, "%s", q->kept_why.msg);
	buf_reset(out);
	buf_add(out, q->kept.bytes.ptr + q->kept.at[index],
		h->profiles[index].raw_len);
	return 0;
}

static int fetch_flushed(struct querier *q, struct part part,
			 const struct group_hit *hit, struct profile *out,
			 struct err *err)
{
	const struct head_profile *p = &hit->head.profiles[hit->index];
	int rc = too_big(out, p->raw_len, err);

	if (!rc)
		rc = spend(q, growth(&out->raw, p->raw_len), err);
	if (rc)
		return rc;
	/* A large profile is alone in its group: nothing is kept of it. */
	if (q->sequential && hit->head.count > 1) {
		rc = fetch_kept(q, part, &hit->head, hit->index, &out->raw,
				err);
	} else {
		rc = spend(q, growth(&q->values.stored, hit->head.place.len),
			   err);
		if (rc)
			return rc;
		metric_add(q->db->metrics.value_bytes, hit->head.place.len);
		rc = values_one(&q->values, part, &hit->head, hit->index,
				&out->raw, err);
	}
	if (rc)
		return rc;
	out->ms = p->ms;
	out->hash = p->hash;
	out->duration_ns = p->duration_ns;
	out->period = p->period;
	out->sample_count = p->sample_count;
	set_typeset(out, hit->typeset);
	return 0;
}

/* Where a profile was found. */
struct found {
	struct part part;
	struct part_hit hit;
};

/*
 * Find the profile of a series at ms: the first part that has it counts.
 * ERR_NOTFOUND, or what kept us from looking.
 */
static int lookup(struct querier *q, size_t i, int64_t ms, struct wal *wal,
		  struct found *f, struct err *err)
{
	int rc = err_set(err, ERR_NOTFOUND, "no profile at this time");
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

int querier_fetch(struct querier *q, size_t i, int64_t ms, struct profile *out,
		  struct err *err)
{
	struct found f = { 0 };
	int rc = lookup(q, i, ms, q->db->wal, &f, err);

	if (rc)
		return note_failed(q, rc, err);
	rc = f.hit.pending ? fetch_pending(q, &f.hit, out, err) :
			     fetch_flushed(q, f.part, &f.hit.group, out, err);
	wal_segment_unref(f.hit.segment);
	return note_failed(q, rc, err);
}

/* The only block that may have a profile of that time; NONE: look for it. */
static uint32_t only_block(const struct querier *q, size_t i, int64_t ms)
{
	uint32_t found = NONE;
	const struct place *at;

	for (uint32_t n = q->hits[i].first; n != NONE; n = at->next) {
		struct part p;

		at = &q->places[n];
		p = q->parts[at->part];
		if (part_min(p) > ms || part_max(p) < ms)
			continue;
		if (found != NONE || p.range)
			return NONE;
		found = n;
	}
	return found;
}

static int move_cursor(struct querier *q, size_t i, uint32_t place,
		       struct err *err)
{
	struct cursor *c = &q->cursor;
	const struct place *at = &q->places[place];

	if (c->open && c->hit == i && c->place == place)
		return 0;
	close_cursor(c);
	c->open = true;
	c->hit = i;
	c->place = place;
	c->at = SIZE_MAX;
	return part_groups(q->parts[at->part], at->series, INT64_MIN, INT64_MAX,
			   &c->groups, err);
}

/* The group under the cursor that may have ms: c->head. */
static int cursor_group(struct querier *q, int64_t ms, struct err *err)
{
	struct cursor *c = &q->cursor;
	struct group_source from =
		part_source(q->parts[q->places[c->place].part]);

	for (size_t k = 0; k < c->groups.count; k++) {
		const struct group *g = &c->groups.v[k];
		int rc = 0;

		if (ms < g->first || ms > g->last ||
		    groups_hides(&c->groups, g->at, ms))
			continue;
		if (c->at != k)
			rc = group_head(&from, g, &c->head, NULL, err);
		c->at = rc ? SIZE_MAX : k;
		return rc;
	}
	return ERR_NOTFOUND;
}

/* Where the profile is, by the cursor; ERR_NOTFOUND: it does not know. */
static int find_by_cursor(struct querier *q, size_t i, int64_t ms,
			  struct found *f, uint16_t *row, struct err *err)
{
	uint32_t place = only_block(q, i, ms);
	int rc;

	if (place == NONE)
		return ERR_NOTFOUND;
	rc = move_cursor(q, i, place, err);
	if (!rc)
		rc = cursor_group(q, ms, err);
	if (rc)
		return rc;
	f->part = q->parts[q->places[place].part];
	return head_find(&q->cursor.head, ms, row) ? 0 : ERR_NOTFOUND;
}

int querier_rows(struct querier *q, size_t i, int64_t ms, const bool *types,
		 struct querier_row *out, struct err *err)
{
	const struct head *h = &q->cursor.head;
	uint64_t reads = q->values.reads;
	struct found f = { 0 };
	int rc = find_by_cursor(q, i, ms, &f, &out->row, err);

	if (rc) {
		rc = lookup(q, i, ms, NULL, &f, err);
		if (!rc && f.hit.pending)
			rc = err_set(err, ERR_UNSUPPORTED, "in the WAL alone");
		h = &f.hit.group.head;
		out->row = f.hit.group.index;
	}
	if (rc)
		return note_failed(q, rc, err);
	rc = values_rows(&q->values, f.part, h, types, &out->rows, err);
	if (q->values.reads != reads)
		metric_add(q->db->metrics.value_bytes, h->place.len);
	return note_failed(q, rc, err);
}

int querier_stat(struct querier *q, size_t i, int64_t ms, uint64_t *hash,
		 uint32_t *raw_len, struct err *err)
{
	struct found f = { 0 };
	const struct head_profile *p;
	int rc = lookup(q, i, ms, NULL, &f, err);

	if (rc)
		return rc;
	p = &f.hit.group.head.profiles[f.hit.group.index];
	*hash = f.hit.pending ? f.hit.wal.hash : p->hash;
	*raw_len = f.hit.pending ? f.hit.wal.raw_len : p->raw_len;
	return 0;
}

/* The newest time of the series. */
static int newest(struct querier *q, size_t i, int64_t *ms, struct err *err)
{
	struct times_view t = { 0 };
	int64_t from = INT64_MIN;
	const struct place *at;
	int rc;

	/* In the part that ends last, before all others. */
	for (uint32_t n = q->hits[i].first; n != NONE; n = at->next) {
		at = &q->places[n];
		if (part_min(q->parts[at->part]) > from)
			from = part_min(q->parts[at->part]);
	}
	rc = querier_times(q, i, from, INT64_MAX, &t, err);
	if (!rc && !t.count)
		rc = querier_times(q, i, 0, INT64_MAX, &t, err);
	if (!rc && !t.count)
		rc = err_set(err, ERR_NOTFOUND, "the series is empty");
	if (!rc)
		*ms = t.ms[t.count - 1];
	return rc;
}

int querier_newest_types(struct querier *q, size_t i, struct buf *out,
			 struct err *err)
{
	struct segment_profile p = { 0 };
	struct found f = { 0 };
	struct bytes typeset;
	int64_t ms = 0;
	int rc = newest(q, i, &ms, err);

	if (!rc)
		rc = lookup(q, i, ms, q->db->wal, &f, err);
	typeset = f.hit.group.typeset;
	if (!rc && f.hit.pending && !f.hit.segment)
		rc = err_set(err, ERR_NOTFOUND, "its WAL segment is gone");
	if (!rc && f.hit.pending) {
		rc = wal_segment_head(f.hit.segment, f.hit.wal.lsn,
				      f.hit.wal.len, &q->scratch, &p, err);
		typeset = p.entry.typeset;
	}
	if (!rc)
		buf_add(out, typeset.ptr, typeset.len);
	wal_segment_unref(f.hit.segment);
	return rc;
}

/* Totals. */

/* The number of a type set in the view; usually that of the last row. */
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

static void add_row(struct totals *t, int64_t ms, int64_t duration_ns,
		    uint32_t typeset)
{
	*vec_add(&t->rows) = (struct totals_row){
		.ms = ms,
		.duration_ns = duration_ns,
		.typeset = typeset,
		.first = (uint32_t)t->values.count,
	};
}

/* The heads of a series in one part, while their totals are read. */
struct heads {
	struct group_source source;
	struct groups groups;
	struct head head; /* with room for the totals of all types */
	int64_t from;
	int64_t to;
};

/* What the head of group i says. */
static int add_group(struct totals *t, struct heads *s, size_t i,
		     struct err *err)
{
	const struct groups *g = &s->groups;
	struct head *h = &s->head;
	struct bytes typeset;
	uint32_t number;
	int rc = group_head(&s->source, &g->v[i], h, &typeset, err);

	if (rc)
		return rc;
	number = note_typeset(t, typeset);
	for (size_t k = 0; k < h->count; k++) {
		const struct head_profile *p = &h->profiles[k];

		if (p->ms < s->from || p->ms > s->to ||
		    groups_hides(g, g->v[i].at, p->ms))
			continue;
		add_row(t, p->ms, p->duration_ns, number);
		for (size_t n = 0; n < h->total_count; n++)
			*vec_add(&t->values) =
				h->totals[n * GROUP_PROFILES_MAX + k];
	}
	return 0;
}

static int add_flushed(struct querier *q, const struct place *at, int64_t from,
		       int64_t to, struct err *err)
{
	struct part p = q->parts[at->part];
	struct heads s = { .source = part_source(p), .from = from, .to = to };
	int rc = part_groups(p, at->series, from, to, &s.groups, err);

	s.head.totals = mem_zalloc(TYPES_MAX,
				   GROUP_PROFILES_MAX * sizeof(*s.head.totals));
	for (size_t i = 0; i < s.groups.count && !rc; i++) {
		struct err why;

		rc = add_group(&q->totals, &s, i, &why);
		if (rc == ERR_CORRUPT || rc == ERR_IO) {
			/* One unreadable head must not hide all others. */
			s.source.damaged(s.source.ctx, &s.groups.v[i], &why);
			note_lost(q, 1, &why);
			rc = 0;
		} else if (rc) {
			rc = err_set(err, rc, "%s", why.msg);
		}
	}
	mem_free(s.head.totals);
	groups_fini(&s.groups);
	return rc;
}

/* What the record in the WAL says. */
static int add_pending(struct querier *q, const struct part_hit *hit,
		       struct err *err)
{
	struct totals *t = &q->totals;
	struct segment_profile p = { 0 };
	struct dec d;
	int rc = wal_segment_head(hit->segment, hit->wal.lsn, hit->wal.len,
				  &q->scratch, &p, err);

	if (rc)
		return rc;
	add_row(t, p.entry.ms, p.duration_ns, note_typeset(t, p.entry.typeset));
	d = dec_init(p.totals);
	for (size_t n = 0; n < p.total_count; n++)
		*vec_add(&t->values) = dec_svarint(&d);
	return 0;
}

static int row_by_time(const void *a, const void *b)
{
	const struct totals_row *x = a;
	const struct totals_row *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	/* Of two the one that was found first counts. */
	return x->first < y->first ? -1 : x->first > y->first;
}

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

/* A profile that no flushed group had; *moved: one of them has it now. */
static int add_one_pending(struct querier *q, size_t i, int64_t ms, bool *moved,
			   struct err *err)
{
	struct found f = { 0 };
	struct err why;
	int rc = lookup(q, i, ms, q->db->wal, &f, &why);

	if (!rc && f.hit.pending && f.hit.segment)
		rc = add_pending(q, &f.hit, &why);
	/* Flushed, or removed, since its time was listed. */
	*moved = *moved || (!rc && !(f.hit.pending && f.hit.segment));
	wal_segment_unref(f.hit.segment);
	/* One unreadable record must not hide all others. */
	if (rc == ERR_CORRUPT || rc == ERR_IO)
		note_lost(q, 1, &why);
	else if (rc && rc != ERR_NOTFOUND)
		return err_set(err, rc, "%s", why.msg);
	return 0;
}

/* Add the rows of times that no flushed group has: they are in the WAL. */
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
			rc = add_one_pending(q, i, times.ms[k], moved, err);
	}
	return rc;
}

static int collect(struct querier *q, size_t i, int64_t from, int64_t to,
		   bool *moved, struct err *err)
{
	struct totals *t = &q->totals;
	const struct place *at;
	int rc = 0;

	t->rows.count = 0;
	t->values.count = 0;
	t->typesets.count = 0;
	arena_fini(&t->text);
	vec_reserve(&t->values, 1); /* a profile may have no types */
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

int querier_totals(struct querier *q, size_t i, int64_t from, int64_t to,
		   struct totals_view *out, struct err *err)
{
	struct totals *t = &q->totals;
	bool moved = true;
	int rc = 0;

	for (int tries = 0; tries < LOOKS && moved && !rc; tries++) {
		moved = false;
		rc = collect(q, i, from, to, &moved, err);
	}
	if (rc)
		return rc;
	*out = (struct totals_view){
		.rows = t->rows.v,
		.count = t->rows.count,
		.totals = t->values.v,
		.typesets = t->typesets.v,
		.typeset_count = t->typesets.count,
	};
	return 0;
}
