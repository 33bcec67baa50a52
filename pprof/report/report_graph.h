/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the call graph that the options of a report ask for.
 *
 * Ownership: borrows the report; the caller owns the graph.
 * Threads: one thread per report.
 */
#ifndef PPROF_REPORT_REPORT_GRAPH_H
#define PPROF_REPORT_REPORT_GRAPH_H

#include "pprof/report/report_state.h"

/*
 * Fill `g` with the call graph, trimmed to the nodes and edges that the
 * report's options keep. Also sets the unit in which the report prints values.
 * ERR_LIMIT, ERR_TIMEOUT: the report's limits refused to continue.
 */
NODISCARD int report_graph(struct report *r, struct graph *g, struct err *err);

#endif
