/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bucket plan: into which pieces of time two ranges are cut to be compared.
 *
 * Threads: pure functions.
 */
#ifndef QUERY_MERGE_BUCKET_PLAN_H
#define QUERY_MERGE_BUCKET_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "pprof/merge/aggregate.h"

/*
 * Return how far apart the profiles of one series mostly are, in ms: the median of
 * `spacings`, which are put into another order.
 */
int64_t bucket_plan_spacing(int64_t *spacings, size_t count);

/*
 * Return the width of a bucket in ms: wide enough that most have two profiles of a
 * series, and at most 64 in a range of `range_ms`; of counters, at most 32, because each needs a
 * profile of each series to be read.
 */
int64_t bucket_plan_width(int64_t range_ms, enum value_kind kind,
			  int64_t spacing_ms);

/* Return the number of the bucket of a time, counted from 1970. */
int64_t bucket_plan_at(int64_t ms, int64_t width_ms);

#endif
