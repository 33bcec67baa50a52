/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/point_exemplars.h"

#include "base/mem.h"

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

	return x->profile.step == p->step && !labels_cmp(x->group, p->group);
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
	const struct exemplar_place place = { x->group, x->profile.step };
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
	if (x->profile.value <= old->profile.value)
		return 0;
	labels_unref(old->series);
	old->series = labels_ref(x->series);
	old->profile = x->profile;
	return 0;
}

/* What point_exemplars_see() has to know beside the value. */
struct exemplar_adding {
	struct point_exemplars *e;
	struct labels *group;
	struct labels *series;
};

/* Callback for each profile of a series. */
static int point_exemplars_see(void *ctx, const struct profile_value *v,
			       struct err *err)
{
	const struct exemplar_adding *a = ctx;
	const struct point_exemplar x = { .group = a->group,
					  .series = a->series,
					  .profile = *v };

	return point_exemplars_note(a->e, &x, err);
}

int point_exemplars_add(struct point_exemplars *e, struct labels *group,
			struct labels *series, const struct totals_view *t,
			const struct value_type *type, struct err *err)
{
	struct exemplar_adding a = { e, group, series };

	return profile_values_each(
		&(struct profile_values){ .type = type,
					  .steps = e->steps,
					  .types = e->types,
					  .fn = point_exemplars_see,
					  .ctx = &a },
		t, err);
}
