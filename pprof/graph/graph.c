/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/graph/graph.h"

#include "pprof/graph/graph_order.h"
#include "pprof/profile/measure.h"

/*
 * State of one pass over all samples, which adds up the weights of nodes and
 * edges.
 */
struct pass {
	struct graph *g;
	const struct graph_options *o;
	const bool *kept;    /* whether a node is kept, by node; NULL: all */
	uint32_t *node_seen; /* like edge_seen below, by node */
	/*
	 * By edge: number + 1 of the last sample whose weight was added to the
	 * edge, or 0 if none was.
	 */
	VEC(uint32_t) edge_seen;
	uint32_t sample; /* number of the current sample + 1 */
	bool is_diff;    /* whether samples can belong to the base of a diff */
	struct growth_meter meter;
};

/* The identity of an edge: the two nodes that it connects. */
struct edge_key {
	uint32_t from;
	uint32_t to;
};

/*
 * Return the number of the edge from key.from to key.to and add the edge when
 * it is new. The index stores number + 1, because 0 means "absent".
 */
static uint32_t find_edge(struct pass *x, struct edge_key key, bool residual,
			  bool inlined)
{
	struct graph *g = x->g;
	uint32_t *number = pairs_at(&g->edge_index, key.from, key.to);

	if (*number)
		return *number - 1;
	*vec_add(&g->edges) = (struct graph_edge){
		.from = key.from,
		.to = key.to,
		.residual = residual,
		.inlined = inlined,
	};
	*vec_add(&x->edge_seen) = 0;
	*number = (uint32_t)g->edges.count;
	return *number - 1;
}

/*
 * The weight of one sample: `value` is the sample's value for the report's
 * sample type. If the report shows means, `div` is the sample's value for the
 * first sample type, by which `value` is divided; else it is 0.
 */
struct weight {
	int64_t value;
	int64_t div;
	/*
	 * The value, negated, if the sample is in the base of a diff; else 0.
	 */
	int64_t base;
};

/*
 * Add a sample's weight to an edge, at most once per sample: a recursive
 * function would otherwise count several times. An edge is residual if any of
 * its calls goes through nodes that are left out, and inlined only if all of
 * its calls are inlined.
 */
static void add_edge(struct pass *x, struct edge_key key, struct weight w,
		     bool residual, bool inlined)
{
	uint32_t i = find_edge(x, key, residual, inlined);
	struct graph_edge *e = &x->g->edges.v[i];

	if (x->edge_seen.v[i] == x->sample)
		return;
	x->edge_seen.v[i] = x->sample;
	e->weight = wrap_add(e->weight, w.value);
	e->weight_div = wrap_add(e->weight_div, w.div);
	e->residual = e->residual || residual;
	e->inlined = e->inlined && inlined;
}

/* Position of a walk along one stack, from the root to the leaf. */
struct walk {
	uint32_t parent; /* last kept node, or PPROF_NONE if none */
	bool residual;   /* whether frames since `parent` were skipped */
};

/* Memory that the graph holds, in bytes, without profile and nodes. */
static size_t graph_memory(const struct graph *g)
{
	return vec_memory(&g->shown) + vec_memory(&g->edges) +
	       vec_memory(&g->lists) + pairs_memory(&g->edge_index) +
	       g->nodes->v.count * sizeof(*g->node);
}

/* Charge the work and the graph's memory to the query's budget. */
static int graph_check_limits(struct pass *x, size_t work, struct err *err)
{
	return limits_meter(x->o->limits, &x->meter, work, graph_memory(x->g),
			    err);
}

/*
 * Visit one frame of a stack: add the cumulative weight to its node, once per
 * sample, and the weight of the call to the edge from the last kept node.
 */
static void graph_enter_node(struct pass *x, struct walk *walk, uint32_t node,
			     struct weight w, bool inlined)
{
	struct graph_node *n = &x->g->node[node];

	if (x->kept && !x->kept[node]) {
		walk->residual = true;
		return;
	}
	if (x->node_seen[node] != x->sample) {
		x->node_seen[node] = x->sample;
		n->cum = wrap_add(n->cum, w.value);
		n->cum_div = wrap_add(n->cum_div, w.div);
		n->cum_a = wrap_add(n->cum_a, w.base);
	}
	if (walk->parent != PPROF_NONE && walk->parent != node)
		add_edge(x, (struct edge_key){ walk->parent, node }, w,
			 walk->residual, inlined);
	walk->parent = node;
	walk->residual = false;
}

/*
 * Add one sample to the graph. A stack has its innermost location first, and a
 * location its innermost line first, so both loops run backwards. The flat
 * weight goes to the leaf, unless the leaf itself is not kept.
 */
static int graph_add_sample(struct pass *x, const struct pprof_run *stack,
			    struct weight w, struct err *err)
{
	const struct graph *g = x->g;
	const uint32_t *frames = g->p->frames.v + stack->first;
	struct walk walk = { .parent = PPROF_NONE };
	int rc = 0;

	for (uint32_t i = stack->count; i > 0 && !rc; i--) {
		struct pprof_run r = g->nodes->locations.v[frames[i - 1]];
		const uint32_t *v = g->nodes->of_lines.v + r.first;

		for (uint32_t k = r.count; k > 0; k--)
			graph_enter_node(x, &walk, v[k - 1], w, k != r.count);
		/* A stack may be very deep: check the budget within it, too. */
		rc = i % LIMITS_WORK ? 0 :
				       graph_check_limits(x, LIMITS_WORK, err);
	}
	if (walk.parent != PPROF_NONE && !walk.residual) {
		struct graph_node *n = &g->node[walk.parent];

		n->flat = wrap_add(n->flat, w.value);
		n->flat_div = wrap_add(n->flat_div, w.div);
		n->flat_a = wrap_add(n->flat_a, w.base);
	}
	return rc;
}

