/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures: units of sample values, as google/pprof scales and prints them
 * (internal/measurement): bytes in powers of 1024, times, GCUs; every other
 * unit stays as it is.
 *
 * Ownership: returns borrowed texts.
 * Threads: pure functions.
 */
#ifndef PPROF_PROFILE_MEASURE_H
#define PPROF_PROFILE_MEASURE_H

#include "base/buf.h"

/*
 * v in another unit; *unit is that unit's short name, empty when it is not
 * worth being printed. To "minimum" or "auto": the largest unit in which v is
 * at least 1. *unit borrows from `to`, or is a constant.
 */
double measure_scale(int64_t v, struct str from, struct str to,
		     struct str *unit);

/* "1.50MB": v, scaled, with at most two decimals; "0" for nothing. */
void measure_label(struct buf *out, int64_t v, struct str from, struct str to);

/* " 12.34%" as in pprof's tables: six wide or more. */
void measure_percentage(struct buf *out, int64_t v, int64_t total);

/*
 * v without its fraction; what no int64_t holds is INT64_MIN, as Go has it on
 * amd64 (C leaves it undefined).
 */
int64_t measure_integer(double v);

/* Whether a unit is one that values can be shown in. */
bool measure_is_unit(struct str unit);

/* Whether values of one unit can be added to those of the other. */
bool measure_compatible(struct str a, struct str b);

#endif
