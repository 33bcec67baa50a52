/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures: conversion and formatting of sample values by unit, as google/pprof
 * does it (internal/measurement). The units known are bytes (in powers of
 * 1024), times and GCUs (Google compute units); values in any other unit are
 * printed unchanged.
 *
 * Ownership: returned units borrow from the arguments or are constants.
 * Threads: pure functions, callable from any thread.
 */
#ifndef PPROF_PROFILE_MEASURE_H
#define PPROF_PROFILE_MEASURE_H

#include "base/buf.h"

/*
 * Return v converted from unit `from` to unit `to`, and set *unit to the
 * short name of the resulting unit, which is empty if printing it adds nothing
 * ("count", for instance). If `to` is "minimum" or "auto", converts to the
 * largest unit in which the absolute value is at least 1. *unit borrows from
 * `to` or is a constant.
 */
double measure_scale(int64_t v, struct str from, struct str to,
		     struct str *unit);

/*
 * Append to `out` the value that measure_scale() returns, with its unit and
 * two decimals ("1.50MB"), or none if they are 0. Zero is printed as "0"
 * without a unit.
 */
void measure_label(struct buf *out, int64_t v, struct str from, struct str to);

/*
 * Append the absolute value of v as a percentage of total, as in pprof's
 * tables: "12.34%", padded to six characters.
 */
void measure_percentage(struct buf *out, int64_t v, int64_t total);

/*
 * Return v truncated towards zero. Values outside of int64_t's range, and NaN,
 * give INT64_MIN, as in Go on amd64; C leaves that conversion undefined.
 */
int64_t measure_integer(double v);

/*
 * Return whether values can be shown in this unit: it is a known unit, or one
 * of the words that stand for no unit ("count", "minimum" …).
 */
bool measure_is_unit(struct str unit);

/*
 * Return whether values of unit a can be added to values of unit b after
 * conversion: the units are equal, or both are units of bytes, of time or of
 * GCUs.
 */
bool measure_compatible(struct str a, struct str b);

#endif
