/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trim a graph as pprof does: light nodes and edges, all but the top nodes, and
 * edges that only clutter a drawing.
 *
 * Ownership, threads: those of the graph (graph.h).
 */
#ifndef PPROF_GRAPH_GRAPH_TRIM_H
#define PPROF_GRAPH_GRAPH_TRIM_H

#include "pprof/graph/graph.h"

/* Residual edges whose end is reached another way only clutter a drawing. */
NODISCARD int graph_drop_redundant_edges(struct graph *g,
					 const struct effort *effort,
					 struct err *err);

NODISCARD int graph_trim(struct graph *g, const struct graph_options *o,
			 struct err *err);

#endif
