/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call graph in Graphviz' language, and drawn as SVG.
 *
 * Ownership: borrows the report.
 * Threads: one thread a report.
 */
#ifndef PPROF_REPORT_REPORT_DOT_H
#define PPROF_REPORT_REPORT_DOT_H

#include "pprof/report.h"

/* The call graph for Graphviz. */
int report_dot(struct report *r, struct buf *out, struct err *err);

/* The same, drawn. ERR_UNSUPPORTED: Graphviz is not installed. */
int report_svg(struct report *r, struct buf *out, struct err *err);

#endif
