/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/rows/group_decode.h"

#include "base/dec.h"
#include "pprof/dictionary/section.h"
#include "pprof/rows/group.h"

/*
 * Decodes the values of a group of profiles. Format: docs/format/columns.md.
 */

/* Reader of numbers that are mostly 0 (format: put_sparse()). */
struct sparse {
	struct dec in;
	uint64_t zeros; /* zeros before the next number that is not 0 */
};

/* Begin to read numbers from the bytes b. If b is empty, all numbers are 0. */
static struct sparse sparse_init(struct bytes b)
{
	struct sparse s = { .in = dec_init(b) };

	s.zeros = dec_left(&s.in) ? dec_uvarint(&s.in) : UINT64_MAX;
	return s;
}

/* Read the next number. After the end of the input all numbers are 0. */
static inline int64_t get_sparse(struct sparse *s)
{
	int64_t v;

	if (s->zeros) {
		s->zeros--;
		return 0;
	}
	v = dec_svarint(&s->in);
	s->zeros = dec_left(&s->in) ? dec_uvarint(&s->in) : UINT64_MAX;
	return v;
}

/*
 * Find the next number that is not 0, from position `*i` on and before `stop`.
 * Stores its position in `*i` and the number in `*v`. If there is none, sets
 * `*i` to `stop` and returns false.
 */
static inline bool next_sparse(struct sparse *s, size_t *i, size_t stop,
			       int64_t *v)
{
	if (s->zeros >= stop - *i) {
		s->zeros -= stop - *i;
		*i = stop;
		return false;
	}
	*i += s->zeros;
	s->zeros = 0;
	*v = get_sparse(s);
	return true;
}

/* Return how many of the next numbers are 0, but at most `most`. */
static inline size_t sparse_zeros(const struct sparse *s, size_t most)
{
	return s->zeros < most ? (size_t)s->zeros : most;
}

/* Skip n numbers, including zeros. */
static void skip_sparse(struct sparse *s, size_t n)
{
	size_t i = 0;
	int64_t v;

	while (next_sparse(s, &i, n, &v))
		i++;
}

/*
 * The samples to decode: all from sample `first` of the group on. The values of
 * earlier samples are skipped.
 */
struct span {
	const struct colgroup *g;
	const struct row *row; /* the row whose first sample is `first` */
	size_t first;
};

/* The span that begins with row `begin`. */
static struct span value_span_of(const struct colgroup *g, size_t begin)
{
	struct span s = { .g = g, .row = &g->rows[begin] };

	s.first = colgroup_count_samples(g, begin);
	return s;
}

/* Decode a column of MODEL_SELF. */
static bool get_self(struct dec *in, const struct span *s, int64_t *v)
{
	for (size_t i = 0; i < s->first; i++)
		dec_svarint(in);
	for (size_t i = s->first; i < s->g->keys.count; i++)
		v[i] = dec_svarint(in);
	return !in->bad;
}

/*
 * Pass over the samples before the span. Their differences are added up for
 * each key, because the values in the span are stored relative to them.
 */
static void pass_deltas(struct sparse *s, const struct span *span,
			int64_t *previous)
{
	int64_t v;

	for (size_t i = 0; next_sparse(s, &i, span->first, &v); i++) {
		int64_t *p = &previous[span->g->keys.v[i]];

		*p = wrap_add(*p, v);
	}
}

/* Decode a column of MODEL_DELTA. */
static bool get_delta(struct colgroup_coder *c, const struct dictionary *d,
		      struct dec *in, const struct span *span, int64_t *v)
{
	int64_t *previous = colgroup_previous(c, d->keys.count);
	struct sparse s = sparse_init(dec_bytes(in, dec_left(in)));

	pass_deltas(&s, span, previous);
	for (size_t i = span->first; i < span->g->keys.count; i++) {
		int64_t *p = &previous[span->g->keys.v[i]];

		*p = wrap_add(*p, get_sparse(&s));
		v[i] = *p;
	}
	return !s.in.bad;
}

/*
 * Decode a column of MODEL_PERIOD. `before` is the decoded column of the
 * previous sample type.
 */
static bool get_period(struct dec *in, const struct span *span,
		       const int64_t *before, int64_t *v)
{
	struct sparse s = sparse_init(dec_bytes(in, dec_left(in)));
	const struct row *r = span->row;
	size_t i = span->first;

	skip_sparse(&s, i);
	for (; i < span->g->keys.count; r++) {
		for (size_t stop = i + r->samples; i < stop; i++)
			v[i] = wrap_add(wrap_mul(before[i], r->period),
					get_sparse(&s));
	}
	return !s.in.bad;
}

