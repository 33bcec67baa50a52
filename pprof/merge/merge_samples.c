/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the samples of a profile to the result of a merge.
 */
#include <math.h>

#include "pprof/merge/merge_private.h"
#include "pprof/profile/label_view.h"
#include "pprof/profile/measure.h"

/*
 * Order of labels in a set: text labels before numeric labels, both sorted by
 * key. Labels with equal keys compare as equal; a stable sort keeps their
 * order.
 */
static int compare_labels(const struct pprof *p, const struct pprof_label *a,
			  const struct pprof_label *b)
{
	if (a->is_number != b->is_number)
		return a->is_number ? 1 : -1;
	if (a->key == b->key)
		return 0;
	return str_cmp(pprof_str(p, a->key), pprof_str(p, b->key));
}

/*
 * Stable merge sort: most label sets are small, but a hostile profile may have
 * a huge one, for which insertion sort would take quadratic time.
 */
static void sort_labels(const struct pprof *p, struct pprof_label *v, size_t n)
{
	struct pprof_label *half;
	size_t mid = n / 2;
	size_t a = 0;

	if (n < 2)
		return;
	sort_labels(p, v, mid);
	sort_labels(p, v + mid, n - mid);
	if (compare_labels(p, &v[mid - 1], &v[mid]) <= 0)
		return;
	half = mem_dup(v, mid * sizeof(*v));
	for (size_t to = 0, b = mid; a < mid; to++) {
		if (b < n && compare_labels(p, &v[b], &half[a]) < 0)
			v[to] = v[b++];
		else
			v[to] = half[a++];
	}
	mem_free(half);
}

/* Return whether two labels of the result are equal. */
static bool same_label(const struct pprof_label *a, const struct pprof_label *b)
{
	return a->key == b->key && a->is_number == b->is_number &&
	       a->str == b->str && a->unit == b->unit && a->num == b->num;
}

/*
 * Equality callback of the label set index: compares set i of the result with
 * m->labels.
 */
static bool same_set(const void *ctx, uint32_t i, const void *key)
{
	const struct merge *m = ctx;
	const struct merge *k = key; /* k->labels is the set to compare with */
	struct pprof_run r = m->out.label_sets.v[i];

	if (r.count != k->labels.count)
		return false;
	for (uint32_t n = 0; n < r.count; n++) {
		if (!same_label(&m->out.labels.v[r.first + n], &k->labels.v[n]))
			return false;
	}
	return true;
}

void merge_label(struct merge *m, struct str key, struct str value)
{
	struct pprof_label *l = vec_add(&m->extra);

	m->placed_samples = 0;
	memset(l, 0, sizeof(*l));
	l->key = strtab_intern(&m->out.strings, key);
	l->str = strtab_intern(&m->out.strings, value);
}

void merge_no_labels(struct merge *m)
{
	if (m->extra.count)
		m->placed_samples = 0;
	m->extra.count = 0;
}

/*
 * Add the labels of merge_label() to m->labels, except labels whose key a text
 * label of the sample has already.
 */
static void add_extra(struct merge *m)
{
	size_t own = m->labels.count;

	for (size_t i = 0; i < m->extra.count; i++) {
		size_t k = 0;

		while (k < own && (m->labels.v[k].is_number ||
				   m->labels.v[k].key != m->extra.v[i].key))
			k++;
		if (k == own)
			*vec_add(&m->labels) = m->extra.v[i];
	}
}

/*
 * Return the index that a label set of the source has in the result. A set
 * that the result does not have is added. The labels are sorted first, so that
 * sets which differ only in the order of labels are equal.
 */
static uint32_t map_labels(struct merge *m, struct pprof_run set)
{
	struct pprof_run new = { 0 };
	struct merge_key key;
	uint32_t to;

	m->labels.count = 0;
	for (uint32_t i = 0; i < set.count; i++) {
		const struct pprof_label *l = &m->src->labels.v[set.first + i];
		struct pprof_label *to_label = vec_add(&m->labels);

		/* Labels are hashed as bytes, so every byte must be defined. */
		memset(to_label, 0, sizeof(*to_label));
		to_label->key = merge_map_string(m, l->key);
		to_label->str = merge_map_string(m, l->str);
		to_label->unit = merge_map_string(m, l->unit);
		to_label->is_number = l->is_number;
		to_label->num = l->num;
	}
	add_extra(m);
	sort_labels(&m->out, m->labels.v, m->labels.count);
	new.count = (uint32_t)m->labels.count;
	key = (struct merge_key){ m, m->labels.v,
				  m->labels.count * sizeof(struct pprof_label),
				  0 };
	to = merge_index_find(m, &m->label_sets, m->out.label_sets.count,
			      same_set, &key);
	if (to != TABLE_NONE)
		return to;
	merge_index_add(&m->label_sets, &key, m->out.label_sets.count);
	new.first = (uint32_t)m->out.labels.count;
	for (uint32_t i = 0; i < new.count; i++)
		*vec_add(&m->out.labels) = m->labels.v[i];
	*vec_add(&m->out.label_sets) = new;
	return (uint32_t)m->out.label_sets.count - 1;
}

void merge_match(struct merge *m, const struct matcher *v, size_t count,
		 const struct limits *limits)
{
	if (m->match_count || count)
		m->placed_samples = 0;
	m->match = v;
	m->match_count = count;
	m->match_limits = limits;
}

