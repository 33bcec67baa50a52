/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the call graph in Graphviz' DOT language, with colours and sizes like
 * those of pprof's -dot, and runs Graphviz to draw it as SVG.
 */
#include "pprof/report/report_forms.h"

#include <math.h>

#include "pprof/graph/graphviz.h"
#include "pprof/profile/measure.h"
#include "pprof/report/report.h"
#include "pprof/report/report_graph.h"
#include "pprof/report/report_text.h"

/*
 * Longest name in a drawing, in bytes. Longer names are cut, to keep the
 * drawing legible.
 */
#define NAME_MAX_SHOWN 500

/*
 * Append s to a quoted string of DOT. Line ends become "\l" (left-aligned),
 * control characters are removed and invalid UTF-8 becomes U+FFFD, because dot
 * refuses it. The output is bounded.
 */
static void dot_escape(struct str s, struct buf *out)
{
	size_t end = out->len + (size_t)4 * NAME_MAX_SHOWN + 4096;

	while (s.len && out->len < end) {
		size_t n = str_utf8_len(s);
		char c = *s.ptr;

		if (c == '"' || c == '\\')
			buf_byte(out, '\\');
		if (c == '\n')
			buf_str(out, "\\l");
		else if (!n)
			buf_str(out, "\xef\xbf\xbd");
		else if ((unsigned char)c >= ' ')
			buf_add(out, s.ptr, n);
		s.ptr += n ? n : 1;
		s.len -= n ? n : 1;
	}
}

/* Print a name, cut to NAME_MAX_SHOWN bytes. */
static void dot_print_name(struct str name, struct buf *out)
{
	if (name.len > NAME_MAX_SHOWN)
		name.len = NAME_MAX_SHOWN;
	dot_escape(name, out);
}

/*
 * The absolute value of `v` as a fraction of the report's total, which may
 * exceed 1; 0 if the total is 0.
 */
static double dot_compute_share(const struct report *r, int64_t v)
{
	return r->total ? fabs((double)v / (double)r->total) : 0;
}

/*
 * Append a colour for `v`: grey for a small share of the total, more red for a
 * larger share, and green for negative values. `light` (0 to 255) is the
 * brightness of the grey.
 */
static void dot_pick_color(const struct report *r, int64_t v, double light,
			   struct buf *out)
{
	double strength = pow(dot_compute_share(r, v), 0.4);
	int strong = (int)(light + (255 - light) * 0.2);
	int weak = (int)(light - light * 0.75 * strength);

	if (strength > 1)
		weak = (int)(light * 0.25);
	if (v < 0)
		buf_printf(out, "#%02x%02x%02x", weak, strong, weak);
	else
		buf_printf(out, "#%02x%02x%02x", strong, weak, weak);
}

/* Print v as a percentage of the total: " (12.3%)". */
static void dot_print_percentage(const struct report *r, int64_t v,
				 struct buf *out)
{
	struct buf text = { 0 };
	struct str s;

	measure_percentage(&text, v, r->total);
	s = str_trim(str_from(buf_bytes(&text)));
	buf_printf(out, " (%.*s)", STR_ARG(s));
	buf_fini(&text);
}

/*
 * Print a value with its unit. Units come from untrusted profiles, so they are
 * escaped, too.
 */
static void dot_print_value(const struct report *r, int64_t v, struct buf *out)
{
	struct buf text = { 0 };

	report_value(r, v, &text);
	dot_escape(str_from(buf_bytes(&text)), out);
	buf_fini(&text);
}

/*
 * Print one node: name, flat and cumulative value. The font grows with the
 * square root of the flat value, so that the area of the text is roughly
 * proportional to the value.
 */
static void dot_print_node(const struct report *r, const struct graph *g,
			   uint32_t number, int64_t max_flat, struct buf *out)
{
	uint32_t node = g->shown.v[number];
	const struct graph_node *n = &g->node[node];
	struct str name = r->nodes.v.v[node].text;
	int64_t flat = graph_mean(n->flat, n->flat_div);
	int64_t cum = graph_mean(n->cum, n->cum_div);
	double size = 8;

	if (max_flat && flat)
		size += ceil(16 * sqrt(fabs((double)flat / (double)max_flat)));
	buf_printf(out, "N%u [label=\"", number + 1);
	dot_print_name(name, out);
	buf_str(out, "\\n");
	dot_print_value(r, flat, out);
	dot_print_percentage(r, flat, out);
	if (cum != flat) {
		buf_str(out, "\\nof ");
		dot_print_value(r, cum, out);
		dot_print_percentage(r, cum, out);
	}
	buf_printf(out, "\" shape=box fontsize=%.0f tooltip=\"", size);
	dot_print_name(name, out);
	buf_str(out, "\" color=\"");
	dot_pick_color(r, cum, 178, out);
	buf_str(out, "\" fillcolor=\"");
	dot_pick_color(r, cum, 237, out);
	buf_str(out, "\"]\n");
}

/*
 * Print one edge. A dotted edge stands for calls through nodes that are not
 * shown.
 */
static void dot_print_edge(const struct report *r, const struct graph_edge *e,
			   const uint32_t *numbers, struct buf *out)
{
	double part = dot_compute_share(r, e->weight);

	buf_printf(out, "N%u -> N%u [label=\" ", numbers[e->from] + 1,
		   numbers[e->to] + 1);
	dot_print_value(r, e->weight, out);
	buf_printf(out, "%s\" weight=%d penwidth=%d color=\"",
		   e->inlined ? "\\n (inline)" : "",
		   1 + (int)(fmin(part, 1) * 100),
		   1 + (int)(fmin(part, 1) * 5));
	dot_pick_color(r, e->weight, 178, out);
	buf_printf(out, "\"%s]\n", e->residual ? " style=\"dotted\"" : "");
}