/*
 * The three parts of a section in MODEL_UNSAMPLED: differences of sampled
 * counts, and the errors of both estimates (objects and space).
 */
struct unsampled {
	struct colgroup_coder *c;
	struct colgroup_estimate *estimates; /* of each key */
	struct sparse counts;
	struct sparse objects;
	struct sparse space;
};

/*
 * Pass over the samples before the span. Their differences of counts are added
 * up for each key, because the counts in the span are stored relative to them;
 * their errors of the estimates are skipped.
 */
static void pass_counts(struct unsampled *u, const struct span *span)
{
	int64_t v;

	for (size_t i = 0; next_sparse(&u->counts, &i, span->first, &v); i++) {
		struct colgroup_estimate *e = &u->estimates[span->g->keys.v[i]];

		e->count = wrap_add(e->count, v);
	}
	skip_sparse(&u->objects, span->first);
	skip_sparse(&u->space, span->first);
}

/*
 * Compute the estimates of a key again. This is rarely needed, because most
 * counts do not change from row to row.
 */
static void value_estimate(struct unsampled *u, struct colgroup_estimate *e,
			   uint32_t key, int64_t period)
{
	const struct unsample_rate *rate =
		unsample_rate(&u->c->unsample, key, period);

	e->made = true;
	e->period = period;
	e->objects = unsample_objects(rate, e->count);
	e->space = unsample_space(rate, e->count);
}

/* The estimates of a key, for a row with this period. */
static inline struct colgroup_estimate *
get_estimate(struct unsampled *u, uint32_t key, int64_t period)
{
	struct colgroup_estimate *e = &u->estimates[key];

	if (!e->made || e->period != period)
		value_estimate(u, e, key, period);
	return e;
}

/*
 * Decode at most n values for which all three parts have zeros: the count did
 * not change, and the estimates are exact. Nearly all values are such. Returns
 * their number.
 */
static size_t get_run(struct unsampled *u, int64_t period, const uint32_t *keys,
		      size_t n, int64_t *objects, int64_t *space)
{
	n = sparse_zeros(&u->counts, n);
	n = sparse_zeros(&u->objects, n);
	n = sparse_zeros(&u->space, n);
	for (size_t i = 0; i < n; i++) {
		const struct colgroup_estimate *e =
			get_estimate(u, keys[i], period);

		objects[i] = e->objects;
		space[i] = e->space;
	}
	u->counts.zeros -= n;
	u->objects.zeros -= n;
	u->space.zeros -= n;
	return n;
}

/* Decode the values (objects and space) of one row. */
static void get_row(struct unsampled *u, const struct row *r,
		    const uint32_t *keys, int64_t *objects, int64_t *space)
{
	for (size_t i = 0;; i++) {
		const struct colgroup_estimate *e;
		int64_t more;

		i += get_run(u, r->period, keys + i, r->samples - i,
			     objects + i, space + i);
		if (i == r->samples)
			break;
		more = get_sparse(&u->counts);
		if (more) {
			u->estimates[keys[i]].count =
				wrap_add(u->estimates[keys[i]].count, more);
			u->estimates[keys[i]].made = false;
		}
		e = get_estimate(u, keys[i], r->period);
		objects[i] = wrap_add(e->objects, get_sparse(&u->objects));
		space[i] = wrap_add(e->space, get_sparse(&u->space));
	}
}

/*
 * Return a reader of the next part of a section; the part's length precedes it.
 */
static struct sparse get_part(struct dec *in)
{
	size_t len = (size_t)dec_uvarint(in);

	return sparse_init(dec_bytes(in, len));
}

/* Decode the two columns of MODEL_UNSAMPLED. */
static bool get_unsampled(struct colgroup_coder *c, const struct dictionary *d,
			  struct dec *in, const struct span *span,
			  int64_t *objects)
{
	const struct colgroup *g = span->g;
	struct unsampled u = {
		.c = c,
		.estimates = colgroup_estimates(c, d->keys.count),
	};
	const struct row *r = span->row;

	u.counts = get_part(in);
	u.objects = get_part(in);
	u.space = get_part(in);
	pass_counts(&u, span);
	for (size_t i = span->first; i < g->keys.count; r++) {
		get_row(&u, r, g->keys.v + i, objects + i,
			objects + g->keys.count + i);
		i += r->samples;
	}
	return !in->bad && !u.counts.in.bad && !u.objects.in.bad &&
	       !u.space.in.bad;
}

