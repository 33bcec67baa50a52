/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/flame.h"

#include <assert.h>
#include <stdlib.h>

#include "base/pairs.h"
#include "base/radix.h"

#define NODES_DEFAULT 8192

/*
 * The tree while it grows. Nodes are stored after their parents, so that one
 * pass in reverse order can add up totals.
 */
struct growth {
	const struct report *r;
	const struct flame_sides *sides; /* NULL: samples have one weight */
	VEC(struct flame_node) v;
	/*
	 * Finds children: maps the parent's index in `v` and a node of the
	 * report to the child's index in `v`; 0: no such child yet.
	 */
	struct pairs index;
	VEC(uint32_t) last; /* by index of the parent: child found last, or 0 */
	struct flame_path path; /* of the sample that is being added */
	struct growth_meter meter;
	struct growth_meter path_meter;
	bool has_base;
};

/*
 * Charge work and memory to the query's budget. The memory of nodes counts
 * twice, because flame_flatten() copies them.
 */
static int flame_check_limits(struct growth *g, size_t work, struct err *err)
{
	size_t memory = 2 * vec_memory(&g->v) + vec_memory(&g->last) +
			pairs_memory(&g->index);

	return limits_meter(&g->r->o->limits, &g->meter, work, memory, err);
}

/*
 * Return the index of the child of `parent` that stands for node `node` of the
 * report. If `parent` has no such child yet, add it.
 */
static uint32_t flame_find_child(struct growth *g, uint32_t parent,
				 uint32_t node)
{
	uint32_t *number = pairs_at(&g->index, parent, node);

	if (*number)
		return *number;
	/* Index 0 is the root, which is never a child: 0 can mean "absent". */
	*number = (uint32_t)g->v.count;
	*vec_add(&g->v) = (struct flame_node){
		.node = node,
		.parent = parent,
		.depth = g->v.v[parent].depth + 1,
		.inlined = true, /* until a call is found that is not */
	};
	*vec_add(&g->last) = 0;
	return *number;
}

/*
 * Find or add a child. The child found last is tried first, as consecutive
 * stacks share most of their outer frames.
 */
static uint32_t flame_take_step(struct growth *g, uint32_t parent,
				uint32_t node)
{
	uint32_t at = g->last.v[parent];

	if (at && g->v.v[at].node == node)
		return at;
	at = flame_find_child(g, parent, node);
	g->last.v[parent] = at;
	return at;
}

/* Add the weights of a sample to the node in which its path ends. */
static void flame_add_weight(struct growth *g, size_t sample,
			     struct flame_node *last)
{
	int64_t base = 0;
	int64_t now = 0;

	if (g->sides) {
		base = g->sides->base[sample];
		now = g->sides->now[sample];
	} else if (pprof_sample_is_base(g->r->p, sample)) {
		/* The base samples of a diff have negative values. */
		base = (int64_t) - (uint64_t)report_weight(g->r, sample);
	} else {
		now = report_weight(g->r, sample);
	}
	last->self_a = wrap_add(last->self_a, base);
	last->self = wrap_add(last->self, now);
}

/* Add one sample along its path. */
static int flame_add_sample(struct growth *g, size_t sample, struct err *err)
{
	uint32_t at = 0;
	int rc = 0;

	for (size_t i = 0; i < g->path.count && !rc; i++) {
		const struct flame_step *step = flame_path_step(&g->path, i);

		at = flame_take_step(g, at, step->node);
		g->v.v[at].inlined = g->v.v[at].inlined && step->inlined;
		/* A stack may be very deep: check the budget within it, too. */
		rc = (i + 1) % LIMITS_WORK ?
			     0 :
			     flame_check_limits(g, LIMITS_WORK, err);
	}
	flame_add_weight(g, sample, &g->v.v[at]);
	if (g->sides)
		g->sides->ends[sample] = at;
	return rc;
}

/* Whether a sample has no weight. */
static bool flame_is_empty(const struct growth *g, size_t sample)
{
	if (g->sides)
		return !g->sides->base[sample] && !g->sides->now[sample];
	return !report_weight(g->r, sample);
}

