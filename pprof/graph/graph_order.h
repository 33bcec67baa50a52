/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a graph's nodes and edges: by weight, or by entropy for drawings.
 *
 * Ownership, threads: those of the graph (graph.h).
 */
#ifndef PPROF_GRAPH_GRAPH_ORDER_H
#define PPROF_GRAPH_GRAPH_ORDER_H

#include "pprof/graph/graph.h"

void graph_list_edges(struct graph *g);

void graph_sort_edges(struct graph *g);

void graph_sort_nodes(struct graph *g, enum graph_order order);

#endif
