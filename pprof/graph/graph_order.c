/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/graph/graph_order.h"

#include <math.h>
#include <stdlib.h>

#include "pprof/profile/measure.h"

/* Compare two nodes by their printed text. */
static int graph_by_text(const struct graph *g, uint32_t a, uint32_t b)
{
	return str_cmp(g->nodes->v.v[a].text, g->nodes->v.v[b].text);
}

/* Order of edges by weight: heaviest first. */
static int graph_by_weight(const void *a, const void *b, void *ctx)
{
	const struct graph *g = ctx;
	int64_t v = graph_abs(g->edges.v[*(const uint32_t *)a].weight);
	int64_t w = graph_abs(g->edges.v[*(const uint32_t *)b].weight);

	return v == w ? 0 : v > w ? -1 : 1;
}

/*
 * Order of edges by weight, then by the nodes at both ends, so that reports are
 * reproducible.
 */
static int graph_by_ends(const void *a, const void *b, void *ctx)
{
	const struct graph *g = ctx;
	const struct graph_edge *x = &g->edges.v[*(const uint32_t *)a];
	const struct graph_edge *y = &g->edges.v[*(const uint32_t *)b];
	int order = graph_by_weight(a, b, ctx);

	if (!order)
		order = nodes_order(g->nodes, x->from, y->from);
	return order ? order : nodes_order(g->nodes, x->to, y->to);
}

/*
 * Reserve a part of g->lists for each of the lists `in` and `out` of all nodes.
 * The counts of these lists already tell their lengths. They are then set to 0,
 * because the caller counts again while it writes edges to the lists.
 */
static void start_lists(struct graph *g)
{
	uint32_t at = 0;

	for (size_t i = 0; i < g->nodes->v.count; i++) {
		struct graph_node *n = &g->node[i];

		n->in.first = at;
		at += n->in.count;
		n->in.count = 0;
		n->out.first = at;
		at += n->out.count;
		n->out.count = 0;
	}
}

/*
 * A counting sort: counts the edges of each node, then reserves lists of these
 * lengths in g->lists, then fills the lists.
 */
void graph_list_edges(struct graph *g)
{
	for (size_t i = 0; i < g->nodes->v.count; i++)
		g->node[i].in.count = g->node[i].out.count = 0;
	for (size_t i = 0; i < g->edges.count; i++) {
		const struct graph_edge *e = &g->edges.v[i];

		g->node[e->from].out.count += !e->dropped;
		g->node[e->to].in.count += !e->dropped;
	}
	start_lists(g);
	g->lists.count = 0;
	for (size_t i = 0; i < 2 * g->edges.count; i++)
		*vec_add(&g->lists) = 0;
	for (uint32_t i = 0; i < g->edges.count; i++) {
		const struct graph_edge *e = &g->edges.v[i];
		struct graph_node *from = &g->node[e->from];
		struct graph_node *to = &g->node[e->to];

		if (e->dropped)
			continue;
		g->lists.v[from->out.first + from->out.count++] = i;
		g->lists.v[to->in.first + to->in.count++] = i;
	}
}

/* Sort the lists of edges of all nodes. */
static void graph_sort_lists(struct graph *g,
			     int (*by)(const void *, const void *, void *))
{
	for (size_t i = 0; i < g->nodes->v.count; i++) {
		struct graph_node *n = &g->node[i];

		if (n->in.count > 1)
			qsort_r(g->lists.v + n->in.first, n->in.count,
				sizeof(uint32_t), by, g);
		if (n->out.count > 1)
			qsort_r(g->lists.v + n->out.first, n->out.count,
				sizeof(uint32_t), by, g);
	}
}

void graph_sort_edges(struct graph *g)
{
	graph_sort_lists(g, graph_by_ends);
}

/* A node with the score it is sorted by. */
struct ranked {
	uint32_t node;
	int64_t score;
};

/* The context that qsort_r() passes to by_rank(). */
struct ranking {
	const struct graph *g;
	enum graph_order order;
};

