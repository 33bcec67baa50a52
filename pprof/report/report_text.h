/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text output that reports have in common: values, columns, and the lines above
 * a table, as `go tool pprof` prints them. Unlike pprof, reports in text form
 * escape control characters in what comes from a profile (base/printable.h).
 *
 * Ownership: borrows the report; appends to the caller's buffer.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_TEXT_H
#define PPROF_REPORT_REPORT_TEXT_H

#include "pprof/report/report_state.h"

/* Return v divided by the value of the option divide_by. */
int64_t report_divide(const struct report *r, int64_t v);

/* Append a value with its unit as the report prints it. */
void report_value(const struct report *r, int64_t v, struct buf *out);

/*
 * Append a value as report_value() does, padded on the left to `width`
 * characters.
 */
void report_value_column(const struct report *r, int64_t v, int width,
			 struct buf *out);

/*
 * Append the five columns of pprof's tables: flat, flat%, sum%, cum, cum%.
 * Adds `flat` to `*sum`, the total of the flat values of all rows so far.
 */
void report_weight_columns(const struct report *r, int64_t flat, int64_t cum,
			   int64_t *sum, struct buf *out);

/* Append s, padded on the left to `width` characters (of UTF-8, not bytes). */
void report_pad(struct str s, int width, struct buf *out);

/*
 * Append the lines that describe the profile: "File: …", "Type: …" and so on.
 */
void report_profile_labels(const struct report *r, struct buf *out);

/*
 * Append the lines above the table of a graph: the profile, the filters, how
 * much of the total the shown nodes account for, and how many nodes were left
 * out. `full`: also writes how many edges were left out.
 */
void report_graph_labels(const struct report *r, const struct graph *g,
			 bool full, struct buf *out);

#endif
