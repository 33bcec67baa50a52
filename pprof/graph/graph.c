/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/graph/graph.h"

#include "pprof/graph/graph_order.h"

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
 * The graph is weighed again after each trimming step: calls through removed
 * nodes then become edges between the remaining nodes.
 */
int graph_weigh(struct graph *g, const struct graph_options *o,
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

size_t graph_memory(const struct graph *g)
{
	return vec_memory(&g->shown) + vec_memory(&g->edges) +
	       vec_memory(&g->lists) + pairs_memory(&g->edge_index) +
	       g->nodes->v.count * sizeof(*g->node);
}