/* Add all samples whose weight is not 0 and whose path is not empty. */
static int add_samples(struct growth *g, struct err *err)
{
	const struct report *r = g->r;
	int rc = 0;

	for (size_t i = 0; i < r->p->samples.count && !rc; i++) {
		g->has_base = g->has_base || g->sides ||
			      pprof_sample_is_base(r->p, i);
		if (g->sides)
			g->sides->ends[i] = PPROF_NONE;
		if (flame_is_empty(g, i))
			continue;
		rc = flame_path_take(&g->path, i, &g->path_meter, err);
		if (!rc && g->path.count)
			rc = flame_add_sample(g, i, err);
		if (!rc)
			rc = flame_check_limits(
				g, 1 + g->path.count % LIMITS_WORK, err);
	}
	return rc;
}

/*
 * Add each node's total to the total of its parent. The reverse order visits
 * children before parents.
 */
static void add_totals(struct growth *g)
{
	for (size_t i = g->v.count; i > 0; i--) {
		struct flame_node *n = &g->v.v[i - 1];
		struct flame_node *parent = &g->v.v[n->parent];

		n->total = wrap_add(n->total, n->self);
		n->total_a = wrap_add(n->total_a, n->self_a);
		if (i > 1) {
			parent->total = wrap_add(parent->total, n->total);
			parent->total_a = wrap_add(parent->total_a, n->total_a);
		}
	}
}

/* Build the whole tree: the root, then all samples, then the totals. */
static int flame_grow(struct growth *g, enum flame_walk walk, struct err *err)
{
	int rc = flame_path_init(&g->path, g->r, walk, err);

	*vec_add(&g->v) = (struct flame_node){ .node = FLAME_ROOT };
	*vec_add(&g->last) = 0;
	if (!rc)
		rc = add_samples(g, err);
	add_totals(g);
	return rc;
}

/* Fold the lightest nodes into nodes named "(other)". */

/*
 * The weight of a node: its total or, in a diff, the larger of its two totals.
 */
static int64_t weight_of(const struct flame_node *n)
{
	int64_t a = graph_abs(n->total);
	int64_t b = graph_abs(n->total_a);

	return a > b ? a : b;
}

/*
 * Sort all nodes by weight, heaviest first. Nodes of equal weight stay in depth-first
 * order, which `order` has: parents precede their children, and the order of the
 * samples does not matter. The caller frees the result.
 */
static struct radix_item *flame_by_weight(const struct growth *g,
					  const uint32_t *order)
{
	size_t n = g->v.count;
	struct radix_item *v = mem_zalloc(2 * n, sizeof(*v));

	for (size_t i = 0; i < n; i++)
		v[i] = (struct radix_item){
			UINT64_MAX - (uint64_t)weight_of(&g->v.v[order[i]]),
			order[i],
		};
	radix_sort(v, n, v + n);
	return v;
}

/*
 * Mark the `max` heaviest nodes; `order` has all nodes in depth-first order. The
 * parents of a marked node are marked as well, so that the result is a tree: a
 * node can be heavier than its parent if values cancel each other out.
 */
static void flame_choose(const struct growth *g, const uint32_t *order,
			 size_t max, bool *kept)
{
	struct radix_item *v = flame_by_weight(g, order);
	size_t left = max - 1; /* nodes still to be marked, besides the root */

	kept[0] = true;
	for (size_t i = 0; i < g->v.count && left; i++) {
		uint32_t at = v[i].index;

		for (; !kept[at]; at = g->v.v[at].parent) {
			kept[at] = true;
			left -= left > 0;
		}
	}
	mem_free(v);
}

/* The children of each node, sorted by name. */
struct siblings {
	VEC(uint32_t) v;          /* indexes of nodes, by parent and name */
	VEC(struct pprof_run) of; /* by node: where its children are in `v` */
};

struct str flame_name(const struct report *r, const struct flame_node *n)
{
	if (n->node == FLAME_ROOT)
		return str_of("total");
	if (n->node == FLAME_OTHER)
		return str_of("(other)");
	return r->nodes.v.v[n->node].text;
}

