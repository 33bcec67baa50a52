/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/merge/merge.h"

#include <math.h>

#include <stdlib.h>

#include "pprof/merge/aggregate.h"
#include "pprof/merge/merge_private.h"

struct merge *merge_new(void)
{
	struct merge *m = mem_new(struct merge);

	pprof_reset(&m->out);
	/* String 0 must be the empty string. */
	strtab_intern(&m->out.strings, str_of(""));
	return m;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	pprof_fini(&m->out);
	table_fini(&m->mappings);
	table_fini(&m->functions.table);
	table_fini(&m->locations.table);
	table_fini(&m->stacks.table);
	table_fini(&m->label_sets.table);
	table_fini(&m->samples.table);
	table_fini(&m->comments);
	vec_fini(&m->pending);
	vec_fini(&m->touched);
	vec_fini(&m->string_map.to);
	vec_fini(&m->mapping_map.to);
	vec_fini(&m->function_map.to);
	vec_fini(&m->location_map.to);
	vec_fini(&m->sample_map.to);
	vec_fini(&m->scratch);
	vec_fini(&m->frames);
	vec_fini(&m->labels);
	vec_fini(&m->extra);
	vec_fini(&m->column);
	vec_fini(&m->passes);
	mem_free(m);
}

size_t merge_count(const struct merge *m)
{
	return m->count;
}

int merge_type_index(const struct merge *m, struct str name, size_t *out,
		     struct err *err)
{
	return pprof_type_index(&m->out, name, out, err);
}

size_t merge_memory(const struct merge *m)
{
	return sizeof(*m) + pprof_memory(&m->out) + table_memory(&m->mappings) +
	       table_memory(&m->functions.table) +
	       table_memory(&m->locations.table) +
	       table_memory(&m->stacks.table) +
	       table_memory(&m->label_sets.table) +
	       table_memory(&m->samples.table) + table_memory(&m->comments) +
	       vec_memory(&m->pending) + vec_memory(&m->touched) +
	       vec_memory(&m->string_map.to) + vec_memory(&m->function_map.to) +
	       vec_memory(&m->location_map.to) + vec_memory(&m->scratch) +
	       vec_memory(&m->frames) + vec_memory(&m->labels) +
	       vec_memory(&m->mapping_map.to) + vec_memory(&m->sample_map.to) +
	       vec_memory(&m->extra) + vec_memory(&m->column) +
	       vec_memory(&m->passes);
}

/* Equality callback of the comment index. */
static bool same_comment(const void *ctx, uint32_t i, const void *key)
{
	const struct pprof *out = ctx;

	return out->comments.v[i] == *(const uint32_t *)key;
}

/* Add the comments that the result does not have yet. */
static void add_comments(struct merge *m, const struct pprof *p)
{
	struct pprof *out = &m->out;

	for (size_t i = 0; i < p->comments.count; i++) {
		uint32_t c = merge_map_string(m, p->comments.v[i]);
		uint64_t hash = merge_hash(&c, sizeof(c));

		if (table_find(&m->comments, hash, same_comment, out, &c) !=
		    TABLE_NONE)
			continue;
		table_add(&m->comments, hash, (uint32_t)out->comments.count);
		*vec_add(&out->comments) = c;
	}
}

/*
 * Combine the fields of Profile that are not tables, as pprof does: earliest
 * time, sum of durations, longest period, and the first default type and
 * documentation URL that are set.
 */
static void merge_add_header(struct merge *m, const struct pprof *p)
{
	struct pprof *out = &m->out;
	int64_t period = merge_common_period(m, p);

	if (!out->time_ns || p->time_ns < out->time_ns)
		out->time_ns = p->time_ns;
	out->duration_ns = wrap_add(out->duration_ns, p->duration_ns);
	if (!out->period || out->period < period)
		out->period = period;
	add_comments(m, p);
	if (!out->default_type)
		out->default_type = merge_map_string(m, p->default_type);
	if (!out->doc_url)
		out->doc_url = merge_map_string(m, p->doc_url);
}

