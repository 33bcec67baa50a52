/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile values: the value of each profile of a series in a range: its total of a sample
 * type, or of a counter, how much it grew since the profile before.
 *
 * Ownership: everything is borrowed for the call.
 * Threads: any.
 */
#ifndef PYROSCOPE_ANSWER_PROFILE_VALUES_H
#define PYROSCOPE_ANSWER_PROFILE_VALUES_H

#include "model/types.h"
#include "query/select/time_steps.h"
#include "tsdb/query/querier.h"

/* The value of a profile. */
struct profile_value {
	int64_t ms;
	size_t step;
	int64_t value;
};

/* Which values are read, and what for. */
struct profile_values {
	const struct value_type *type;
	const struct time_steps *steps;
	struct typeset *types; /* scratch */
	int (*fn)(void *ctx, const struct profile_value *v, struct err *err);
	void *ctx;
};

/*
 * Call fn(ctx, value) for each profile of a view that has the sample type, is in a step, and
 * has a value above 0. Errors as for typeset_decode(), and those of fn().
 */
NODISCARD int profile_values_each(const struct profile_values *p,
				  const struct totals_view *t, struct err *err);

#endif