/*
 * Whether -drop_negative hides a node, as in pprof: its flat value is below 0,
 * or is 0 and its cumulative value is below 0.
 */
static bool is_negative(const struct graph_node *n)
{
	return n->flat < 0 || (!n->flat && n->cum < 0);
}

/*
 * List the nodes to show: all nodes whose weight is not 0, except those that
 * drop_negative hides.
 */
static void show_nodes(struct graph *g, const struct graph_options *o)
{
	g->shown.count = 0;
	for (uint32_t i = 0; i < g->nodes->v.count; i++) {
		struct graph_node *n = &g->node[i];

		n->shown = (n->cum || n->flat) &&
			   !(o->drop_negative && is_negative(n));
		if (n->shown)
			*vec_add(&g->shown) = i;
	}
}

/*
 * Return the weight of a sample. The samples of the base of a diff have
 * negative values.
 */
static struct weight weight_of_sample(struct pass *x, size_t i)
{
	const int64_t *v = pprof_values(x->g->p, i);
	struct weight w = { v[x->o->value], x->o->mean ? v[0] : 0, 0 };

	if (x->is_diff && pprof_sample_is_base(x->g->p, i)) {
		x->g->has_base = true;
		w.base = (int64_t) - (uint64_t)w.value;
	}
	return w;
}

/* Add all samples whose value or divisor is not 0. ERR_LIMIT, ERR_TIMEOUT. */
static int weigh_samples(struct pass *x, struct err *err)
{
	const struct pprof *p = x->g->p;
	int rc = 0;

	x->meter = (struct growth_meter){ .spent = graph_memory(x->g) };

	for (size_t i = 0; i < p->samples.count && !rc; i++) {
		struct weight w = weight_of_sample(x, i);

		x->sample = (uint32_t)i + 1;
		if (w.value || w.div)
			rc = graph_add_sample(x, pprof_stack(p, i), w, err);
		if (!rc)
			rc = graph_check_limits(
				x, 1 + pprof_stack(p, i)->count % LIMITS_WORK,
				err);
	}
	return rc;
}

/*
 * Compute all weights, edges and the list of shown nodes again, from only the
 * nodes that are marked in `kept` (indexed by node; NULL: all). ERR_LIMIT,
 * ERR_TIMEOUT.
 *
 * The graph is weighed again after each trimming step: calls through removed
 * nodes then become edges between the remaining nodes.
 */
NODISCARD static int graph_weigh(struct graph *g, const struct graph_options *o,
				 const bool *kept, struct err *err)
{
	struct pass x = {
		.g = g, .o = o, .kept = kept, .is_diff = pprof_has_base(g->p)
	};
	int rc;

	memset(g->node, 0, g->nodes->v.count * sizeof(*g->node));
	g->edges.count = 0;
	pairs_fini(&g->edge_index);
	x.node_seen = mem_zalloc(g->nodes->v.count, sizeof(uint32_t));
	rc = weigh_samples(&x, err);
	mem_free(x.node_seen);
	vec_fini(&x.edge_seen);
	show_nodes(g, o);
	return rc;
}

/*
 * Trimming, as pprof does it: removes light nodes and edges, the nodes beyond
 * the number to show, and edges that only clutter a drawing.
 */

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
 * Drop edges that only clutter a drawing: residual edges (graph.h) whose callee
 * can also be reached from the caller by other edges. The nodes' lists of edges
 * must be built and sorted before this call, and rebuilt after it. ERR_LIMIT,
 * ERR_TIMEOUT.
 *
 * As in pprof's RemoveRedundantEdges, the loops begin with the last shown node
 * and its lightest incoming edge. The order matters: it determines which edges
 * of a cycle remain.
 */
NODISCARD static int graph_drop_redundant_edges(struct graph *g,
						const struct limits *limits,
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

/*
 * Apply node_fraction, edge_fraction and node_count of the options, and sort
 * g->shown. ERR_LIMIT, ERR_TIMEOUT.
 */
NODISCARD static int graph_trim(struct graph *g, const struct graph_options *o,
				struct err *err)
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

int graph_init(struct graph *g, const struct pprof *p,
	       const struct nodes *nodes, const struct graph_options *o,
	       struct err *err)
{
	int rc;

	*g = (struct graph){ .p = p, .nodes = nodes };
	g->node = mem_zalloc(nodes->v.count, sizeof(*g->node));
	rc = graph_weigh(g, o, NULL, err);
	if (!rc)
		rc = graph_trim(g, o, err);
	if (rc)
		return rc;
	graph_list_edges(g);
	graph_sort_edges(g);
	/*
	 * Drawings drop redundant edges. The nodes' lists still contain these
	 * edges, so the lists are rebuilt.
	 */
	if (o->order == GRAPH_ENTROPY) {
		rc = graph_drop_redundant_edges(g, o->limits, err);
		graph_list_edges(g);
		graph_sort_edges(g);
	}
	return rc;
}

void graph_fini(struct graph *g)
{
	mem_free(g->node);
	vec_fini(&g->shown);
	vec_fini(&g->edges);
	vec_fini(&g->lists);
	pairs_fini(&g->edge_index);
}
