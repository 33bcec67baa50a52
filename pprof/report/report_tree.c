/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree report: each function with its callers and callees, as pprof's -tree
 * and -peek.
 */
#include "pprof/report/report_forms.h"

#include "base/printable.h"
#include "model/regex.h"
#include "pprof/profile/measure.h"
#include "pprof/report/report.h"
#include "pprof/report/report_graph.h"
#include "pprof/report/report_text.h"

/* Separator and heading of the table, exactly as pprof prints them. */
static const char separator[] =
	"----------------------------------------------------------+-------------\n";
static const char legend[] =
	"      flat  flat%   sum%        cum   cum%   calls calls% + context \t \t \n";

/*
 * Print one caller or callee. Its percentage refers to `cum`, the cumulative
 * value of the node.
 */
static void tree_print_edge(const struct report *r, const struct graph_edge *e,
			    uint32_t other, int64_t cum, struct buf *out)
{
	struct str name = r->nodes.v.v[other].text;

	report_value_column(r, e->weight, 50, out);
	buf_byte(out, ' ');
	measure_percentage(out, e->weight, cum);
	buf_str(out, " |   ");
	printable_add(out, name);
	buf_str(out, e->inlined ? " (inline)\n" : "\n");
}

/* Print the callers of a node, the node itself, then its callees. */
static void tree_print_node(const struct report *r, const struct graph *g,
			    uint32_t node, int64_t *sum, struct buf *out)
{
	const struct graph_node *n = &g->node[node];
	struct str name = r->nodes.v.v[node].text;
	int64_t flat = graph_mean(n->flat, n->flat_div);
	int64_t cum = graph_mean(n->cum, n->cum_div);

	buf_str(out, separator);
	/* Callers above the node, heaviest first. */
	for (uint32_t i = 0; i < n->in.count; i++) {
		const struct graph_edge *e =
			&g->edges.v[g->lists.v[n->in.first + i]];

		tree_print_edge(r, e, e->from, cum, out);
	}
	report_weight_columns(r, flat, cum, sum, out);
	buf_printf(out, "                | ");
	printable_add(out, name);
	buf_byte(out, '\n');
	/* Callees below the node, heaviest first. */
	for (uint32_t i = 0; i < n->out.count; i++) {
		const struct graph_edge *e =
			&g->edges.v[g->lists.v[n->out.first + i]];

		tree_print_edge(r, e, e->to, cum, out);
	}
}

/*
 * Print the nodes that match the expression `symbol` (NULL: all) and count
 * them.
 */
static int print_tree(struct report *r, const struct regex *symbol,
		      size_t *matched, struct buf *out, struct err *err)
{
	struct growth_meter meter = { 0 };
	struct graph g;
	int64_t sum = 0;
	int rc = report_graph(r, &g, err);

	/* A graph must be released even if building it failed. */
	if (rc) {
		graph_fini(&g);
		return rc;
	}
	report_graph_labels(r, &g, false, out);
	buf_str(out, separator);
	buf_str(out, legend);
	for (size_t i = 0; i < g.shown.count && !rc; i++) {
		uint32_t node = g.shown.v[i];

		rc = limits_meter(&r->o->limits, &meter, REGEX_WORK, 0, err);
		/* The sum% column counts only the nodes that are printed. */
		if (symbol && !regex_matches(symbol, r->nodes.v.v[node].text))
			continue;
		tree_print_node(r, &g, node, &sum, out);
		(*matched)++;
	}
	if (g.shown.count)
		buf_str(out, separator);
	graph_fini(&g);
	return rc;
}

int report_tree_text(struct report *r, struct buf *out, struct err *err)
{
	struct str text = r->o->symbol;
	struct regex *symbol = NULL;
	size_t matched = 0;
	int rc = 0;

	/*
	 * Only the report `peek` selects nodes by a symbol; the report `tree`
	 * prints all nodes of the trimmed graph.
	 */
	if (r->kind == REPORT_PEEK && text.len)
		rc = regex_new_search(text, &symbol, err);
	if (rc)
		return err_wrap(err, rc, "symbol");
	rc = print_tree(r, symbol, &matched, out, err);
	if (!rc)
		rc = regex_check_steps(symbol, "symbol", err);
	/* Like pprof, report an error if no node matches the symbol. */
	if (!rc && symbol && !matched)
		rc = err_set(err, ERR_NOTFOUND,
			     "no matches found for regexp: %.*s",
			     STR_ARG(text));
	regex_free(symbol);
	return rc ? rc : report_size(out, err);
}
