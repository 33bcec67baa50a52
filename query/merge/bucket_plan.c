/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/bucket_plan.h"

#include <stdlib.h>

enum {
	BUCKET_PLAN_MAX = 64,
	BUCKET_PLAN_COUNTERS_MAX = 32,
	BUCKET_PLAN_WIDTH_MIN = 10000,
};

static int compare_spacings(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t bucket_plan_spacing(int64_t *spacings, size_t count)
{
	if (!count)
		return 0;
	qsort(spacings, count, sizeof(*spacings), compare_spacings);
	return spacings[(count - 1) / 2];
}

int64_t bucket_plan_width(int64_t range_ms, enum value_kind kind,
			  int64_t spacing_ms)
{
	int64_t most = kind == KIND_COUNTER ? BUCKET_PLAN_COUNTERS_MAX :
					      BUCKET_PLAN_MAX;
	int64_t width = range_ms / most + 1;

	if (width < 2 * spacing_ms)
		width = 2 * spacing_ms;
	/* Whole seconds are easier to read. */
	width = (width + 999) / 1000 * 1000;
	return width > BUCKET_PLAN_WIDTH_MIN ? width : BUCKET_PLAN_WIDTH_MIN;
}

int64_t bucket_plan_at(int64_t ms, int64_t width_ms)
{
	int64_t n = ms / width_ms;

	return n - (ms % width_ms < 0);
}
