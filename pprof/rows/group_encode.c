/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/rows/group_encode.h"

#include "base/enc.h"
#include "pprof/dictionary/section.h"
#include "pprof/rows/group.h"

/*
 * Write a column of the head (the section with a few numbers for each row, that
 * is, profile) as differences (order 1) or, from the third number on, as
 * differences of differences (order 2), which are small for times at regular
 * intervals.
 */
static void put_column(struct buf *out, const int64_t *v, size_t n, int order)
{
	int64_t last = 0;
	int64_t step = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t diff = wrap_sub(v[i], last);

		enc_svarint(out,
			    order < 2 || i < 2 ? diff : wrap_sub(diff, step));
		step = diff;
		last = v[i];
	}
}

/*
 * Return the number of a row in column `field` of the head, in the order of the
 * format. There are HEAD_FIELDS columns.
 */
static int64_t head_field(const struct colgroup *g, size_t row, int field)
{
	const struct row *r = &g->rows[row];

	switch (field) {
	case 0:
		return r->shape;
	case 1:
		return r->layout;
	case 2:
		return (int64_t)r->samples;
	case 3:
		return g->patch_lens[row];
	case 4:
		return r->period;
	case 5:
		return r->duration_ns;
	default:
		return r->time_ns;
	}
}

#define HEAD_FIELDS 7

/* Write the head. Only the last column, times, is written with order 2. */
static void put_head(const struct colgroup *g, struct buf *out)
{
	int64_t v[COLGROUP_ROWS_MAX];

	buf_reset(out);
	enc_uvarint(out, g->top);
	enc_uvarint(out, g->types);
	for (int f = 0; f < HEAD_FIELDS; f++) {
		for (size_t i = 0; i < g->count; i++)
			v[i] = head_field(g, i, f);
		put_column(out, v, g->count, f == HEAD_FIELDS - 1 ? 2 : 1);
	}
}

/*
 * Write the keys. Each key is predicted from the key before it: the prediction
 * is the key that followed that key last time or, if no key has followed it yet
 * in this group, that key + 1 (docs/decisions.md, 47). The decoder makes
 * the same predictions. So the output is the number of keys that are as
 * predicted, then the next key, which is not, and so on.
 */
static void colgroup_put_keys(struct colgroup_coder *c,
			      const struct dictionary *d,
			      const struct colgroup *g, struct buf *out)
{
	uint32_t *successors = colgroup_successors(c, d->keys.count);
	const uint32_t *key = g->keys.v;
	uint32_t top = g->top;

	buf_reset(out);
	for (size_t i = 0; i < g->count; i++) {
		uint64_t run = 0;
		/* The additional element predicts the first key of a row. */
		uint32_t *next = &successors[d->keys.count];

		for (size_t k = 0; k < g->rows[i].samples; k++, key++) {
			uint32_t likely = *next;

			if (*key == likely) {
				run++;
			} else {
				enc_uvarint(out, run);
				enc_uvarint(out, top - *key);
				run = 0;
				*next = *key;
			}
			if (*key == top)
				top++;
			next = &successors[*key];
			if (!*next)
				*next = *key + 1;
		}
		enc_uvarint(out, run);
	}
}

/*
 * Writer of numbers that are mostly 0. It writes how many are 0, then the next
 * number, which is not 0, and so on. Zeros at the end are not written.
 */
struct sparse {
	struct buf *out;
	uint64_t zeros;
};

/* Append a number in the form that struct sparse describes. */
static inline void put_sparse(struct sparse *s, int64_t v)
{
	if (!v) {
		s->zeros++;
		return;
	}
	enc_uvarint(s->out, s->zeros);
	enc_svarint(s->out, v);
	s->zeros = 0;
}

/* Write a column in MODEL_SELF. */
static void put_self(const struct colgroup *g, size_t type, struct buf *out)
{
	const int64_t *v = g->values.v + type * g->keys.count;

	buf_reset(out);
	for (size_t i = 0; i < g->keys.count; i++)
		enc_svarint(out, v[i]);
}

/*
 * Write a column in MODEL_DELTA. This suits counters and states, since most of
 * them do not change from one profile to the next.
 */
static void put_delta(struct colgroup_coder *c, const struct dictionary *d,
		      const struct colgroup *g, size_t type, struct buf *out)
{
	const int64_t *v = g->values.v + type * g->keys.count;
	int64_t *previous = colgroup_previous(c, d->keys.count);
	struct sparse s = { .out = out };

	buf_reset(out);
	for (size_t i = 0; i < g->keys.count; i++) {
		uint32_t key = g->keys.v[i];

		put_sparse(&s, wrap_sub(v[i], previous[key]));
		previous[key] = v[i];
	}
}

/*
 * Write a column in MODEL_PERIOD. In CPU profiles, the second value of a sample
 * (time) is the first (count) times the period. Returns false if many values do
 * not follow this rule.
 */
static bool put_period(const struct colgroup *g, size_t type, struct buf *out)
{
	const int64_t *v = g->values.v + type * g->keys.count;
	const int64_t *before = v - g->keys.count;
	struct sparse s = { .out = out };
	size_t i = 0;

	buf_reset(out);
	for (size_t row = 0; row < g->count; row++) {
		const struct row *r = &g->rows[row];

		for (size_t end = i + r->samples; i < end; i++)
			put_sparse(&s, wrap_sub(v[i], wrap_mul(before[i],
							       r->period)));
	}
	return out->len * 4 < g->keys.count;
}

