/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trims a graph as pprof does: removes light nodes and edges, the nodes beyond
 * the number to show, and edges that only clutter a drawing.
 */
#include "pprof/graph/graph.h"

#include "pprof/graph/graph_order.h"
#include "pprof/profile/measure.h"

/*
 * Return the weight that is this fraction of the total, which is the sum of the
 * flat weights of shown nodes.
 */
static int64_t graph_compute_cutoff(const struct graph *g, double fraction)
{
	int64_t total = 0;

	for (size_t i = 0; i < g->shown.count; i++)
		total = wrap_add(total, g->node[g->shown.v[i]].flat);
	return graph_abs(measure_integer((double)total * fraction));
}

/*
 * Drop nodes whose cumulative weight is below the limit. graph_weigh() then
 * turns calls through dropped nodes into residual edges (edges that stand for
 * calls through nodes that are left out).
 */
static int drop_light_nodes(struct graph *g, const struct graph_options *o,
			    bool *kept, int64_t limit, struct err *err)
{
	size_t count = g->shown.count;
	size_t left = 0;

	memset(kept, 0, g->nodes->v.count);
	for (size_t i = 0; i < count; i++) {
		uint32_t node = g->shown.v[i];

		kept[node] = graph_abs(g->node[node].cum) >= limit;
		left += kept[node];
	}
	g->dropped_nodes = count - left;
	return left == count ? 0 : graph_weigh(g, o, kept, err);
}

/* Mark edges below the limit as dropped and return their number. */
static size_t drop_light_edges(struct graph *g, int64_t limit)
{
	size_t dropped = 0;

	for (size_t i = 0; i < g->edges.count; i++) {
		struct graph_edge *e = &g->edges.v[i];

		if (e->dropped || !g->node[e->to].shown ||
		    graph_abs(e->weight) >= limit)
			continue;
		e->dropped = true;
		dropped++;
	}
	return dropped;
}

/*
 * Keep the first node_count nodes of g->shown and compute weights and edges
 * again.
 */
static int keep_top(struct graph *g, const struct graph_options *o, bool *kept,
		    struct err *err)
{
	size_t count = g->shown.count;
	int rc;

	if ((size_t)o->node_count >= count)
		return 0;
	memset(kept, 0, g->nodes->v.count);
	for (size_t i = 0; i < (size_t)o->node_count; i++)
		kept[g->shown.v[i]] = true;
	rc = graph_weigh(g, o, kept, err);
	graph_sort_nodes(g, o->order);
	return rc;
}

/*
 * Whether the callee of `edge` can be reached from the caller by other edges.
 * The breadth-first search goes backwards: from the callee to its callers, to
 * their callers, and so on. `seen` holds `edge` + 1 for each visited node, so
 * that the array need not be cleared between searches.
 */
static bool is_redundant(const struct graph *g, uint32_t edge, uint32_t *seen,
			 uint32_t *queue)
{
	const struct graph_edge *e = &g->edges.v[edge];
	size_t head = 0;
	size_t tail = 0;

	queue[tail++] = e->to;
	seen[e->to] = edge + 1;
	while (head < tail) {
		struct pprof_run in = g->node[queue[head++]].in;

		for (uint32_t i = 0; i < in.count; i++) {
			uint32_t k = g->lists.v[in.first + i];
			uint32_t from = g->edges.v[k].from;

			if (k == edge || g->edges.v[k].dropped ||
			    seen[from] == edge + 1)
				continue;
			if (from == e->from)
				return true;
			seen[from] = edge + 1;
			queue[tail++] = from;
		}
	}
	return false;
}

/*
 * As in pprof's RemoveRedundantEdges, the loops begin with the last shown node
 * and its lightest incoming edge. The order matters: it determines which edges
 * of a cycle remain.
 */
int graph_drop_redundant_edges(struct graph *g, const struct limits *limits,
			       struct err *err)
{
	int rc = 0;
	uint32_t *seen = mem_zalloc(g->nodes->v.count, sizeof(uint32_t));
	uint32_t *queue = mem_zalloc(g->nodes->v.count + 1, sizeof(uint32_t));

	for (size_t i = g->shown.count; i > 0 && !rc; i--) {
		struct pprof_run in = g->node[g->shown.v[i - 1]].in;

		for (uint32_t k = in.count; k > 0 && !rc; k--) {
			uint32_t edge = g->lists.v[in.first + k - 1];
			struct graph_edge *e = &g->edges.v[edge];

			/*
			 * The lightest edge comes first, and the first edge
			 * that is not residual ends the loop. So a residual
			 * edge is dropped only if it is lighter than all direct
			 * calls to the node.
			 */
			if (!e->residual)
				break;
			e->dropped = is_redundant(g, edge, seen, queue);
			/*
			 * One search may visit every edge, so check the
			 * deadline each time.
			 */
			rc = limits_spend(limits, 0, err);
		}
	}
	mem_free(seen);
	mem_free(queue);
	return rc;
}

int graph_trim(struct graph *g, const struct graph_options *o, struct err *err)
{
	int rc = 0;
	bool *kept = mem_zalloc(g->nodes->v.count, sizeof(bool));
	int64_t node_limit = graph_compute_cutoff(g, o->node_fraction);
	int64_t edge_limit = graph_compute_cutoff(g, o->edge_fraction);

	if (node_limit > 0)
		rc = drop_light_nodes(g, o, kept, node_limit, err);
	g->original_count = g->shown.count;
	graph_sort_nodes(g, o->order);
	/*
	 * As in pprof, light edges are dropped before the nodes are cut to
	 * node_count, and again below. If keep_top() rebuilds all edges, the
	 * edges dropped here are dropped below once more; only then does
	 * dropped_edges count them.
	 */
	if (o->node_count > 0 && !rc) {
		(void)drop_light_edges(g, edge_limit);
		rc = keep_top(g, o, kept, err);
	}
	g->dropped_edges = drop_light_edges(g, edge_limit);
	mem_free(kept);
	return rc;
}