/* Print a box with the heading that a text report has. */
static void print_legend(const struct report *r, const struct graph *g,
			 struct buf *out)
{
	struct buf text = { 0 };

	report_graph_labels(r, g, true, &text);
	buf_str(out,
		"subgraph cluster_L { \"legend\" [shape=box fontsize=16 label=\"");
	dot_escape(str_from(buf_bytes(&text)), out);
	buf_str(out, "\"] }\n");
	buf_fini(&text);
}

/* What is drawn: the shown nodes and their edges, in the order of the nodes. */
struct drawing {
	VEC(const struct graph_edge *) edges; /* of each node, heaviest first */
	uint32_t *numbers; /* by node: its place among the shown nodes */
};

static void drawing_init(struct drawing *d, const struct report *r,
			 const struct graph *g)
{
	*d = (struct drawing){ 0 };
	d->numbers = mem_zalloc(r->nodes.v.count, sizeof(*d->numbers));
	for (uint32_t i = 0; i < g->shown.count; i++) {
		struct pprof_run out = g->node[g->shown.v[i]].out;

		d->numbers[g->shown.v[i]] = i;
		for (uint32_t k = 0; k < out.count; k++) {
			const struct graph_edge *e =
				&g->edges.v[g->lists.v[out.first + k]];

			if (g->node[e->to].shown)
				*vec_add(&d->edges) = e;
		}
	}
}

static void drawing_fini(struct drawing *d)
{
	vec_fini(&d->edges);
	mem_free(d->numbers);
}

/* Unlike pprof, does not draw the labels of samples (docs/decisions.md, 39). */
int report_dot(struct report *r, struct buf *out, struct err *err)
{
	struct graph g;
	struct drawing d;
	int64_t max_flat = 0;
	int rc = report_graph(r, &g, err);

	if (rc) {
		graph_fini(&g);
		return rc;
	}
	buf_str(out, "digraph \"everprof\" {\n"
		     "node [style=filled fillcolor=\"#f8f8f8\"]\n");
	print_legend(r, &g, out);
	/* Font sizes are relative to the largest flat value. */
	for (size_t i = 0; i < g.shown.count; i++) {
		const struct graph_node *n = &g.node[g.shown.v[i]];
		int64_t flat = graph_abs(graph_mean(n->flat, n->flat_div));

		max_flat = flat > max_flat ? flat : max_flat;
	}
	for (uint32_t i = 0; i < g.shown.count; i++)
		dot_print_node(r, &g, i, max_flat, out);
	drawing_init(&d, r, &g);
	for (size_t i = 0; i < d.edges.count; i++)
		dot_print_edge(r, d.edges.v[i], d.numbers, out);
	drawing_fini(&d);
	buf_str(out, "}\n");
	graph_fini(&g);
	return report_size(out, err);
}

int report_svg(struct report *r, struct buf *out, struct err *err)
{
	struct buf dot = buf_init(out->max);
	int rc = report_dot(r, &dot, err);

	if (!rc)
		rc = graphviz_svg(buf_bytes(&dot), out, err);
	buf_fini(&dot);
	return rc;
}

/* Write one node. */
static void calls_write_node(const struct report *r, const struct graph *g,
			     uint32_t node, struct json *j)
{
	const struct graph_node *n = &g->node[node];

	json_begin(j, '{');
	json_key(j, "name");
	json_str(j, r->nodes.v.v[node].text);
	json_key(j, "file");
	json_str(j, pprof_str(r->p, r->nodes.v.v[node].file));
	json_key(j, "flat");
	json_int(j, graph_mean(n->flat, n->flat_div));
	json_key(j, "cum");
	json_int(j, graph_mean(n->cum, n->cum_div));
	json_end(j, '}');
}

/* Write one edge; `numbers` has the number of each node in the answer. */
static void calls_write_edge(const struct graph_edge *e,
			     const uint32_t *numbers, struct json *j)
{
	json_begin(j, '{');
	json_key(j, "from");
	json_int(j, numbers[e->from]);
	json_key(j, "to");
	json_int(j, numbers[e->to]);
	json_key(j, "weight");
	json_int(j, graph_mean(e->weight, e->weight_div));
	json_key(j, "inline");
	json_bool(j, e->inlined);
	json_key(j, "residual");
	json_bool(j, e->residual);
	json_end(j, '}');
}

int report_calls_json(struct report *r, struct json *j, struct err *err)
{
	struct graph g;
	struct drawing d;
	int rc = report_graph(r, &g, err);

	if (rc) {
		graph_fini(&g);
		return rc;
	}
	drawing_init(&d, r, &g);
	json_begin(j, '{');
	report_head_json(r, j);
	json_key(j, "nodes");
	json_begin(j, '[');
	for (uint32_t i = 0; i < g.shown.count; i++)
		calls_write_node(r, &g, g.shown.v[i], j);
	json_end(j, ']');
	json_key(j, "edges");
	json_begin(j, '[');
	for (size_t i = 0; i < d.edges.count; i++)
		calls_write_edge(d.edges.v[i], d.numbers, j);
	json_end(j, ']');
	json_end(j, '}');
	drawing_fini(&d);
	graph_fini(&g);
	return 0;
}