/*
 * Write two columns in MODEL_UNSAMPLED: sampled counts, and the errors of the
 * estimates that are computed from them (docs/decisions.md, 48). Returns false
 * if many errors are not 0, because then the values are not estimates of Go's
 * runtime. A wrong decision only costs bytes: the values can be restored in any
 * case.
 */
static bool put_unsampled(struct colgroup_coder *c, const struct dictionary *d,
			  const struct colgroup *g, size_t type,
			  struct buf *out)
{
	const int64_t *objects = g->values.v + type * g->keys.count;
	const int64_t *space = objects + g->keys.count;
	int64_t *previous = colgroup_previous(c, d->keys.count);
	struct sparse s[3];
	size_t i = 0;

	for (size_t k = 0; k < ARRAY_SIZE(s); k++) {
		buf_reset(&c->parts[k]);
		s[k] = (struct sparse){ .out = &c->parts[k] };
	}
	for (size_t row = 0; row < g->count; row++) {
		const struct row *r = &g->rows[row];

		for (size_t end = i + r->samples; i < end; i++) {
			uint32_t key = g->keys.v[i];
			const struct unsample_rate *rate =
				unsample_rate(&c->unsample, key, r->period);
			int64_t n = unsample_count(rate, objects[i]);

			put_sparse(&s[0], wrap_sub(n, previous[key]));
			put_sparse(&s[1], wrap_sub(objects[i],
						   unsample_objects(rate, n)));
			put_sparse(&s[2],
				   wrap_sub(space[i], unsample_space(rate, n)));
			previous[key] = n;
		}
	}
	buf_reset(out);
	for (size_t k = 0; k < ARRAY_SIZE(s); k++) {
		enc_uvarint(out, c->parts[k].len);
		buf_add(out, c->parts[k].ptr, c->parts[k].len);
	}
	return (c->parts[1].len + c->parts[2].len) * 8 < g->keys.count;
}

/*
 * Whether a sample has a label with the size of its objects. Rows are alike, so
 * only as many samples are checked as an average row has.
 */
static bool has_sizes(const struct dictionary *d, const struct colgroup *g)
{
	size_t most = g->count ? g->keys.count / g->count : 0;

	for (size_t i = 0; i < most; i++) {
		if (unsample_size(d, d->keys.v[g->keys.v[i]].labels))
			return true;
	}
	return false;
}

/* Context of writing the columns of values. */
struct writer {
	struct colgroup_coder *c;
	const struct dictionary *d;
	const struct colgroup *g;
	bool sizes; /* whether MODEL_UNSAMPLED is worth trying */
	int level;
	struct buf *out;
};

/*
 * Write a column in MODEL_SELF or MODEL_DELTA, whichever is smaller after
 * compression. To save time, a model is not compressed if it is much larger
 * than the other before compression.
 */
static void put_any(const struct writer *w, size_t type)
{
	struct colgroup_coder *c = w->c;
	struct buf *self = &c->parts[0];
	struct buf *delta = &c->parts[1];
	bool is_self;

	put_self(w->g, type, &c->column);
	put_delta(c, w->d, w->g, type, &c->other);
	buf_reset(self);
	buf_reset(delta);
	if (c->column.len < 4 * c->other.len || !c->column.len)
		section_put(c->zstd, w->level, buf_bytes(&c->column), self);
	if (c->other.len < c->column.len)
		section_put(c->zstd, w->level, buf_bytes(&c->other), delta);
	is_self = !delta->len || (self->len && self->len <= delta->len);
	buf_byte(w->out, is_self ? MODEL_SELF : MODEL_DELTA);
	buf_add(w->out, is_self ? self->ptr : delta->ptr,
		is_self ? self->len : delta->len);
}

/*
 * Write one or two columns, from the column of sample type t on, in
 * MODEL_PERIOD or MODEL_UNSAMPLED. Returns how many columns were written; 0 if
 * neither model suits.
 */
static size_t put_special(const struct writer *w, size_t t)
{
	struct buf *column = &w->c->column;
	bool two = w->sizes && t + 1 < w->g->types &&
		   put_unsampled(w->c, w->d, w->g, t, column);

	if (!two && (!t || !put_period(w->g, t, column)))
		return 0;
	buf_byte(w->out, two ? MODEL_UNSAMPLED : MODEL_PERIOD);
	section_put(w->c->zstd, w->level, buf_bytes(column), w->out);
	return two ? 2 : 1;
}

void colgroup_encode(struct colgroup_coder *c, const struct dictionary *d,
		     const struct colgroup *g, int level, struct buf *out)
{
	const struct writer w = { c, d, g, has_sizes(d, g), level, out };

	unsample_reset(&c->unsample, d);
	put_head(g, &c->head);
	section_put(c->zstd, level, buf_bytes(&c->head), out);
	colgroup_put_keys(c, d, g, &c->column);
	section_put(c->zstd, level, buf_bytes(&c->column), out);
	for (size_t t = 0; t < g->types;) {
		size_t done = put_special(&w, t);

		if (!done)
			put_any(&w, t);
		t += done ? done : 1;
	}
	buf_add(out, g->patches.ptr, g->patches.len);
}
