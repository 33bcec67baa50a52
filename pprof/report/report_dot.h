/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports with the call graph: as text in Graphviz' DOT language, and as an
 * SVG drawing.
 *
 * Ownership: borrows the report.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_DOT_H
#define PPROF_REPORT_REPORT_DOT_H

#include "pprof/report/report.h"

/*
 * Append the call graph in the DOT language. ERR_LIMIT, ERR_TIMEOUT,
 * ERR_TOOBIG.
 */
int report_dot(struct report *r, struct buf *out, struct err *err);

/*
 * Append the call graph as SVG, drawn by Graphviz. ERR_UNSUPPORTED: Graphviz is
 * not installed; ERR_LIMIT: too many drawings are running, or the memory budget
 * is exceeded; ERR_TIMEOUT; ERR_TOOBIG; ERR_INVALID and ERR_IO: dot failed.
 */
int report_svg(struct report *r, struct buf *out, struct err *err);

/*
 * Writes the same graph as JSON: {"nodes":[{"name","file","flat","cum"}],
 * "edges":[{"from","to","weight","inline","residual"}]}, where from and to are
 * numbers of nodes. ERR_LIMIT, ERR_TIMEOUT.
 */
int report_calls_json(struct report *r, struct json *j, struct err *err);

#endif
