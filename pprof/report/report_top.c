/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The top report: functions sorted by weight, as text and as JSON.
 */
#include "pprof/report/report_forms.h"

#include "base/printable.h"
#include "pprof/report/report.h"
#include "pprof/report/report_graph.h"
#include "pprof/report/report_text.h"

/*
 * Return the note to print after a node's name: "(inline)" if the edges from
 * all callers are inlined, "(partial-inline)" if only some are, else nothing.
 */
static const char *inline_note(const struct graph *g,
			       const struct graph_node *n)
{
	bool inlined = false;
	bool called = false;

	for (uint32_t i = 0; i < n->in.count; i++) {
		if (g->edges.v[g->lists.v[n->in.first + i]].inlined)
			inlined = true;
		else
			called = true;
	}
	if (!inlined)
		return "";
	return called ? " (partial-inline)" : " (inline)";
}

/* Print one line of the table. */
static void print_row(const struct report *r, const struct graph *g,
		      uint32_t node, int64_t *sum, struct buf *out)
{
	const struct graph_node *n = &g->node[node];
	struct str name = r->nodes.v.v[node].text;
	int64_t flat = graph_mean(n->flat, n->flat_div);
	int64_t cum = graph_mean(n->cum, n->cum_div);

	/*
	 * This call adds `flat` to `*sum`, the running sum for the column sum%.
	 */
	report_weight_columns(r, flat, cum, sum, out);
	buf_str(out, "  ");
	printable_add(out, name);
	buf_printf(out, "%s\n", inline_note(g, n));
}

/* The columns are those of pprof -top: flat, flat%, sum%, cum, cum%. */
int report_top_text(struct report *r, struct buf *out, struct err *err)
{
	struct graph g;
	int64_t sum = 0;
	int rc = report_graph(r, &g, err);

	/* A graph must be released even if building it failed. */
	if (rc) {
		graph_fini(&g);
		return rc;
	}
	report_graph_labels(r, &g, false, out);
	buf_printf(out, "%10s %5s%% %5s%% %10s %5s%%\n", "flat", "flat", "sum",
		   "cum", "cum");
	for (size_t i = 0; i < g.shown.count; i++)
		print_row(r, &g, g.shown.v[i], &sum, out);
	graph_fini(&g);
	return report_size(out, err);
}

/* Write one element of "rows". Values are in the profile's unit. */
static void top_write_row(const struct report *r, const struct graph *g,
			  uint32_t i, struct json *j)
{
	const struct graph_node *n = &g->node[i];
	const struct node *node = &r->nodes.v.v[i];

	json_begin(j, '{');
	json_key(j, "name");
	json_str(j, node->text);
	json_key(j, "file");
	json_str(j, pprof_str(r->p, node->file));
	json_key(j, "flat");
	json_int(j, graph_mean(n->flat, n->flat_div));
	json_key(j, "cum");
	json_int(j, graph_mean(n->cum, n->cum_div));
	if (g->has_base) {
		json_key(j, "flat_a");
		json_int(j, n->flat_a);
		json_key(j, "cum_a");
		json_int(j, n->cum_a);
	}
	json_end(j, '}');
}

/* Also used by the other reports in JSON. */
void report_head_json(const struct report *r, struct json *j)
{
	json_key(j, "sample_type");
	json_str(j, r->type);
	json_key(j, "unit");
	json_str(j, r->unit);
	json_key(j, "total");
	json_int(j, r->total);
	if (r->rate_seconds > 0) {
		json_key(j, "seconds");
		json_double(j, r->rate_seconds);
	}
}

int report_top_json(struct report *r, struct json *j, struct err *err)
{
	struct graph g;
	int rc = report_graph(r, &g, err);

	/*
	 * The document is completed even after an error; the caller then
	 * discards it.
	 */
	json_begin(j, '{');
	report_head_json(r, j);
	if (g.has_base) {
		json_key(j, "total_a");
		json_int(j, r->total_a);
		json_key(j, "total_b");
		json_int(j, r->total_b);
	}
	json_key(j, "rows");
	json_begin(j, '[');
	for (size_t i = 0; i < g.shown.count && !rc; i++)
		top_write_row(r, &g, g.shown.v[i], j);
	json_end(j, ']');
	json_end(j, '}');
	graph_fini(&g);
	return rc;
}
