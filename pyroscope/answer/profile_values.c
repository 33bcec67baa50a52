/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/profile_values.h"

#include "pprof/merge/aggregate.h"

/* Find a sample type in the type set of a row; SIZE_MAX: it lacks the type. */
static int profile_values_column(const struct totals_view *t, size_t row,
				 const struct value_type *type,
				 struct typeset *types, size_t *out,
				 struct err *err)
{
	int rc = typeset_decode(t->typesets[t->rows[row].typeset], types, err);

	*out = SIZE_MAX;
	for (size_t i = 0; i < types->count && !rc; i++) {
		if (str_eq(types->types[i].type, type->type) &&
		    str_eq(types->types[i].unit, type->unit))
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

int profile_values_each(const struct totals_view *t,
			const struct value_type *type,
			const struct time_steps *steps, struct typeset *types,
			int (*fn)(void *ctx, const struct profile_value *v,
				  struct err *err),
			void *ctx, struct err *err)
{
	uint32_t typeset = UINT32_MAX;
	size_t column = SIZE_MAX;
	int rc = 0;

	for (size_t i = 0; i < t->count && !rc; i++) {
		const struct totals_row *r = &t->rows[i];
		struct profile_value v = { .ms = r->ms };
		enum value_kind kind =
			value_kind(type->type, querier_counts_interval(t, r));

		if (r->typeset != typeset) {
			typeset = r->typeset;
			rc = profile_values_column(t, i, type, types, &column,
						   err);
		}
		if (rc || column == SIZE_MAX || !time_steps_has(steps, r->ms) ||
		    !profile_values_of(t, i, column, kind, &v.value) ||
		    v.value <= 0)
			continue;
		v.step = time_steps_at(steps, r->ms);
		rc = fn(ctx, &v, err);
	}
	return rc;
}
