/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call graph of a profile: what each node and each call between two nodes
 * weighs, trimmed to what is worth being shown; as google/pprof's
 * internal/graph and report.newTrimmedGraph.
 *
 * Ownership: a graph borrows the profile and its nodes.
 * Threads: one thread at a time.
 */
#ifndef PPROF_GRAPH_GRAPH_H
#define PPROF_GRAPH_GRAPH_H

#include "base/pairs.h"
#include "pprof/effort.h"
#include "pprof/graph/nodes.h"

enum graph_order {
	GRAPH_FLAT,
	GRAPH_CUM,
	GRAPH_ENTROPY, /* what makes a drawing worth looking at */
};

struct graph_options {
	size_t value; /* which sample type */
	bool mean;    /* divided by the first one */
	bool drop_negative;
	enum graph_order order;
	int64_t node_count;   /* 0: all */
	double node_fraction; /* of the total: nodes below are dropped */
	double edge_fraction;
	const struct effort *effort;
};

struct graph_node {
	int64_t flat;
	int64_t flat_div; /* what the mean divides by, or 0 */
	int64_t cum;
	int64_t cum_div;
	struct pprof_run in; /* of the graph's list of edges, by weight */
	struct pprof_run out;
	bool shown;
};

struct graph_edge {
	uint32_t from;
	uint32_t to;
	int64_t weight;
	int64_t weight_div;
	bool residual; /* frames between the two are not shown */
	bool inlined;
	bool dropped;
};

struct graph {
	const struct pprof *p;
	const struct nodes *nodes;
	struct graph_node *node; /* by node */
	VEC(uint32_t) shown;     /* nodes in their order */
	VEC(struct graph_edge) edges;
	VEC(uint32_t) lists; /* edges, for the nodes' runs */
	struct pairs edge_index;
	size_t original_count; /* nodes before node_count */
	size_t dropped_nodes;  /* by node_fraction */
	size_t dropped_edges;
};

/* ERR_LIMIT, ERR_TIMEOUT; graph_fini() in any case. */
NODISCARD int graph_init(struct graph *g, const struct pprof *p,
			 const struct nodes *nodes,
			 const struct graph_options *o, struct err *err);
void graph_fini(struct graph *g);
size_t graph_memory(const struct graph *g);

static inline int64_t graph_mean(int64_t v, int64_t div)
{
	if (div == -1) /* the one division that overflows */
		return (int64_t) - (uint64_t)v;
	return div ? v / div : v;
}

static inline int64_t graph_abs(int64_t v)
{
	return v < 0 ? (int64_t) - (uint64_t)v : v;
}

/* Weigh the nodes that are kept, and the calls between them. */
NODISCARD int graph_weigh(struct graph *g, const struct graph_options *o,
			  const bool *kept, struct err *err);

#endif
