/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call graph that a report's options ask for, and the unit that fits it.
 *
 * Ownership: borrows the report.
 * Threads: one thread a report.
 */
#ifndef PPROF_REPORT_GRAPH_H
#define PPROF_REPORT_GRAPH_H

#include "pprof/render/report_state.h"

/* The graph that the options ask for, and the unit that fits it. */
NODISCARD int report_graph(struct report *r, struct graph *g, struct err *err);

#endif
