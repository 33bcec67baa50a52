/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/graph.h"

#include <math.h>
#include <stdlib.h>

#include "pprof/measure.h"

/* One pass over the samples. */
struct pass {
	struct graph *g;
	const struct graph_options *o;
	const bool *kept;    /* by node; NULL: all */
	uint32_t *node_seen; /* by node: the sample that met it last, + 1 */
	VEC(uint32_t) edge_seen;
	uint32_t sample; /* + 1 */
	struct growth_meter meter;
};

struct edge_key {
	uint32_t from;
	uint32_t to;
};

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

/* What a sample weighs. */
struct weight {
	int64_t value;
	int64_t div;
};

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

/* Where a walk from the root to the leaf stands. */
struct walk {
	uint32_t parent; /* PPROF_NONE: none yet */
	bool residual;   /* nodes since then are not kept */
};

static int check_effort(struct pass *x, size_t work, struct err *err)
{
	return effort_meter(x->o->effort, &x->meter, work, graph_memory(x->g),
			    err);
}

static void enter(struct pass *x, struct walk *walk, uint32_t node,
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
	}
	if (walk->parent != PPROF_NONE && walk->parent != node)
		add_edge(x, (struct edge_key){ walk->parent, node }, w,
			 walk->residual, inlined);
	walk->parent = node;
	walk->residual = false;
}

static int add_sample(struct pass *x, const struct pprof_run *stack,
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
			enter(x, &walk, v[k - 1], w, k != r.count);
		rc = i % EFFORT_WORK ? 0 : check_effort(x, EFFORT_WORK, err);
	}
	if (walk.parent != PPROF_NONE && !walk.residual) {
		struct graph_node *n = &g->node[walk.parent];

		n->flat = wrap_add(n->flat, w.value);
		n->flat_div = wrap_add(n->flat_div, w.div);
	}
	return rc;
}

static bool is_negative(const struct graph_node *n)
{
	return n->flat < 0 || (!n->flat && n->cum < 0);
}

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

static int weigh_samples(struct pass *x, struct err *err)
{
	const struct pprof *p = x->g->p;
	int rc = 0;

	x->meter = (struct growth_meter){ .spent = graph_memory(x->g) };

	for (size_t i = 0; i < p->samples.count && !rc; i++) {
		const int64_t *v = pprof_values(p, i);
		struct weight w = { v[x->o->value], x->o->mean ? v[0] : 0 };

		x->sample = (uint32_t)i + 1;
		if (w.value || w.div)
			rc = add_sample(x, pprof_stack(p, i), w, err);
		if (!rc)
			rc = check_effort(
				x, 1 + pprof_stack(p, i)->count % EFFORT_WORK,
				err);
	}
	return rc;
}

/* Weigh the nodes that are kept, and the calls between them. */
static int weigh(struct graph *g, const struct graph_options *o,
		 const bool *kept, struct err *err)
{
	struct pass x = { .g = g, .o = o, .kept = kept };
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

/* Lists of edges by node. */

static int by_text(const struct graph *g, uint32_t a, uint32_t b)
{
	return str_cmp(g->nodes->v.v[a].text, g->nodes->v.v[b].text);
}

static int by_weight(const void *a, const void *b, void *ctx)
{
	const struct graph *g = ctx;
	const struct graph_edge *x = &g->edges.v[*(const uint32_t *)a];
	const struct graph_edge *y = &g->edges.v[*(const uint32_t *)b];
	int64_t v = graph_abs(x->weight);
	int64_t w = graph_abs(y->weight);
	int order;

	if (v != w)
		return v > w ? -1 : 1;
	order = by_text(g, x->from, y->from);
	if (!order)
		order = by_text(g, x->to, y->to);
	if (!order)
		order = x < y ? -1 : x > y;
	return order;
}

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

static void list_edges(struct graph *g)
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

static void sort_edges(struct graph *g)
{
	for (size_t i = 0; i < g->nodes->v.count; i++) {
		struct graph_node *n = &g->node[i];

		if (n->in.count > 1)
			qsort_r(g->lists.v + n->in.first, n->in.count,
				sizeof(uint32_t), by_weight, g);
		if (n->out.count > 1)
			qsort_r(g->lists.v + n->out.first, n->out.count,
				sizeof(uint32_t), by_weight, g);
	}
}

/* Order of nodes. */

struct ranked {
	uint32_t node;
	int64_t score;
};

struct ranking {
	const struct graph *g;
	enum graph_order order;
};

static int compare_abs(int64_t a, int64_t b)
{
	int64_t v = graph_abs(a);
	int64_t w = graph_abs(b);

	return v == w ? 0 : v > w ? -1 : 1;
}

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
		order = by_text(g, x->node, y->node);
	if (!order)
		order = r->order == GRAPH_FLAT ? compare_abs(n->cum, m->cum) :
						 compare_abs(n->flat, m->flat);
	if (!order && x->node != y->node)
		order = nodes_compare(g->nodes, x->node, y->node);
	return order;
}

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

