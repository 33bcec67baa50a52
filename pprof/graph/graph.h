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

#include "base/pairs.h"
#include "pprof/graph/nodes.h"
#include "pprof/limits.h"

/* The order of nodes in a report. */
enum graph_order {
	GRAPH_FLAT,
	GRAPH_CUM,
	GRAPH_ENTROPY, /* for drawings: pprof's EntropyOrder */
};

/* What to weigh and how much of the graph to keep. */
struct graph_options {
	size_t value; /* index of the sample type */
	bool mean;    /* divide values by the first sample type */
	/* Hide nodes whose value is below 0. */
	bool drop_negative;
	enum graph_order order;
	int64_t node_count;   /* at most so many nodes; 0: all */
	double node_fraction; /* drop nodes below this share of the total */
	/* Drop edges below this share of the total. */
	double edge_fraction;
	/* Budget of memory and time of the query. */
	const struct limits *limits;
};

/* Weights of one node; flat is its own, cum includes all callees. */
struct graph_node {
	int64_t flat;
	int64_t flat_div; /* divisor of the mean; 0: no mean */
	int64_t cum;
	int64_t cum_div;
	struct pprof_run in; /* incoming edges in graph.lists, heaviest first */
	/* Outgoing edges in graph.lists, heaviest first. */
	struct pprof_run out;
	/* Whether the node is part of the trimmed graph. */
	bool shown;
};

/* A call from one node to another. */
struct graph_edge {
	uint32_t from;
	uint32_t to;
	int64_t weight;
	int64_t weight_div;
	bool residual; /* frames between the two nodes are not shown */
	/* The callee was inlined in every call. */
	bool inlined;
	/* Trimming removed the edge; reports skip it. */
	bool dropped;
};

/*
 * A trimmed call graph. Trimming keeps the numbers of nodes, which are those of
 * struct nodes; weighing again renumbers the edges.
 */
struct graph {
	const struct pprof *p;
	const struct nodes *nodes;
	struct graph_node *node; /* indexed by node */
	VEC(uint32_t) shown;     /* the nodes to show, in report order */
	VEC(struct graph_edge) edges;
	VEC(uint32_t) lists; /* edge numbers that in and out refer to */
	/* From the pair of nodes to edge number + 1. */
	struct pairs edge_index;
	size_t original_count; /* nodes before node_count cut them */
	size_t dropped_nodes;  /* nodes that node_fraction dropped */
	size_t dropped_edges;
};

/*
 * Weigh all samples of p, trim the graph and order its nodes and edges.
 * ERR_LIMIT when the memory budget is exceeded, ERR_TIMEOUT at the deadline.
 * The caller must call graph_fini() also after an error.
 */
NODISCARD int graph_init(struct graph *g, const struct pprof *p,
			 const struct nodes *nodes,
			 const struct graph_options *o, struct err *err);

/* Free the memory of a graph, also of one whose graph_init() failed. */
void graph_fini(struct graph *g);

/* Memory that the graph holds, in bytes, without profile and nodes. */
size_t graph_memory(const struct graph *g);

/* Divide v by div, or return v when div is 0 (no mean was asked for). */
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

/*
 * Weigh again the nodes marked in kept (indexed by node; NULL: all) and the
 * calls between them. Replaces all weights, edges and the list of shown nodes.
 * ERR_LIMIT, ERR_TIMEOUT.
 */
NODISCARD int graph_weigh(struct graph *g, const struct graph_options *o,
			  const bool *kept, struct err *err);

#endif
