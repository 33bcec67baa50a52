/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trims a graph as pprof does: removes light nodes and edges, all but the top
 * nodes, and edges that only clutter a drawing.
 *
 * Ownership: everything belongs to the graph (graph.h).
 * Threads: one thread at a time, as for the graph.
 */
#ifndef PPROF_GRAPH_GRAPH_TRIM_H
#define PPROF_GRAPH_GRAPH_TRIM_H

#include "pprof/graph/graph.h"

/*
 * Drop residual edges whose end can also be reached from their start by other
 * edges: they only clutter a drawing. Lists of edges must be built and sorted,
 * and must be rebuilt afterwards. ERR_LIMIT, ERR_TIMEOUT.
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
