/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the texts of reports have in common: values, columns and the lines above
 * a table, as `go tool pprof` prints them.
 *
 * Ownership: borrows the report.
 * Threads: one thread a report.
 */
#ifndef PPROF_REPORT_TEXT_H
#define PPROF_REPORT_TEXT_H

#include "pprof/render/report_state.h"

int64_t report_divide(const struct report *r, int64_t v);

/* A value as the report prints it. */
void report_value(const struct report *r, int64_t v, struct buf *out);

/* The same to the right of a column. */
void report_value_column(const struct report *r, int64_t v, int width,
			 struct buf *out);

/* The five columns of pprof's tables; *sum: of all flat values until here. */
void report_weight_columns(const struct report *r, int64_t flat, int64_t cum,
			   int64_t *sum, struct buf *out);

/* Text to the right of a column, counted in characters. */
void report_pad(struct str s, int width, struct buf *out);

/* "File: …", "Type: …" and so on, a line each. */
void report_profile_labels(const struct report *r, struct buf *out);

/* The lines above a graph's table. */
void report_graph_labels(const struct report *r, const struct graph *g,
			 bool full, struct buf *out);

#endif