/*
 * Order of siblings: by name, then by what else tells their nodes apart, so that
 * output is reproducible.
 */
static int flame_by_name(const void *a, const void *b, void *ctx)
{
	const struct growth *g = ctx;
	const struct flame_node *x = &g->v.v[*(const uint32_t *)a];
	const struct flame_node *y = &g->v.v[*(const uint32_t *)b];

	if (x->node < FLAME_OTHER && y->node < FLAME_OTHER)
		return nodes_order(&g->r->nodes, x->node, y->node);
	return str_cmp(flame_name(g->r, x), flame_name(g->r, y));
}

/*
 * Whether node i is listed among its siblings: node i is marked in `kept`
 * (NULL: all nodes are) and is not the root.
 */
static bool is_listed(const bool *kept, uint32_t i)
{
	return i && (!kept || kept[i]);
}

/*
 * Fill *s by a counting sort: count the children of each node, reserve a part
 * of s->v for each node, write the children to it, then sort each node's
 * children by name.
 */
static void list_siblings(struct growth *g, const bool *kept,
			  struct siblings *s)
{
	uint32_t count = (uint32_t)g->v.count;
	uint32_t first = 0;

	assert(count); /* the root always exists */
	vec_reserve(&s->of, count);
	vec_reserve(&s->v, count);
	memset(s->of.v, 0, count * sizeof(*s->of.v));
	s->of.count = count;
	for (uint32_t i = 0; i < count; i++)
		s->of.v[g->v.v[i].parent].count += is_listed(kept, i);
	for (uint32_t i = 0; i < count; i++) {
		s->of.v[i].first = first;
		first += s->of.v[i].count;
		s->of.v[i].count = 0;
	}
	s->v.count = first;
	for (uint32_t i = 0; i < count; i++) {
		struct pprof_run *run = &s->of.v[g->v.v[i].parent];

		if (is_listed(kept, i))
			s->v.v[run->first + run->count++] = i;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct pprof_run run = s->of.v[i];

		if (run.count > 1)
			qsort_r(s->v.v + run.first, run.count, sizeof(*s->v.v),
				flame_by_name, g);
	}
}

/*
 * Give each kept node one "(other)" child in place of its children that are not
 * kept, so that totals still add up. The child gets the totals of the nodes
 * that it replaces, which include their descendants. *kept is extended by the
 * new nodes. What is left out is counted in *f.
 */
static void fold_rest(struct growth *g, bool **kept, struct flame *f)
{
	size_t count = g->v.count;

	for (uint32_t i = 1; i < count; i++) {
		struct flame_node n = g->v.v[i];
		uint32_t other;

		f->left_out += !(*kept)[i];
		if ((*kept)[i] || !(*kept)[n.parent])
			continue;
		f->weight_left_out =
			wrap_add(f->weight_left_out, weight_of(&n));
		other = flame_find_child(g, n.parent, FLAME_OTHER);
		g->v.v[other].inlined = false;
		g->v.v[other].self = wrap_add(g->v.v[other].self, n.total);
		g->v.v[other].total = g->v.v[other].self;
		g->v.v[other].self_a =
			wrap_add(g->v.v[other].self_a, n.total_a);
		g->v.v[other].total_a = g->v.v[other].self_a;
	}
	*kept = mem_realloc(*kept, g->v.count, sizeof(bool));
	for (size_t i = count; i < g->v.count; i++)
		(*kept)[i] = true;
}

/*
 * Write the listed nodes to `order`, the root first, in depth-first order. Return
 * their number. The function uses an explicit stack instead of recursion, because
 * a profile's stacks may be 100 000 frames deep.
 */
static size_t flame_walk_depth(const struct siblings *s, uint32_t *order)
{
	VEC(uint32_t) stack = { 0 };
	size_t count = 0;

	*vec_add(&stack) = 0;
	while (stack.count) {
		uint32_t node = stack.v[--stack.count];
		struct pprof_run run = s->of.v[node];

		order[count++] = node;
		/* Push in reverse, so that the first child is visited first. */
		for (uint32_t i = run.count; i > 0; i--)
			*vec_add(&stack) = s->v.v[run.first + i - 1];
	}
	vec_fini(&stack);
	return count;
}

