/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/heat_cells.h"

#include "base/mem.h"

/* What heat_cells_note() has to know beside the value. */
struct heat_adding {
	struct heat_cells *h;
	uint32_t group;
	uint32_t series;
};

void heat_cells_init(struct heat_cells *h, const struct limits *limits,
		     const struct time_steps *steps)
{
	*h = (struct heat_cells){ .limits = limits,
				  .steps = steps,
				  .types = mem_new(struct typeset),
				  .least = INT64_MAX };
}

void heat_cells_fini(struct heat_cells *h)
{
	for (size_t i = 0; i < h->groups.count; i++)
		labels_unref(h->groups.v[i].labels);
	for (size_t i = 0; i < h->series.count; i++)
		labels_unref(h->series.v[i]);
	vec_fini(&h->profiles);
	vec_fini(&h->groups);
	vec_fini(&h->series);
	table_fini(&h->by_labels);
	mem_free(h->types);
	mem_free(h->cells);
}

/* Implement table_same_fn. */
static bool heat_cells_same(const void *ctx, uint32_t number, const void *key)
{
	const struct heat_cells *h = ctx;

	return !labels_cmp(h->groups.v[number].labels, key);
}

/* Return the index of a group, which is added if it is new. */
static uint32_t heat_cells_group(struct heat_cells *h, struct labels *labels)
{
	uint32_t at = table_find(&h->by_labels, labels->hash, heat_cells_same,
				 h, labels);

	if (at != TABLE_NONE)
		return at;
	at = (uint32_t)h->groups.count;
	table_add(&h->by_labels, labels->hash, at);
	*vec_add(&h->groups) =
		(struct heat_group){ .labels = labels_ref(labels) };
	return at;
}

/* Return the memory of everything, in bytes. */
static size_t heat_cells_memory(const struct heat_cells *h)
{
	return h->profiles.cap * sizeof(*h->profiles.v) +
	       h->groups.cap * sizeof(*h->groups.v) +
	       h->series.cap * sizeof(void *) + table_memory(&h->by_labels);
}

/* Callback for each profile of a series. */
static int heat_cells_note(void *ctx, const struct profile_value *v,
			   struct err *err)
{
	struct heat_adding *a = ctx;
	struct heat_cells *h = a->h;

	*vec_add(&h->profiles) = (struct heat_profile){ .group = a->group,
							.series = a->series,
							.value = *v };
	h->groups.v[a->group].total += (double)v->value;
	if (v->value < h->least)
		h->least = v->value;
	if (v->value > h->most)
		h->most = v->value;
	return limits_meter(h->limits, &h->meter, 1, heat_cells_memory(h), err);
}

int heat_cells_add(struct heat_cells *h, struct labels *group,
		   struct labels *series, const struct totals_view *t,
		   const struct value_type *type, struct err *err)
{
	struct heat_adding a = { .h = h,
				 .group = heat_cells_group(h, group),
				 .series = (uint32_t)h->series.count };

	*vec_add(&h->series) = labels_ref(series);
	return profile_values_each(
		&(struct profile_values){ .type = type,
					  .steps = h->steps,
					  .types = h->types,
					  .fn = heat_cells_note,
					  .ctx = &a },
		t, err);
}

/* Return the row of a value. */
static size_t heat_cells_row(const struct heat_cells *h, int64_t value)
{
	double part = (double)(value - h->least) /
		      (double)(h->most - h->least) * HEAT_CELLS_ROWS;

	/* The largest value belongs to the last row; all are equal: the first. */
	return h->most == h->least    ? 0 :
	       part < HEAT_CELLS_ROWS ? (size_t)part :
					HEAT_CELLS_ROWS - 1;
}

/* Return the index of a cell. */
static size_t heat_cells_index(const struct heat_cells *h, size_t group,
			       size_t step, size_t row)
{
	return (group * h->steps->count + step) * HEAT_CELLS_ROWS + row;
}

int heat_cells_count(struct heat_cells *h, struct err *err)
{
	size_t n = heat_cells_index(h, h->groups.count, 0, 0);
	int rc = limits_spend(h->limits, n * sizeof(*h->cells), err);

	if (rc)
		return rc;
	h->cells = mem_zalloc(n + 1, sizeof(*h->cells));
	for (size_t i = 0; i < h->profiles.count; i++) {
		const struct heat_profile *p = &h->profiles.v[i];
		struct heat_cell *c = &h->cells[heat_cells_index(
			h, p->group, p->value.step,
			heat_cells_row(h, p->value.value))];

		if (!c->count++ ||
		    p->value.value > h->profiles.v[c->best].value.value)
			c->best = (uint32_t)i;
	}
	return 0;
}

const struct heat_cell *heat_cells_at(const struct heat_cells *h, size_t group,
				      size_t step, size_t row)
{
	return &h->cells[heat_cells_index(h, group, step, row)];
}

double heat_cells_bound(const struct heat_cells *h, size_t row)
{
	double width = h->most == h->least ?
			       1 :
			       (double)(h->most - h->least) / HEAT_CELLS_ROWS;

	return (double)h->least + (double)row * width;
}
