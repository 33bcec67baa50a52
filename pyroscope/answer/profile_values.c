/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/profile_values.h"

#include "pprof/merge/aggregate.h"

/* Find the sample type in the type set of a row; SIZE_MAX: it lacks the type. */
static int profile_values_column(const struct profile_values *p,
				 const struct totals_view *t, size_t row,
				 size_t *out, struct err *err)
{
	int rc = typeset_decode(t->typesets[t->rows[row].typeset], p->types,
				err);

	*out = SIZE_MAX;
	for (size_t i = 0; i < p->types->count && !rc; i++) {
		if (str_eq(p->types->types[i].type, p->type->type) &&
		    str_eq(p->types->types[i].unit, p->type->unit))
			*out = i;
	}
	return rc;
}

/* Set *value to that of a row. False: the growth of a counter is unknown. */
static bool profile_values_of(const struct totals_view *t, size_t row,
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

int profile_values_each(const struct profile_values *p,
			const struct totals_view *t, struct err *err)
{
	uint32_t typeset = UINT32_MAX;
	size_t column = SIZE_MAX;
	int rc = 0;

	for (size_t i = 0; i < t->count && !rc; i++) {
		const struct totals_row *r = &t->rows[i];
		struct profile_value v = { .ms = r->ms };
		enum value_kind kind = value_kind(
			p->type->type, querier_counts_interval(t, r));

		if (r->typeset != typeset) {
			typeset = r->typeset;
			rc = profile_values_column(p, t, i, &column, err);
		}
		if (rc || column == SIZE_MAX ||
		    !time_steps_has(p->steps, r->ms) ||
		    !profile_values_of(t, i, column, kind, &v.value) ||
		    v.value <= 0)
			continue;
		v.step = time_steps_at(p->steps, r->ms);
		rc = p->fn(p->ctx, &v, err);
	}
	return rc;
}