/*
 * The first mapping is the program by convention, so it is added first, even if
 * no sample refers to it.
 */
static void merge_add_program(struct merge *m, const struct pprof *p)
{
	struct pprof *out = &m->out;

	out->several_programs |= p->several_programs;
	out->several_builds |= p->several_builds;
	if (!p->mappings.count)
		return;
	if (out->mappings.count)
		pprof_note_program(out, pprof_str(p, p->mappings.v[0].file),
				   pprof_str(p, p->mappings.v[0].build_id));
	else
		merge_map_mapping(m, 0);
}

/*
 * Start adding p: clears the maps from the indexes of objects in p to their
 * indexes in the result, or keeps what they say of the last sum.
 */
static void merge_begin(struct merge *m, const struct pprof *p)
{
	m->src = p;
	if (!m->continues) {
		placemap_reset(&m->string_map, p->strings.strings.count);
		placemap_reset(&m->function_map, p->functions.count);
		m->placed_mappings = m->placed_locations = m->placed_samples =
			0;
	}
	placemap_extend(&m->mapping_map, m->placed_mappings, p->mappings.count);
	placemap_extend(&m->location_map, m->placed_locations,
			p->locations.count);
	if (m->keep_zero)
		placemap_extend(&m->sample_map, m->placed_samples,
				p->samples.count);
	m->placed_mappings = p->mappings.count;
	m->placed_locations = p->locations.count;
	m->placed_samples = m->keep_zero ? p->samples.count : 0;
}

/* Add a profile with all its sample types. */
static int merge_add_whole(struct merge *m, const struct pprof *p,
			   const enum merge_op *ops, struct err *err)
{
	int rc = m->count ? merge_check_types(m, p, err) : 0;

	if (!rc)
		rc = merge_judge_labels(m, p, err);
	/* Without a sample, its times and its program are no part, either. */
	if (rc || !merge_takes_any(m, p))
		return rc;
	merge_begin(m, p);
	if (!m->count)
		merge_take_types(m, p);
	else
		merge_common_units(m, p);
	merge_add_header(m, p);
	merge_add_program(m, p);
	if (m->keep_zero)
		merge_add_sum_samples(m, ops);
	else
		merge_add_samples(m, ops);
	m->src = NULL;
	m->count++;
	return 0;
}

void merge_project(struct merge *m, const struct value_type *type,
		   const struct value_type *period)
{
	m->is_projected = true;
	m->only = *type;
	m->period = *period;
}

void merge_project_name(struct merge *m, struct str type)
{
	m->is_projected = true;
	m->by_name = true;
	m->only.type = type;
}

bool merge_projects(const struct typeset *types, const struct value_type *type,
		    const struct value_type *period, size_t *at)
{
	if (!str_eq(types->period.type, period->type) ||
	    !str_eq(types->period.unit, period->unit))
		return false;
	for (size_t i = 0; i < types->count; i++) {
		if (str_eq(types->types[i].type, type->type) &&
		    str_eq(types->types[i].unit, type->unit)) {
			*at = i;
			return true;
		}
	}
	return false;
}

/* Whether a type of a profile is this one. */
static bool merge_is_type(const struct pprof *p, struct pprof_type t,
			  const struct value_type *type)
{
	return str_eq(pprof_str(p, t.type), type->type) &&
	       str_eq(pprof_str(p, t.unit), type->unit);
}

/* Return the sample type of a profile that is merged; the number of types: none is. */
static size_t merge_find_column(const struct merge *m, const struct pprof *p)
{
	size_t width = p->types.count;
	size_t at = 0;

	while (at < width &&
	       !(m->by_name ? str_eq(pprof_str(p, p->types.v[at].type),
				     m->only.type) :
			      merge_is_type(p, p->types.v[at], &m->only)))
		at++;
	return m->by_name || merge_is_type(p, p->period_type, &m->period) ?
		       at :
		       width;
}

