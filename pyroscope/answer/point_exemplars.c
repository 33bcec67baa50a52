/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/point_exemplars.h"

#include "base/mem.h"
#include "pprof/merge/aggregate.h"

/* Where an exemplar belongs. */
struct exemplar_place {
	const struct labels *group;
	size_t step;
};

void point_exemplars_init(struct point_exemplars *e,
			  const struct limits *limits,
			  const struct time_steps *steps)
{
	*e = (struct point_exemplars){ .limits = limits,
				       .steps = steps,
				       .types = mem_new(struct typeset) };
}

void point_exemplars_fini(struct point_exemplars *e)
{
	for (size_t i = 0; i < e->v.count; i++) {
		labels_unref(e->v.v[i].group);
		labels_unref(e->v.v[i].series);
	}
	vec_fini(&e->v);
	table_fini(&e->by_place);
	mem_free(e->types);
}

static uint64_t point_exemplars_hash(const struct exemplar_place *p)
{
	return p->group->hash + (p->step + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Implement table_same_fn. */
static bool point_exemplars_same(const void *ctx, uint32_t number,
				 const void *key)
{
	const struct point_exemplars *e = ctx;
	const struct exemplar_place *p = key;
	const struct point_exemplar *x = &e->v.v[number];

	return x->step == p->step && !labels_cmp(x->group, p->group);
}

const struct point_exemplar *
point_exemplars_find(const struct point_exemplars *e,
		     const struct labels *group, size_t step)
{
	const struct exemplar_place place = { group, step };
	uint32_t at = table_find(&e->by_place, point_exemplars_hash(&place),
				 point_exemplars_same, e, &place);

	return at == TABLE_NONE ? NULL : &e->v.v[at];
}

/* Note a profile, unless that of its place has a larger total. */
static int point_exemplars_note(struct point_exemplars *e,
				const struct point_exemplar *x, struct err *err)
{
	const struct exemplar_place place = { x->group, x->step };
	uint64_t hash = point_exemplars_hash(&place);
	uint32_t at =
		table_find(&e->by_place, hash, point_exemplars_same, e, &place);
	struct point_exemplar *old;

	if (at == TABLE_NONE) {
		table_add(&e->by_place, hash, (uint32_t)e->v.count);
		*vec_add(&e->v) = *x;
		labels_ref(x->group);
		labels_ref(x->series);
		return limits_meter(e->limits, &e->meter, 1,
				    e->v.cap * sizeof(*e->v.v) +
					    table_memory(&e->by_place),
				    err);
	}
	old = &e->v.v[at];
	if (x->value <= old->value)
		return 0;
	labels_unref(old->series);
	old->series = labels_ref(x->series);
	old->ms = x->ms;
	old->value = x->value;
	return 0;
}

/* Find a sample type in the type set of a row. False: it lacks the type. */
static int point_exemplars_column(struct point_exemplars *e,
				  const struct totals_view *t, size_t row,
				  const struct value_type *type, size_t *out,
				  struct err *err)
{
	int rc = typeset_decode(t->typesets[t->rows[row].typeset], e->types,
				err);

	*out = SIZE_MAX;
	for (size_t i = 0; i < e->types->count && !rc; i++) {
		if (str_eq(e->types->types[i].type, type->type) &&
		    str_eq(e->types->types[i].unit, type->unit))
			*out = i;
	}
	return rc;
}

/*
 * Set *value to the total of a row; of a counter, to its growth since the row before. False:
 * the growth is unknown.
 */
static bool point_exemplars_value(const struct totals_view *t, size_t row,
				  size_t column, enum value_kind kind,
				  int64_t *value)
{
	const struct totals_row *r = &t->rows[row];
	int64_t before;

	*value = t->totals[r->first + column];
	if (kind != KIND_COUNTER)
		return true;
	if (!row || t->rows[row - 1].typeset != r->typeset)
		return false;
	before = t->totals[t->rows[row - 1].first + column];
	/* After a restart, a counter began at 0. */
	if (t->restarts ? !t->restarts[row] : *value >= before)
		*value -= before;
	return true;
}

int point_exemplars_add(struct point_exemplars *e, struct labels *group,
			struct labels *series, const struct totals_view *t,
			const struct value_type *type, struct err *err)
{
	uint32_t typeset = UINT32_MAX;
	size_t column = SIZE_MAX;
	int rc = 0;

	for (size_t i = 0; i < t->count && !rc; i++) {
		const struct totals_row *r = &t->rows[i];
		struct point_exemplar x = { .group = group,
					    .series = series,
					    .ms = r->ms };
		enum value_kind kind =
			value_kind(type->type, querier_counts_interval(t, r));

		if (r->typeset != typeset) {
			typeset = r->typeset;
			rc = point_exemplars_column(e, t, i, type, &column,
						    err);
		}
		if (rc || column == SIZE_MAX ||
		    !time_steps_has(e->steps, r->ms) ||
		    !point_exemplars_value(t, i, column, kind, &x.value) ||
		    x.value <= 0)
			continue;
		x.step = time_steps_at(e->steps, r->ms);
		rc = point_exemplars_note(e, &x, err);
	}
	return rc;
}
