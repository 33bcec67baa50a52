/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trims a graph as pprof does: removes light nodes and edges, the nodes beyond
 * the number to show, and edges that only clutter a drawing.
 *
 * Ownership: everything belongs to the graph (graph.h).
 * Threads: one thread at a time, as for the graph.
 */
#ifndef PPROF_GRAPH_GRAPH_TRIM_H
#define PPROF_GRAPH_GRAPH_TRIM_H

#include "pprof/graph/graph.h"

/*
 * Drop edges that only clutter a drawing: residual edges (graph.h) whose callee
 * can also be reached from the caller by other edges. The nodes' lists of edges
 * must be built and sorted before this call, and rebuilt after it. ERR_LIMIT,
 * ERR_TIMEOUT.
 */
NODISCARD int graph_drop_redundant_edges(struct graph *g,
					 const struct limits *limits,
					 struct err *err);

/*
 * Apply node_fraction, edge_fraction and node_count of the options, and sort
 * g->shown. ERR_LIMIT, ERR_TIMEOUT.
 */
NODISCARD int graph_trim(struct graph *g, const struct graph_options *o,
			 struct err *err);

#endif