/* Add one sample type of a profile: a profile with the same stacks. */
static int merge_add_column(struct merge *m, const struct pprof *p,
			    const enum merge_op *ops, struct err *err)
{
	struct pprof view = *p;
	size_t at = merge_find_column(m, p);

	if (at == p->types.count)
		return 0;
	m->column.count = 0;
	vec_reserve(&m->column, p->samples.count);
	for (size_t i = 0; i < p->samples.count; i++)
		*vec_add(&m->column) = pprof_values(p, i)[at];
	view.types.v = &p->types.v[at];
	view.types.count = 1;
	view.values.v = m->column.v;
	view.values.count = m->column.count;
	view.default_type = 0;
	return merge_add_whole(m, &view, ops ? ops + at : NULL, err);
}

int merge_add(struct merge *m, const struct pprof *p, const enum merge_op *ops,
	      struct err *err)
{
	return m->is_projected ? merge_add_column(m, p, ops, err) :
				 merge_add_whole(m, p, ops, err);
}

/*
 * Reserve memory for the objects of p, which is itself a merged profile. Most
 * objects of p are new to the result, and the arrays of the result would be
 * copied many times if they grew step by step.
 */
static void merge_make_room(struct merge *m, const struct pprof *p)
{
	struct pprof *out = &m->out;

	vec_reserve(&out->frames, p->frames.count + 1);
	vec_reserve(&out->stacks, p->stacks.count + 1);
	vec_reserve(&out->samples, p->samples.count + 1);
	vec_reserve(&out->values, p->values.count + 1);
	vec_reserve(&out->locations, p->locations.count + 1);
	table_reserve(&m->stacks.table, p->stacks.count);
	table_reserve(&m->samples.table, p->samples.count);
	table_reserve(&m->locations.table, p->locations.count);
}

/* Add a sum; `more`: it is the last one, with other values. */
static int merge_add_values_of(struct merge *m, const struct pprof *p,
			       const enum merge_op *ops, bool more,
			       struct err *err)
{
	int rc;

	m->keep_zero = true;
	m->continues = more;
	rc = merge_add(m, p, ops, err);
	m->continues = false;
	m->keep_zero = false;
	return rc;
}

int merge_add_sum(struct merge *m, const struct pprof *p,
		  const enum merge_op *ops, struct err *err)
{
	merge_make_room(m, p);
	return merge_add_values_of(m, p, ops, false, err);
}

int merge_add_more(struct merge *m, const struct pprof *p,
		   const enum merge_op *ops, struct err *err)
{
	return merge_add_values_of(m, p, ops, true, err);
}

uint32_t merge_place(const struct merge *m, size_t i)
{
	return m->sample_map.to.v[i];
}

/*
 * Return v / n, rounded half away from zero. long double (64 bits of mantissa
 * on x86-64) holds every int64_t exactly.
 */
static int64_t merge_divide(int64_t v, size_t n)
{
	return (int64_t)llroundl((long double)v / (long double)n);
}

/*
 * m->pending is set to 0 again, because the next series may use MERGE_AVERAGE,
 * too.
 */
void merge_average(struct merge *m, size_t n)
{
	size_t width = m->out.types.count;

	for (size_t i = 0; n && i < m->touched.count; i++) {
		size_t first = m->touched.v[i] * width;

		for (size_t t = first; t < first + width; t++) {
			int64_t v = merge_divide(m->pending.v[t], n);

			m->out.values.v[t] = wrap_add(m->out.values.v[t], v);
			m->pending.v[t] = 0;
		}
	}
	if (n)
		m->touched.count = 0;
}

void merge_collect(struct merge *m)
{
	m->collects = true;
}

void merge_collected(struct merge *m, size_t type, size_t n,
		     void (*take)(void *ctx, uint32_t sample, int64_t value),
		     void *ctx)
{
	size_t width = m->out.types.count;

	for (size_t i = 0; i < m->touched.count; i++) {
		int64_t *row = &m->pending.v[m->touched.v[i] * width];
		int64_t v = n ? merge_divide(row[type], n) : 0;

		memset(row, 0, width * sizeof(*row));
		if (v)
			take(ctx, m->touched.v[i], v);
	}
	m->touched.count = 0;
}

