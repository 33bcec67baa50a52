/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a graph's nodes and edges: by weight, or by entropy for
 * drawings.
 *
 * Ownership: everything belongs to the graph (graph.h).
 * Threads: one thread at a time, as for the graph.
 */
#ifndef PPROF_GRAPH_GRAPH_ORDER_H
#define PPROF_GRAPH_GRAPH_ORDER_H

#include "pprof/graph/graph.h"

/*
 * Rebuild each node's lists of incoming and outgoing edges, without the dropped
 * edges. Each list has the order of g->edges.
 */
void graph_list_edges(struct graph *g);

/*
 * Sort each node's lists of edges, heaviest first. graph_list_edges() must have
 * built them.
 */
void graph_sort_edges(struct graph *g);

/*
 * Sort g->shown. Ties are broken by name, so that the order is reproducible.
 * GRAPH_ENTROPY rebuilds the lists of edges first.
 */
void graph_sort_nodes(struct graph *g, enum graph_order order);

#endif
