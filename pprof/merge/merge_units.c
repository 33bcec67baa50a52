/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether the sample types of a profile agree with those of the result,
 * and converts both to common units.
 */
#include <math.h>

#include "pprof/merge/merge_private.h"
#include "pprof/profile/measure.h"

/* Append the sample types of a profile to `out`, for an error message. */
static void merge_describe(const struct pprof *p, struct buf *out)
{
	for (size_t i = 0; i < p->types.count; i++)
		buf_printf(out, "%s%.*s/%.*s", i ? " " : "",
			   STR_ARG(pprof_str(p, p->types.v[i].type)),
			   STR_ARG(pprof_str(p, p->types.v[i].unit)));
}

/*
 * Return ERR_INVALID with a message that names the sample types of the result
 * and of p.
 */
static int merge_disagree(const struct merge *m, const struct pprof *p,
			  struct err *err)
{
	struct buf a = buf_init(200);
	struct buf b = buf_init(200);

	merge_describe(&m->out, &a);
	merge_describe(p, &b);
	err_set(err, ERR_INVALID,
		"cannot merge profiles with different sample types: %s and %s (select one profile type, such as heap{…}, or set sample_index to a type that all profiles have; if that is not enough, select one value of the label __part__, one job or a shorter time; merge only files with equal sample types)",
		buf_cstr(&a), buf_cstr(&b));
	buf_fini(&a);
	buf_fini(&b);
	return ERR_INVALID;
}

/*
 * Return whether values of two types can be added: their names are equal and
 * their units convert into each other. Values that were collected are with the
 * caller, and cannot be converted any more: then the units are equal.
 */
static bool merge_agrees(const struct merge *m, struct pprof_type a,
			 const struct pprof *p, struct pprof_type b)
{
	struct str have = pprof_str(&m->out, a.unit);
	struct str unit = pprof_str(p, b.unit);

	return str_eq(pprof_str(&m->out, a.type), pprof_str(p, b.type)) &&
	       (str_eq(have, unit) ||
		(!m->collects && measure_compatible(have, unit)));
}

/* Return the factor that converts values from unit `from` to unit `to`. */
static double merge_ratio(struct str from, struct str to)
{
	struct str unit;

	return measure_scale(1, from, to, &unit);
}

/*
 * Change the unit of one sample type of the result to a finer one, and
 * converts the values. Sums of MERGE_AVERAGE are converted, too.
 */
static void merge_refine(struct merge *m, size_t type, struct str unit)
{
	struct pprof_type *t = &m->out.types.v[type];
	double by = merge_ratio(pprof_str(&m->out, t->unit), unit);
	size_t width = m->out.types.count;

	for (size_t i = type; i < m->out.values.count; i += width)
		m->out.values.v[i] =
			measure_integer(round((double)m->out.values.v[i] * by));
	for (size_t i = type; i < m->pending.count; i += width)
		m->pending.v[i] =
			measure_integer(round((double)m->pending.v[i] * by));
	t->unit = strtab_intern(&m->out.strings, unit);
}

/*
 * A ratio below 1 means that the source's unit is the finer one. The result is
 * then converted to it, because converting the source to the coarser unit would
 * lose digits.
 */
void merge_common_units(struct merge *m, const struct pprof *p)
{
	m->scaled = false;
	for (size_t i = 0; i < p->types.count; i++) {
		struct str have = pprof_str(&m->out, m->out.types.v[i].unit);
		struct str unit = pprof_str(p, p->types.v[i].unit);

		m->ratios[i] = 1;
		if (str_eq(have, unit))
			continue;
		if (merge_ratio(unit, have) < 1) {
			merge_refine(m, i, unit);
			continue;
		}
		m->ratios[i] = merge_ratio(unit, have);
		m->scaled = m->scaled || m->ratios[i] != 1;
	}
}

int64_t merge_common_period(struct merge *m, const struct pprof *p)
{
	struct str have = pprof_str(&m->out, m->out.period_type.unit);
	struct str unit = pprof_str(p, p->period_type.unit);
	struct str name;

	if (str_eq(have, unit))
		return p->period;
	if (merge_ratio(unit, have) < 1) {
		m->out.period = measure_integer(
			measure_scale(m->out.period, have, unit, &name));
		m->out.period_type.unit = strtab_intern(&m->out.strings, unit);
		return p->period;
	}
	return measure_integer(measure_scale(p->period, unit, have, &name));
}

/*
 * As in pprof, drop_frames and keep_frames of the first profile are used for
 * the result.
 */
void merge_take_types(struct merge *m, const struct pprof *p)
{
	struct pprof *out = &m->out;

	for (size_t i = 0; i < p->types.count; i++) {
		*vec_add(&out->types) = (struct pprof_type){
			.type = merge_map_string(m, p->types.v[i].type),
			.unit = merge_map_string(m, p->types.v[i].unit),
		};
		m->ratios[i] = 1;
	}
	out->period_type.type = merge_map_string(m, p->period_type.type);
	out->period_type.unit = merge_map_string(m, p->period_type.unit);
	out->drop_frames = merge_map_string(m, p->drop_frames);
	out->keep_frames = merge_map_string(m, p->keep_frames);
	out->period = p->period;
}

int merge_check_types(struct merge *m, const struct pprof *p, struct err *err)
{
	const struct pprof *out = &m->out;

	if (out->types.count != p->types.count)
		return merge_disagree(m, p, err);
	for (size_t i = 0; i < p->types.count; i++) {
		if (!merge_agrees(m, out->types.v[i], p, p->types.v[i]))
			return merge_disagree(m, p, err);
	}
	if (!merge_agrees(m, out->period_type, p, p->period_type))
		return err_set(
			err, ERR_INVALID,
			"cannot merge profiles with different period types: %.*s/%.*s and %.*s/%.*s (select fewer profiles, such as those of one job or of a shorter time; merge only files with equal period types)",
			STR_ARG(pprof_str(out, out->period_type.type)),
			STR_ARG(pprof_str(out, out->period_type.unit)),
			STR_ARG(pprof_str(p, p->period_type.type)),
			STR_ARG(pprof_str(p, p->period_type.unit)));
	return 0;
}