struct pprof *merge_number(struct merge *m, size_t type)
{
	struct pprof *out = &m->out;

	out->types.v[0] = out->types.v[type];
	out->types.count = 1;
	out->default_type = 0;
	out->values.count = out->samples.count;
	for (size_t i = 0; i < out->samples.count; i++)
		out->values.v[i] = (int64_t)i + 1;
	return out;
}

/* Return whether the profile has a sample whose values are all 0. */
static bool has_zero_sample(const struct pprof *p)
{
	for (size_t i = 0; i < p->samples.count; i++) {
		if (merge_is_zero(pprof_values(p, i), p->types.count, NULL))
			return true;
	}
	return false;
}

/*
 * Replace the result by a merge of the result alone, which leaves out samples
 * whose values are all 0, and objects that only such samples referred to.
 */
static void merge_compact(struct merge *m)
{
	struct merge *again = merge_new();
	struct merge old = *m;
	size_t count = m->count;

	/* Cannot fail: types are compared only from the second profile on. */
	if (merge_add(again, &m->out, NULL, NULL))
		abort();
	*m = *again;
	*again = old;
	m->count = count;
	merge_free(again);
}

/*
 * Merge again until no sample is left whose values are all 0, as pprof does: a
 * merge may join samples whose values cancel each other out.
 */
struct pprof *merge_finish(struct merge *m)
{
	while (has_zero_sample(&m->out))
		merge_compact(m);
	return &m->out;
}

/*
 * Scale p so that each sample type has the same total as in `to`; `ratios` gets by what
 * each type was multiplied.
 */
static void merge_normalize(struct pprof *p, const struct pprof *to,
			    double *ratios)
{
	for (size_t t = 0; t < p->types.count; t++) {
		int64_t have = 0;
		int64_t want = 0;

		for (size_t i = 0; i < p->samples.count; i++)
			have = wrap_add(have, pprof_values(p, i)[t]);
		for (size_t i = 0; i < to->samples.count; i++)
			want = wrap_add(want, pprof_values(to, i)[t]);
		ratios[t] = have ? (double)want / (double)have : 0;
	}
	pprof_scale(p, ratios);
}

/* Scale p to another time. A state does not grow with the time. `ratios`: as above. */
static void merge_scale_times(struct pprof *p, double factor, double *ratios)
{
	size_t width = p->types.count;

	for (size_t t = 0; t < width; t++) {
		struct str type = pprof_str(p, p->types.v[t].type);

		if (value_kind(type, p->duration_ns > 0) == KIND_STATE)
			continue;
		pprof_scale_sum(p->values.v + t, p->samples.count, width,
				factor);
		ratios[t] = factor;
	}
}

int merge_diff(struct merge *m, struct pprof *source, struct pprof *base,
	       const struct merge_diff_options *o, struct pprof **out,
	       struct err *err)
{
	double minus[TYPES_MAX];
	double unused[TYPES_MAX];
	double *ratios = o->ratios ? o->ratios : unused;
	int rc;

	for (size_t t = 0; t < base->types.count; t++)
		minus[t] = -1;
	for (size_t t = 0; t < source->types.count; t++)
		ratios[t] = 1;
	/*
	 * The label makes the samples of the base distinct, so that the merge
	 * keeps them next to the samples of the source instead of subtracting
	 * them.
	 */
	if (o->label_base)
		pprof_set_label(base, str_of(PPROF_BASE_KEY),
				str_of(PPROF_BASE_VALUE));
	if (o->normalize && source->types.count == base->types.count)
		merge_normalize(source, base, ratios);
	if (o->scale > 0)
		merge_scale_times(source, o->scale, ratios);
	pprof_scale(base, minus);
	rc = merge_add(m, source, NULL, err);
	if (!rc)
		rc = merge_add(m, base, NULL, err);
	if (!rc)
		*out = merge_finish(m);
	return rc;
}
