/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report/report_graph.h"

#include <time.h>

#include "pprof/profile/measure.h"
#include "pprof/report/report_text.h"

#define NODE_COUNT 80 /* default number of nodes, as in pprof */

/* Largest number of nodes in a drawing. */
#define DRAWN_MAX 2000

/* How many nodes the report shows; 0 means all. */
static int64_t node_count(const struct report *r)
{
	int64_t count = r->o->node_count;

	if (count < 0)
		count = r->kind == REPORT_TOP ? 0 : NODE_COUNT;
	/* A larger drawing is illegible, and dot takes hours to lay it out. */
	if (r->kind == REPORT_DOT && (!count || count > DRAWN_MAX))
		count = DRAWN_MAX;
	return count;
}

/*
 * The smallest value above 0 that will be printed; 0 if there is none. As in
 * pprof, the cumulative value of a node counts only if its flat value is 0.
 */
static int64_t report_graph_find_smallest(const struct graph *g)
{
	int64_t min = 0;

	for (size_t i = 0; i < g->shown.count; i++) {
		const struct graph_node *n = &g->node[g->shown.v[i]];
		int64_t v = graph_abs(graph_mean(n->flat, n->flat_div));

		if (!v)
			v = graph_abs(graph_mean(n->cum, n->cum_div));
		if (v > 0 && (!min || v < min))
			min = v;
	}
	return min;
}

/*
 * For the output unit "minimum", choose one unit for all values of the report
 * as pprof does: the unit that suits the smallest value. If the total is more
 * than 100 times the smallest value, choose the unit that suits 100 times the
 * smallest value.
 */
static void choose_unit(struct report *r, const struct graph *g)
{
	struct str minimum = str_of("minimum");
	int64_t min;
	int64_t max;
	struct str min_unit;
	struct str max_unit;

	if (!str_is(r->out_unit, "minimum") || !g->shown.count)
		return;
	/* As in pprof, divide_by is applied before the unit is chosen. */
	min = report_graph_find_smallest(g);
	min = report_divide(r, min ? min : r->total);
	max = report_divide(r, r->total);
	(void)measure_scale(min, r->unit, minimum, &min_unit);
	(void)measure_scale(max, r->unit, minimum, &max_unit);
	if (!str_eq(min_unit, max_unit) && (int64_t)((uint64_t)min * 100) < max)
		(void)measure_scale((int64_t)((uint64_t)min * 100), r->unit,
				    minimum, &min_unit);
	r->out_unit = min_unit.len ? min_unit : r->unit;
}

int report_graph(struct report *r, struct graph *g, struct err *err)
{
	int rc;
	const struct report_options *o = r->o;
	struct graph_options go = {
		.value = r->value,
		.mean = o->mean,
		.drop_negative = o->drop_negative,
		.limits = &o->limits,
		.order = r->kind == REPORT_DOT ? GRAPH_ENTROPY :
			 o->cum                ? GRAPH_CUM :
						 GRAPH_FLAT,
	};

	/*
	 * The number of nodes in a drawing is always limited, even with
	 * trim=false.
	 */
	if (r->kind == REPORT_DOT)
		go.node_count = node_count(r);
	/*
	 * The reports `peek` and `source` search all nodes for the symbol, so
	 * the graph must not be trimmed.
	 */
	if (o->trim && r->kind != REPORT_PEEK && r->kind != REPORT_SOURCE) {
		go.node_count = node_count(r);
		go.node_fraction = o->node_fraction;
		go.edge_fraction = o->edge_fraction;
	}
	rc = graph_init(g, r->p, &r->nodes, &go, err);
	if (!rc)
		choose_unit(r, g);
	return rc;
}