/* Little for a node that only passes on what it is called for. */
static int64_t entropy_score(const struct graph *g, const struct graph_node *n)
{
	double score = n->in.count ? entropy_of(g, n->in, 0) : 1;

	score += n->out.count ? entropy_of(g, n->out, n->flat) : 1;
	return wrap_add(measure_integer(score * (double)n->cum), n->flat);
}

static int64_t score(const struct graph *g, enum graph_order order,
		     uint32_t node)
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

static void sort_nodes(struct graph *g, enum graph_order order)
{
	struct ranking r = { .g = g, .order = order };
	struct ranked *v = mem_zalloc(g->shown.count + 1, sizeof(*v));

	if (order == GRAPH_ENTROPY)
		list_edges(g);
	for (size_t i = 0; i < g->shown.count; i++) {
		v[i].node = g->shown.v[i];
		v[i].score = score(g, order, v[i].node);
	}
	qsort_r(v, g->shown.count, sizeof(*v), by_rank, &r);
	for (size_t i = 0; i < g->shown.count; i++)
		g->shown.v[i] = v[i].node;
	mem_free(v);
}

/* Trimming. */

static int64_t cutoff(const struct graph *g, double fraction)
{
	int64_t total = 0;

	for (size_t i = 0; i < g->shown.count; i++)
		total = wrap_add(total, g->node[g->shown.v[i]].flat);
	return graph_abs(measure_integer((double)total * fraction));
}

/* Drop nodes below the limit. */
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
	return left == count ? 0 : weigh(g, o, kept, err);
}

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
	rc = weigh(g, o, kept, err);
	sort_nodes(g, o->order);
	return rc;
}

/* Whether e's end is reached from its start without it. */
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

/* Residual edges whose end is reached another way only clutter a drawing. */
static int drop_redundant_edges(struct graph *g, const struct effort *effort,
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

			/* Never one heavier than an edge that stays. */
			if (!e->residual)
				break;
			e->dropped = is_redundant(g, edge, seen, queue);
			/* One such look may go through all edges. */
			rc = effort_spend(effort, 0, err);
		}
	}
	mem_free(seen);
	mem_free(queue);
	return rc;
}

static int trim(struct graph *g, const struct graph_options *o, struct err *err)
{
	int rc = 0;
	bool *kept = mem_zalloc(g->nodes->v.count, sizeof(bool));
	int64_t node_limit = cutoff(g, o->node_fraction);
	int64_t edge_limit = cutoff(g, o->edge_fraction);

	if (node_limit > 0)
		rc = drop_light_nodes(g, o, kept, node_limit, err);
	g->original_count = g->shown.count;
	sort_nodes(g, o->order);
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
	rc = weigh(g, o, NULL, err);
	if (!rc)
		rc = trim(g, o, err);
	if (rc)
		return rc;
	list_edges(g);
	sort_edges(g);
	if (o->order == GRAPH_ENTROPY) {
		rc = drop_redundant_edges(g, o->effort, err);
		list_edges(g);
		sort_edges(g);
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