/*
 * Which sections of values must be decoded. The index of both arrays is the
 * sample type of the section's first column.
 */
struct plan {
	enum column_model models[TYPES_MAX]; /* how the section is stored */
	bool needed[TYPES_MAX];
};

/* The number of columns in a section of this model. */
static size_t columns_of(enum column_model model)
{
	return model == MODEL_UNSAMPLED ? 2 : 1;
}

/*
 * Whether the section that begins with column t is needed: one of its columns
 * is wanted, or the next section is needed and is decoded from this one
 * (MODEL_PERIOD).
 */
static bool value_is_needed(const struct plan *p,
			    const struct colgroup_request *q, size_t t,
			    size_t columns, size_t types)
{
	size_t next = t + columns;
	bool wanted = !q->types || q->types[t] ||
		      (columns == 2 && t + 1 < types && q->types[t + 1]);

	return wanted || (next < types && p->needed[next] &&
			  p->models[next] == MODEL_PERIOD);
}

/*
 * List the sections, then decide from the last to the first, because decoding a
 * section may need the previous section.
 */
static void make_plan(struct plan *p, const struct colgroup_request *q,
		      struct dec in, size_t types)
{
	uint16_t firsts[TYPES_MAX];
	size_t sections = 0;

	for (size_t t = 0; t < types; t += columns_of(p->models[t])) {
		/*
		 * An unknown model is an error only if get_values() has to
		 * decode it.
		 */
		p->models[t] = dec_u8(&in);
		section_skip(&in);
		firsts[sections++] = (uint16_t)t;
	}
	while (sections) {
		size_t t = firsts[--sections];

		p->needed[t] = value_is_needed(p, q, t,
					       columns_of(p->models[t]), types);
	}
}

/*
 * Decode the section in c->column into the column of sample type t and, if the
 * section has two columns, into the next one.
 */
static bool get_values(struct colgroup_coder *c, const struct dictionary *d,
		       const struct colgroup_request *q,
		       enum column_model model, struct colgroup *g, size_t t)
{
	struct dec in = dec_init(buf_bytes(&c->column));
	struct span span = value_span_of(g, q->begin);
	int64_t *v = g->values.v + t * g->keys.count;

	switch (model) {
	case MODEL_SELF:
		return get_self(&in, &span, v);
	case MODEL_DELTA:
		return get_delta(c, d, &in, &span, v);
	case MODEL_PERIOD:
		return t && get_period(&in, &span, v - g->keys.count, v);
	case MODEL_UNSAMPLED:
		return t + 1 < g->types && get_unsampled(c, d, &in, &span, v);
	}
	return false;
}

/* Return ERR_CORRUPT with a message; `what` says which part is damaged. */
NODISCARD static int colgroup_damaged(struct err *err, const char *what)
{
	return err_set(err, ERR_CORRUPT, "the columns are damaged: %s", what);
}

/*
 * Decode the wanted columns of values into g, whose rows and keys are decoded
 * already. The values must be next in `in`. ERR_CORRUPT: the group is damaged;
 * ERR_TOOBIG: a section is too large.
 *
 * Sections that are not needed are skipped without decompressing them.
 */
NODISCARD static int colgroup_get_values(struct colgroup_coder *c,
					 const struct dictionary *d,
					 const struct colgroup_request *q,
					 struct dec *in, struct colgroup *g,
					 struct err *err)
{
	struct plan plan = { 0 };

	g->values.count = 0;
	vec_reserve(&g->values, g->types * g->keys.count + 1);
	g->values.count = g->types * g->keys.count;
	make_plan(&plan, q, *in, g->types);
	for (size_t t = 0; t < g->types;) {
		enum column_model model = dec_u8(in);
		int rc;

		if (!plan.needed[t]) {
			section_skip(in);
		} else {
			rc = section_get(c->zstd, in, &c->column, err);
			if (rc)
				return rc;
			if (!get_values(c, d, q, model, g, t))
				return colgroup_damaged(
					err, "invalid column of values");
		}
		t += columns_of(model);
	}
	return 0;
}

/*
 * Number of columns in the head (the section with a few numbers for each
 * profile), see set_head_field().
 */
#define HEAD_FIELDS 7

/*
 * Read a column of the head, which is stored as differences (order 1) or, from
 * the third number on, as differences of differences (order 2).
 */
