/* SPDX-License-Identifier: Apache-2.0 */
/* Tools whose rows are functions: top, peek, diff. */
#include "mcp/tools/tools.h"

#include <stdlib.h>

#include "mcp/tools/tool_pattern.h"
#include "mcp/tools/tool_report.h"
#include "model/regex.h"
#include "pprof/report/report_graph.h"

/* A report whose rows are being written. */
struct functions {
	struct tool_report *report;
	struct graph graph;
	struct tool_rows rows;
	int64_t shown; /* value of the rows that are shown */
	bool by_cum; /* the rows are in the order of what functions have in all */
};

/* Open a report of a kind, and its graph of functions. */
static int tool_functions_open(struct functions *f, struct tool_call *c,
			       const char *kind, bool is_diff, struct err *err)
{
	int rc;

	*f = (struct functions){ .by_cum = str_is(tool_call_text(c, "sort"),
						  "cum") };
	/* The rows are cut here, and counted. */
	tool_call_set(c, "nodecount", str_of("0"));
	tool_call_set(c, "nodefraction", str_of("0"));
	rc = tool_report_open(c, kind, is_diff, &f->report, err);
	if (rc)
		return rc;
	rc = report_graph(&f->report->report, &f->graph, err);
	if (rc) {
		graph_fini(&f->graph);
		tool_report_close(f->report);
	}
	return rc;
}

/* Begin the table. */
static void tool_functions_begin(struct functions *f, const char *columns)
{
	const struct tool_call *c = f->report->call;

	tool_rows_init(&f->rows, columns, tool_call_number(c, "offset"),
		       tool_call_number(c, "limit"), tool_call_room(c));
}

/* Write the answer, and free everything. `shown`: see tool_report_end(). */
static void tool_functions_close(struct functions *f, int64_t shown)
{
	tool_report_end(f->report, &f->rows,
			f->report->is_diff ? "functions that differ" :
					     "functions",
			shown);
	tool_rows_fini(&f->rows);
	graph_fini(&f->graph);
	tool_report_close(f->report);
}

/* Return the name of a function. */
static struct str tool_functions_name(const struct functions *f, uint32_t node)
{
	return f->report->report.nodes.v.v[node].text;
}

/* Return the file of a function. */
static struct str tool_functions_file(const struct functions *f, uint32_t node)
{
	const struct report *r = &f->report->report;

	return pprof_str(r->p, r->nodes.v.v[node].file);
}

/* Add a value, and its share of a total. */
static void tool_functions_value(struct functions *f, int64_t value,
				 int64_t total)
{
	tool_rows_scaled(&f->rows, tool_report_scale(f->report, value));
	tool_rows_percent(&f->rows, value, total);
}

/* Write a function. */
static void tool_functions_top_row(struct functions *f, uint32_t node)
{
	const struct graph_node *n = &f->graph.node[node];
	int64_t flat = graph_mean(n->flat, n->flat_div);
	int64_t total = f->report->report.total;

	if (!tool_rows_begin(&f->rows))
		return;
	tool_rows_text(&f->rows, tool_functions_name(f, node));
	tool_rows_text(&f->rows, tool_functions_file(f, node));
	tool_functions_value(f, flat, total);
	tool_functions_value(f, graph_mean(n->cum, n->cum_div), total);
	if (tool_rows_end(&f->rows))
		f->shown = wrap_add(f->shown, flat);
}

int tool_top(struct tool_call *c, struct err *err)
{
	struct functions f;
	int rc = tool_functions_open(&f, c, "top", false, err);

	if (rc)
		return rc;
	tool_functions_begin(
		&f, arena_printf(c->arena, "function,file,%s,flat %%,%s,cum %%",
				 tool_report_column(f.report, "flat"),
				 tool_report_column(f.report, "cum")));
	for (size_t i = 0; i < f.graph.shown.count; i++)
		tool_functions_top_row(&f, f.graph.shown.v[i]);
	/* What functions have with what they call overlaps. */
	tool_functions_close(&f, f.by_cum ? -1 : f.shown);
	return 0;
}

/* Write a caller or a callee of a function. */
static void tool_functions_edge(struct functions *f, uint32_t node,
				const char *relation, uint32_t other,
				int64_t weight)
{
	const struct graph_node *n = &f->graph.node[node];

	if (!tool_rows_begin(&f->rows))
		return;
	tool_rows_text(&f->rows, tool_functions_name(f, node));
	tool_rows_text(&f->rows, str_of(relation));
	tool_rows_text(&f->rows, tool_functions_name(f, other));
	tool_functions_value(f, weight, graph_mean(n->cum, n->cum_div));
	(void)tool_rows_end(&f->rows);
}