int merge_judge_labels(struct merge *m, const struct pprof *p, struct err *err)
{
	struct growth_meter meter = { 0 };
	int rc = 0;

	m->passes.count = 0;
	if (!m->match_count)
		return 0;
	vec_reserve(&m->passes, p->label_sets.count);
	for (uint32_t i = 0; i < p->label_sets.count && !rc; i++) {
		struct label_view labels = label_view_of(p, i);
		size_t work = 0;

		*vec_add(&m->passes) = label_view_match(&labels, m->match,
							m->match_count, &work);
		rc = limits_meter(m->match_limits, &meter, work, 0, err);
	}
	return rc;
}

bool merge_takes_any(const struct merge *m, const struct pprof *p)
{
	if (!m->match_count)
		return true;
	for (size_t i = 0; i < p->samples.count; i++) {
		if (m->passes.v[p->samples.v[i].labels])
			return true;
	}
	return false;
}

/* Whether the matchers match the labels of a sample of the source. */
static bool merge_takes(const struct merge *m, size_t sample)
{
	return !m->match_count || m->passes.v[m->src->samples.v[sample].labels];
}

/* Equality callback of the sample index. struct pprof_sample has no padding. */
static bool same_sample(const void *ctx, uint32_t i, const void *key)
{
	const struct merge *m = ctx;

	return !memcmp(&m->out.samples.v[i], key, sizeof(struct pprof_sample));
}

/*
 * Return the index that sample i of the source has in the result. A new sample
 * gets a row of zeroes as values.
 */
static uint32_t map_sample(struct merge *m, size_t i)
{
	const struct pprof *src = m->src;
	struct pprof_sample s;
	struct merge_key key = { &s, &s, sizeof(s), 0 };
	uint32_t to;

	s.stack = merge_map_stack(m, pprof_stack(src, i));
	s.labels = map_labels(m, src->label_sets.v[src->samples.v[i].labels]);
	to = merge_index_find(m, &m->samples, m->out.samples.count, same_sample,
			      &key);
	if (to != TABLE_NONE)
		return to;
	merge_index_add(&m->samples, &key, m->out.samples.count);
	*vec_add(&m->out.samples) = s;
	for (size_t t = 0; t < m->out.types.count; t++)
		*vec_add(&m->out.values) = 0;
	return (uint32_t)m->out.samples.count - 1;
}

/*
 * Convert a value to the unit of the result. If the units are equal, the value
 * is returned unchanged: converting it to double and back would lose digits.
 */
static int64_t merge_scaled(const struct merge *m, size_t type, int64_t v)
{
	return m->ratios[type] == 1 ?
		       v :
		       measure_integer(round((double)v * m->ratios[type]));
}

/*
 * Add a value to m->pending. m->pending is extended to one row for each sample of
 * the result when a value first needs it, so that merges without MERGE_AVERAGE
 * need no memory for it.
 */
static void merge_add_pending(struct merge *m, uint32_t sample, size_t type,
			      int64_t v)
{
	int64_t *to;

	while (m->pending.count < m->out.values.count)
		*vec_add(&m->pending) = 0;
	to = &m->pending.v[sample * m->out.types.count + type];
	if (!*to && v)
		*vec_add(&m->touched) = sample;
	*to = wrap_add(*to, v);
}

/*
 * Apply the operations to one row of values. Sums wrap on overflow, as Go's
 * do.
 */
static void merge_add_values(struct merge *m, uint32_t sample,
			     const int64_t *from, const enum merge_op *ops)
{
	size_t width = m->out.types.count;
	int64_t *to = pprof_values(&m->out, sample);

	/* Fast path: no value needs another unit, and all are added. */
	if (!ops && !m->scaled && !m->collects) {
		for (size_t t = 0; t < width; t++)
			to[t] = wrap_add(to[t], from[t]);
		return;
	}
	for (size_t t = 0; t < width; t++) {
		enum merge_op op = ops ? ops[t] : MERGE_ADD;
		int64_t v = merge_scaled(m, t, from[t]);

		if (op == MERGE_SKIP)
			continue;
		if (op == MERGE_SUBTRACT)
			v = wrap_sub(0, v);
		if (op == MERGE_AVERAGE || m->collects)
			merge_add_pending(m, sample, t, v);
		else
			to[t] = wrap_add(to[t], v);
	}
}

bool merge_is_zero(const int64_t *v, size_t width, const enum merge_op *ops)
{
	for (size_t t = 0; t < width; t++) {
		if (v[t] && (!ops || ops[t] != MERGE_SKIP))
			return false;
	}
	return true;
}

void merge_add_samples(struct merge *m, const enum merge_op *ops)
{
	const struct pprof *src = m->src;
	size_t width = src->types.count;

	for (size_t i = 0; i < src->samples.count; i++) {
		const int64_t *v = pprof_values(src, i);

		if (!merge_is_zero(v, width, ops) && merge_takes(m, i))
			merge_add_values(m, map_sample(m, i), v, ops);
	}
}

void merge_add_sum_samples(struct merge *m, const enum merge_op *ops)
{
	const struct pprof *src = m->src;
	size_t width = src->types.count;

	for (size_t i = 0; i < src->samples.count; i++) {
		const int64_t *v = pprof_values(src, i);
		uint32_t *to = &m->sample_map.to.v[i];
		bool is_known = *to != PPROF_NONE;

		if (!merge_takes(m, i))
			continue;
		if (!is_known)
			*to = map_sample(m, i);
		if (!is_known || !merge_is_zero(v, width, ops))
			merge_add_values(m, *to, v, ops);
	}
}