static void get_column(struct dec *d, int64_t *v, size_t n, int order)
{
	int64_t last = 0;
	int64_t step = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t diff = dec_svarint(d);

		if (order == 2 && i >= 2)
			diff = wrap_add(diff, step);
		step = diff;
		last = wrap_add(last, diff);
		v[i] = last;
	}
}

/*
 * Store `v`, the number of row i in column `field` of the head. Returns false
 * if the number is out of range.
 */
static bool set_head_field(struct colgroup *g, const struct dictionary *d,
			   size_t i, int field, int64_t v)
{
	struct row *row = &g->rows[i];
	uint64_t u = (uint64_t)v;

	switch (field) {
	case 0:
		row->shape = (uint32_t)u;
		return u < d->shapes.count;
	case 1:
		row->layout = (uint32_t)u;
		return u < d->layouts.count;
	case 2:
		row->samples = (size_t)u;
		return u <= UINT32_MAX;
	case 3:
		g->patch_lens[i] = (uint32_t)u;
		return u <= UINT32_MAX;
	case 4:
		row->period = v;
		return true;
	case 5:
		row->duration_ns = v;
		return true;
	default:
		row->time_ns = v;
		return true;
	}
}

/*
 * Check each number of samples in the head against the length of the profile: a
 * sample takes at least two bytes of its profile, and one more for each value.
 * This bounds what the decoder allocates for a damaged head.
 */
static bool colgroup_has_room(const struct colgroup *g, const uint32_t *lens)
{
	for (size_t i = 0; i < g->count; i++) {
		if (g->rows[i].samples * (g->types + 2) > lens[i])
			return false;
	}
	return true;
}

/* Read and check the head. The rest of the group depends on its numbers. */
static int get_head(struct colgroup_coder *c, const struct dictionary *d,
		    const struct colgroup_request *q, struct dec *in,
		    struct colgroup *g, struct err *err)
{
	int64_t v[COLGROUP_ROWS_MAX];
	struct dec head;
	int rc = section_get(c->zstd, in, &c->head, err);

	if (rc)
		return rc;
	head = dec_init(buf_bytes(&c->head));
	g->top = (uint32_t)dec_count(&head, d->keys.count);
	g->types = (size_t)dec_count(&head, TYPES_MAX);
	for (int f = 0; f < HEAD_FIELDS; f++) {
		get_column(&head, v, g->count, f == HEAD_FIELDS - 1 ? 2 : 1);
		for (size_t i = 0; i < g->count; i++) {
			if (!set_head_field(g, d, i, f, v[i]))
				return colgroup_damaged(
					err,
					"invalid number in the section head");
		}
	}
	if (head.bad || dec_left(&head))
		return colgroup_damaged(
			err, "the section head has an invalid length");
	return colgroup_has_room(g, q->lens) ?
		       0 :
		       colgroup_damaged(err, "too many values");
}

size_t colgroup_count_samples(const struct colgroup *g, size_t end)
{
	size_t n = 0;

	for (size_t i = 0; i < end; i++)
		n += g->rows[i].samples;
	return n;
}

/* State of reading keys, see colgroup_put_keys(). */
struct keys {
	struct dec in;
	uint32_t *successors;
	uint32_t count; /* number of keys in the dictionary */
	/*
	 * Number of keys so far: the keys before the group and the new ones in
	 * it.
	 */
	uint32_t top;
};

/*
 * Read a key that is not the predicted one. It is stored as the distance from
 * `top`; 0 means the next new key.
 */
static inline uint32_t other_key(struct keys *k)
{
	uint64_t back = dec_count(&k->in, k->top);

	if (!back)
		k->top++;
	return k->in.bad ? UINT32_MAX : k->top - (uint32_t)back - !back;
}

/*
 * Read the keys of one row into `out`. successors[count] predicts the first key
 * of the row. Every key is checked, because later code uses keys as indexes.
 */
static bool colgroup_get_keys(struct keys *k, uint32_t *out, size_t samples)
{
	uint32_t *next = &k->successors[k->count];
	uint64_t run = dec_uvarint(&k->in);

	for (size_t i = 0; i < samples; i++) {
		uint32_t key = *next;

		if (!run--) {
			key = other_key(k);
			*next = key;
			run = dec_uvarint(&k->in);
		} else if (key == k->top) {
			k->top++;
		}
		if (key >= k->count)
			return false;
		out[i] = key;
		next = &k->successors[key];
		if (!*next)
			*next = key + 1;
	}
	return !run && !k->in.bad;
}