/*
 * Copy the listed nodes to f, in this order. places[n] gets the index that node n
 * has in f.
 */
static void flame_flatten(const struct growth *g, const uint32_t *order,
			  size_t count, uint32_t *places, struct flame *f)
{
	vec_reserve(&f->v, count);
	for (size_t i = 0; i < count; i++) {
		struct flame_node n = g->v.v[order[i]];

		places[order[i]] = (uint32_t)i;
		n.parent = i ? places[n.parent] : 0;
		*vec_add(&f->v) = n;
		if (n.depth > f->max_depth)
			f->max_depth = n.depth;
	}
}

/*
 * Move the ends of samples to the copy, whose places are by node of the tree.
 * The end of a node that was folded is the "(other)" node of its nearest ancestor
 * that is kept.
 */
static void flame_move_ends(struct growth *g, const bool *kept,
			    const uint32_t *places)
{
	uint32_t *ends = g->sides->ends;

	for (size_t i = 0; i < g->r->p->samples.count; i++) {
		uint32_t at = ends[i];

		if (at == PPROF_NONE)
			continue;
		while (kept && !kept[g->v.v[at].parent])
			at = g->v.v[at].parent;
		if (kept && !kept[at])
			at = flame_find_child(g, g->v.v[at].parent,
					      FLAME_OTHER);
		ends[i] = places[at];
	}
}

/*
 * If there are more than `max` nodes, fold the lightest ones. *kept, which the
 * caller frees, says which nodes are left; NULL: all.
 */
static void flame_cut(struct growth *g, size_t max, bool **kept,
		      struct flame *f)
{
	struct siblings s = { 0 };
	uint32_t *order;

	if (!max || g->v.count <= max)
		return;
	order = mem_zalloc(g->v.count, sizeof(*order));
	*kept = mem_zalloc(g->v.count, sizeof(bool));
	list_siblings(g, NULL, &s);
	(void)flame_walk_depth(&s, order);
	flame_choose(g, order, max, *kept);
	fold_rest(g, kept, f);
	mem_free(order);
	vec_fini(&s.v);
	vec_fini(&s.of);
}

/* Copy the kept nodes to f, in depth-first order. */
static void flame_copy(struct growth *g, const bool *kept, struct flame *f)
{
	uint32_t *places = mem_zalloc(g->v.count, sizeof(*places));
	uint32_t *order = mem_zalloc(g->v.count, sizeof(*order));
	struct siblings s = { 0 };

	list_siblings(g, kept, &s);
	flame_flatten(g, order, flame_walk_depth(&s, order), places, f);
	if (g->sides)
		flame_move_ends(g, kept, places);
	mem_free(places);
	mem_free(order);
	vec_fini(&s.v);
	vec_fini(&s.of);
}

enum flame_walk flame_walk_of(const struct report_options *o)
{
	if (o->pivot.len)
		return FLAME_CALLEES;
	return o->invert ? FLAME_OUTWARDS : FLAME_INWARDS;
}

int flame_init(struct flame *f, const struct report *r, enum flame_walk walk,
	       int64_t max_nodes, struct err *err)
{
	return flame_init_sides(f, r, walk, max_nodes, NULL, err);
}

int flame_init_sides(struct flame *f, const struct report *r,
		     enum flame_walk walk, int64_t max_nodes,
		     const struct flame_sides *sides, struct err *err)
{
	size_t max = max_nodes < 0 ? NODES_DEFAULT : (size_t)max_nodes;
	struct growth g = { .r = r, .sides = sides };
	bool *kept = NULL;
	int rc;

	*f = (struct flame){ 0 };
	rc = flame_grow(&g, walk, err);
	f->has_base = g.has_base;
	if (!rc) {
		flame_cut(&g, max, &kept, f);
		flame_copy(&g, kept, f);
	}
	mem_free(kept);
	vec_fini(&g.v);
	vec_fini(&g.last);
	pairs_fini(&g.index);
	flame_path_fini(&g.path);
	return rc;
}

void flame_fini(struct flame *f)
{
	vec_fini(&f->v);
}