/* Order of values: larger absolute values first. */
static int compare_abs(int64_t a, int64_t b)
{
	int64_t v = graph_abs(a);
	int64_t w = graph_abs(b);

	return v == w ? 0 : v > w ? -1 : 1;
}

/*
 * Order of nodes: by score, then by name, then by the cumulative weight
 * (GRAPH_FLAT) or flat weight (all others), then by nodes_compare(). pprof's
 * NodeOrder breaks ties in this way, so the output is the same.
 */
static int by_rank(const void *a, const void *b, void *ctx)
{
	const struct ranking *r = ctx;
	const struct graph *g = r->g;
	const struct ranked *x = a;
	const struct ranked *y = b;
	const struct graph_node *n = &g->node[x->node];
	const struct graph_node *m = &g->node[y->node];
	int order = compare_abs(x->score, y->score);

	if (!order)
		order = graph_by_text(g, x->node, y->node);
	if (!order)
		order = r->order == GRAPH_FLAT ? compare_abs(n->cum, m->cum) :
						 compare_abs(n->flat, m->flat);
	if (!order && x->node != y->node)
		order = nodes_compare(g->nodes, x->node, y->node);
	return order;
}

/*
 * Entropy in bits of the distribution of weights over the edges, with the
 * node's flat weight `self` as one more outcome. As in pprof, negative weights
 * do not count towards the total.
 */
static double entropy_of(const struct graph *g, struct pprof_run edges,
			 int64_t self)
{
	double score = 0;
	int64_t total = self;

	for (uint32_t i = 0; i < edges.count; i++) {
		int64_t w = g->edges.v[g->lists.v[edges.first + i]].weight;

		total = wrap_add(total, w > 0 ? w : 0);
	}
	if (!total)
		return 0;
	for (uint32_t i = 0; i < edges.count; i++) {
		int64_t w = g->edges.v[g->lists.v[edges.first + i]].weight;
		double share = (double)graph_abs(w) / (double)total;

		score -= share > 0 ? share * log2(share) : 0;
	}
	if (self > 0) {
		double share = (double)self / (double)total;

		score -= share * log2(share);
	}
	return score;
}

/*
 * pprof's entropyScore: the score is low for a node that only passes its weight
 * from one caller to one callee, and high for a node where paths split or join.
 */
static int64_t entropy_score(const struct graph *g, const struct graph_node *n)
{
	double score = n->in.count ? entropy_of(g, n->in, 0) : 1;

	score += n->out.count ? entropy_of(g, n->out, n->flat) : 1;
	return wrap_add(measure_integer(score * (double)n->cum), n->flat);
}

/* The score that the given order sorts nodes by. */
static int64_t graph_compute_score(const struct graph *g,
				   enum graph_order order, uint32_t node)
{
	const struct graph_node *n = &g->node[node];

	switch (order) {
	case GRAPH_FLAT:
		return n->flat;
	case GRAPH_CUM:
		return n->cum;
	case GRAPH_ENTROPY:
		break;
	}
	return entropy_score(g, n);
}

void graph_sort_nodes(struct graph *g, enum graph_order order)
{
	struct ranking r = { .g = g, .order = order };
	struct ranked *v = mem_zalloc(g->shown.count + 1, sizeof(*v));

	/*
	 * The entropy of a node is computed from its lists of edges. They are
	 * sorted by weight, because sums of doubles depend on the order.
	 */
	if (order == GRAPH_ENTROPY) {
		graph_list_edges(g);
		graph_sort_lists(g, graph_by_weight);
	}
	for (size_t i = 0; i < g->shown.count; i++) {
		v[i].node = g->shown.v[i];
		v[i].score = graph_compute_score(g, order, v[i].node);
	}
	qsort_r(v, g->shown.count, sizeof(*v), by_rank, &r);
	for (size_t i = 0; i < g->shown.count; i++)
		g->shown.v[i] = v[i].node;
	mem_free(v);
}