/*
 * Check the depth of a row's stacks against the length of the profile, in which
 * each frame takes at least one byte. Without this check, a damaged table could
 * have a very deep stack, which queries would walk again for each sample.
 */
static bool has_depth(const struct dictionary *d, const uint32_t *keys,
		      size_t samples, uint32_t len)
{
	uint64_t sum = 0;

	/* Only decoded tables have depths. */
	if (d->depths.count != d->keys.count)
		return true;
	for (size_t i = 0; i < samples; i++)
		sum += d->depths.v[keys[i]];
	return sum <= len;
}

/*
 * Read the keys of all rows before q->end. Rows before q->begin are needed,
 * too, because keys are predicted from the keys of earlier rows.
 */
static int get_all_keys(struct colgroup_coder *c, const struct dictionary *d,
			const struct colgroup_request *q, struct dec *in,
			struct colgroup *g, struct err *err)
{
	struct keys k = { .count = (uint32_t)d->keys.count, .top = g->top };
	size_t total = colgroup_count_samples(g, q->end);
	size_t at = 0;
	int rc = section_get(c->zstd, in, &c->column, err);

	if (rc)
		return rc;
	k.in = dec_init(buf_bytes(&c->column));
	k.successors = colgroup_successors(c, d->keys.count);
	g->keys.count = 0;
	vec_reserve(&g->keys, total + 1);
	g->keys.count = total;
	for (size_t i = 0; i < q->end; i++) {
		const struct row *row = &g->rows[i];

		if (!colgroup_get_keys(&k, g->keys.v + at, row->samples) ||
		    !has_depth(d, g->keys.v + at, row->samples, q->lens[i]))
			return colgroup_damaged(err, "invalid keys");
		at += row->samples;
	}
	return 0;
}

/*
 * Read the patches. They are the rest of the group; the head has their lengths.
 */
static int get_patches(const struct colgroup_request *q, struct dec *in,
		       struct colgroup *g, struct err *err)
{
	struct bytes b = dec_bytes(in, dec_left(in));
	uint64_t sum = 0;

	for (size_t i = 0; i < g->count; i++)
		sum += g->patch_lens[i];
	if (sum != b.len)
		return colgroup_damaged(err, "invalid patches");
	buf_reset(&g->patches);
	if (q->patches)
		buf_add(&g->patches, b.ptr, b.len);
	return 0;
}

/*
 * Total length of the decoded profiles. It bounds the length of a section,
 * because a number takes at least one byte in a profile, and at most ten in a
 * section.
 */
static size_t raw_length(const struct colgroup_request *q)
{
	size_t sum = 0;

	for (size_t i = 0; i < q->count; i++)
		sum += q->lens[i];
	return sum;
}

int colgroup_decode(struct colgroup_coder *c, const struct dictionary *d,
		    const struct colgroup_request *q, struct colgroup *g,
		    struct err *err)
{
	struct dec in = dec_init(q->stored);
	int rc;

	colgroup_reset(g);
	unsample_reset(&c->unsample, d);
	if (!q->count || q->count > COLGROUP_ROWS_MAX || q->end > q->count ||
	    q->begin > q->end)
		return colgroup_damaged(err, "invalid number of profiles");
	g->count = q->count;
	if (raw_length(q) > COLGROUP_BYTES_MAX)
		return colgroup_damaged(err, "invalid length of the profiles");
	/* Limit the size to which a damaged section may decompress. */
	c->head.max = c->column.max = 4 * KIB + 16 * raw_length(q);
	rc = get_head(c, d, q, &in, g, err);
	if (!rc)
		rc = get_all_keys(c, d, q, &in, g, err);
	if (!rc)
		rc = colgroup_get_values(c, d, q, &in, g, err);
	if (!rc)
		rc = get_patches(q, &in, g, err);
	g->count = rc ? 0 : q->end;
	colgroup_link(g);
	return rc;
}

/* Decompress only the head of the group, and read only its first numbers. */
size_t colgroup_types(struct colgroup_coder *c, struct bytes stored)
{
	struct dec in = dec_init(stored);
	struct dec head;

	c->head.max = MIB;
	if (section_get(c->zstd, &in, &c->head, NULL))
		return 0;
	head = dec_init(buf_bytes(&c->head));
	dec_uvarint(&head); /* number of keys before the group */
	return (size_t)dec_count(&head, TYPES_MAX);
}
