/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call graph of a profile: the weight of each node and of each call between
 * two nodes, trimmed to the part that is worth showing. It follows
 * google/pprof's internal/graph and report.newTrimmedGraph.
 *
 * Ownership: a graph borrows the profile and its nodes; graph_fini() frees the
 * rest.
 * Threads: one thread at a time.
 */
#ifndef PPROF_GRAPH_GRAPH_H
#define PPROF_GRAPH_GRAPH_H

#include "base/limits.h"
#include "base/pairs.h"
#include "pprof/graph/nodes.h"

/* The order of nodes in a report. */
enum graph_order {
	GRAPH_FLAT,
	GRAPH_CUM,
	GRAPH_ENTROPY, /* by entropy, as pprof's EntropyOrder; for drawings */
};

/* Options: which values are added up, and how much of the graph is kept. */
struct graph_options {
	size_t value; /* index of the sample type */
	/* Whether to divide values by the values of the first sample type. */
	bool mean;
	/* Whether to hide nodes whose value is below 0. */
	bool drop_negative;
	enum graph_order order;
	int64_t node_count; /* largest number of nodes to show; 0: all */
	/* Share of the total below which nodes are dropped. */
	double node_fraction;
	/* Share of the total below which edges are dropped. */
	double edge_fraction;
	/* The query's budget of memory and time. */
	const struct limits *limits;
};

/*
 * The weights and edges of one node. `flat` is the weight of the samples whose
 * leaf is the node, `cum` the weight of all samples whose stack contains the
 * node.
 */
struct graph_node {
	int64_t flat;
	int64_t flat_div; /* divisor of `flat` for a mean; 0: no mean */
	int64_t cum;
	int64_t cum_div;
	/* `flat` and `cum` in the base of a diff whose samples are labelled. */
	int64_t flat_a;
	int64_t cum_a;
	struct pprof_run in; /* incoming edges in graph.lists, heaviest first */
	/* Outgoing edges in graph.lists, heaviest first. */
	struct pprof_run out;
	/* Whether the node is part of the trimmed graph. */
	bool shown;
};

/* An edge: all calls from one node to another. */
struct graph_edge {
	uint32_t from;
	uint32_t to;
	int64_t weight;
	int64_t weight_div;
	/* Whether some of the calls pass through nodes that are left out. */
	bool residual;
	/* Whether the callee was inlined in every call. */
	bool inlined;
	/* Whether trimming removed the edge, so that reports skip it. */
	bool dropped;
};

/*
 * A trimmed call graph. Nodes have the same numbers as in struct nodes, also
 * after trimming; the numbers of edges change with each graph_weigh().
 */
struct graph {
	const struct pprof *p;
	const struct nodes *nodes;
	struct graph_node *node; /* weights of the nodes, by node number */
	VEC(uint32_t) shown; /* numbers of the nodes to show, in report order */
	VEC(struct graph_edge) edges;
	/*
	 * The lists of incoming and outgoing edges (edge numbers) of all nodes;
	 * graph_node.in and .out tell where a node's lists are.
	 */
	VEC(uint32_t) lists;
	/* Maps the two nodes of an edge to the edge's number + 1. */
	struct pairs edge_index;
	/* Whether there are samples of the base of a diff. */
	bool has_base;
	/*
	 * Number of nodes to show before the list was cut to node_count nodes.
	 */
	size_t original_count;
	size_t dropped_nodes; /* number of nodes that node_fraction dropped */
	size_t dropped_edges;
};

/*
 * Compute the weights of nodes and edges from all samples of p, trim the graph
 * and sort nodes and edges. ERR_LIMIT when the memory budget is exceeded,
 * ERR_TIMEOUT at the deadline. The caller must call graph_fini() also after an
 * error.
 */
NODISCARD int graph_init(struct graph *g, const struct pprof *p,
			 const struct nodes *nodes,
			 const struct graph_options *o, struct err *err);

/* Free the memory of a graph, also of one whose graph_init() failed. */
void graph_fini(struct graph *g);

/*
 * Divide `v` by `div`, or return `v` when `div` is 0, as it is in reports that
 * show no means.
 */
static inline int64_t graph_mean(int64_t v, int64_t div)
{
	/* INT64_MIN / -1 overflows; negate with wrap-around, as Go does. */
	if (div == -1)
		return (int64_t) - (uint64_t)v;
	return div ? v / div : v;
}

/* Absolute value; INT64_MIN stays as it is, as in Go. */
static inline int64_t graph_abs(int64_t v)
{
	return v < 0 ? (int64_t) - (uint64_t)v : v;
}

#endif