/* Write a function with its callers and callees. */
static void tool_functions_peek(struct functions *f, uint32_t node)
{
	const struct graph *g = &f->graph;
	const struct graph_node *n = &g->node[node];

	tool_functions_edge(f, node, "total", node,
			    graph_mean(n->cum, n->cum_div));
	for (uint32_t i = 0; i < n->in.count; i++) {
		const struct graph_edge *e =
			&g->edges.v[g->lists.v[n->in.first + i]];

		tool_functions_edge(f, node, "caller", e->from, e->weight);
	}
	tool_functions_edge(f, node, "itself", node,
			    graph_mean(n->flat, n->flat_div));
	for (uint32_t i = 0; i < n->out.count; i++) {
		const struct graph_edge *e =
			&g->edges.v[g->lists.v[n->out.first + i]];

		tool_functions_edge(f, node, "callee", e->to, e->weight);
	}
}

/* Whether a function has exactly this name. */
static bool tool_functions_has(const struct functions *f, struct str name)
{
	for (size_t i = 0; i < f->graph.shown.count; i++) {
		if (str_eq(tool_functions_name(f, f->graph.shown.v[i]), name))
			return true;
	}
	return false;
}

/* Write all functions that match, or the one that has the name. */
static int tool_functions_peek_all(struct functions *f,
				   const struct regex *symbol, struct err *err)
{
	struct growth_meter meter = { 0 };
	struct str name = tool_call_text(f->report->call, "function");
	bool is_name = tool_functions_has(f, name);
	size_t matched = 0;
	int rc = 0;

	for (size_t i = 0; i < f->graph.shown.count; i++) {
		uint32_t node = f->graph.shown.v[i];
		struct str text = tool_functions_name(f, node);

		rc = limits_meter(&f->report->options.limits, &meter,
				  REGEX_WORK, 0, err);
		if (rc)
			return rc;
		if (!(is_name ? str_eq(text, name) :
				regex_matches(symbol, text)))
			continue;
		tool_functions_peek(f, node);
		matched++;
	}
	rc = regex_check_steps(symbol, "function", err);
	if (!rc && !matched)
		rc = tool_pattern_unmatched(f->report->call, err);
	return rc;
}

int tool_peek(struct tool_call *c, struct err *err)
{
	struct regex *symbol = NULL;
	struct functions f;
	int rc = tool_pattern_set(c, err);

	if (!rc)
		rc = regex_new_search(tool_pattern(c), &symbol, err);
	if (rc)
		return rc;
	rc = tool_functions_open(&f, c, "peek", false, err);
	if (rc) {
		regex_free(symbol);
		return rc;
	}
	tool_functions_begin(
		&f, arena_printf(c->arena,
				 "function,relation,other,%s,%% of function",
				 tool_report_column(f.report, "value")));
	rc = tool_functions_peek_all(&f, symbol, err);
	regex_free(symbol);
	tool_functions_close(&f, -1);
	return rc;
}

/* Write a function of a difference. */
static void tool_functions_diff_row(struct functions *f, uint32_t node)
{
	const struct graph_node *n = &f->graph.node[node];
	int64_t a = f->by_cum ? n->cum_a : n->flat_a;
	int64_t change = f->by_cum ? n->cum : n->flat;

	if (!change || !tool_rows_begin(&f->rows))
		return;
	tool_rows_text(&f->rows, tool_functions_name(f, node));
	tool_rows_text(&f->rows, tool_functions_file(f, node));
	tool_rows_scaled(&f->rows, tool_report_scale(f->report, a));
	tool_rows_scaled(&f->rows,
			 tool_report_scale(f->report, wrap_add(a, change)));
	tool_functions_value(f, change, f->report->report.total_a);
	(void)tool_rows_end(&f->rows);
}

/* Return the names of the columns of a difference. */
static const char *tool_functions_diff_columns(const struct functions *f)
{
	const struct tool_report *t = f->report;
	bool is_scaled = t->profile.scaled != NORMALIZE_NONE;
	const char *a = f->by_cum ? "cum a" : "flat a";
	const char *b = f->by_cum ? (is_scaled ? "cum b scaled" : "cum b") :
				    (is_scaled ? "flat b scaled" : "flat b");

	return arena_printf(
		t->call->arena,
		"function,file,%s,%s,%s,change in %% of the total of side a",
		tool_report_column(t, a), tool_report_column(t, b),
		tool_report_column(t, "change"));
}

int tool_diff(struct tool_call *c, struct err *err)
{
	struct functions f;
	int rc = tool_functions_open(&f, c, "top", true, err);

	if (rc)
		return rc;
	tool_functions_begin(&f, tool_functions_diff_columns(&f));
	for (size_t i = 0; i < f.graph.shown.count; i++)
		tool_functions_diff_row(&f, f.graph.shown.v[i]);
	tool_functions_close(&f, -1);
	return 0;
}
