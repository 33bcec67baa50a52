/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "pprof/flame_svg.h"
#include "pprof/measure.h"
#include "pprof/tagroot.h"

#define NODE_COUNT 80 /* as pprof's */
#define DRAWN_MAX  2000
#define STEPS_MAX  ((uint64_t)400 * 1000 * 1000)
#define FILTER_MAX 80 /* bytes of a filter that are shown */

#define TEXT "text/plain; charset=utf-8"

static const struct report_type types[] = {
	{ "top", REPORT_TOP, TEXT, NULL, report_top_text, report_top_json },
	{ "tree", REPORT_TREE, TEXT, NULL, report_tree_text, NULL },
	{ "peek", REPORT_PEEK, TEXT, NULL, report_tree_text, NULL },
	{ "traces", REPORT_TRACES, TEXT, NULL, report_traces_text, NULL },
	{ "folded", REPORT_FOLDED, TEXT, NULL, report_folded, NULL },
	{ "flamegraph", REPORT_FLAMEGRAPH, "image/svg+xml", NULL,
	  report_flamegraph_svg, report_flamegraph_json },
	{ "speedscope", REPORT_SPEEDSCOPE, "application/json",
	  "everprof.speedscope.json", report_speedscope, NULL },
	{ "dot", REPORT_DOT, "text/vnd.graphviz; charset=utf-8", NULL,
	  report_dot, NULL },
	{ "svg", REPORT_DOT, "image/svg+xml", NULL, report_svg, NULL },
	{ "source", REPORT_SOURCE, TEXT, NULL, report_source, NULL },
};

int report_unknown(struct str name, const char *others, struct err *err)
{
	struct buf names = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		buf_printf(&names, "%s ", types[i].name);
	err_set(err, ERR_INVALID, "there is no report \"%.*s\": there are %s%s",
		STR_ARG(name), buf_cstr(&names), others);
	buf_fini(&names);
	return ERR_INVALID;
}

const struct report_type *report_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (str_is(name, types[i].name))
			return &types[i];
	}
	return NULL;
}

int report_size(const struct buf *out, struct err *err)
{
	return out->over ? err_set(err, ERR_TOOBIG,
				   "the report is larger than %zu bytes",
				   out->max) :
			   0;
}

/* Making a report. */

int64_t report_weight(const struct report *r, size_t sample)
{
	return pprof_values(r->p, sample)[r->value];
}

bool report_is_base(const struct pprof *p, size_t sample)
{
	struct pprof_run set = p->label_sets.v[p->samples.v[sample].labels];

	for (uint32_t i = 0; i < set.count; i++) {
		const struct pprof_label *l = &p->labels.v[set.first + i];

		if (!l->is_number &&
		    str_is(pprof_str(p, l->key), PPROF_BASE_KEY) &&
		    str_is(pprof_str(p, l->str), PPROF_BASE_VALUE))
			return true;
	}
	return false;
}

/* All values without their signs; of a diff's base alone, if there is one. */
static int64_t sum_total(const struct report *r)
{
	const struct pprof *p = r->p;
	int64_t total = 0;
	int64_t div = 0;
	int64_t base_total = 0;
	int64_t base_div = 0;

	for (size_t i = 0; i < p->samples.count; i++) {
		int64_t v = graph_abs(report_weight(r, i));
		int64_t d = r->o->mean ? pprof_values(p, i)[0] : 0;

		total = wrap_add(total, v);
		div = wrap_add(div, d);
		if (report_is_base(p, i)) {
			base_total = wrap_add(base_total, v);
			base_div = wrap_add(base_div, d);
		}
	}
	return base_total > 0 ? graph_mean(base_total, base_div) :
				graph_mean(total, div);
}

static int apply_filters(struct report *r, struct err *err)
{
	const struct report_options *o = r->o;
	int rc = filter_names(r->p, &o->names, &o->effort, &r->unmatched, err);

	if (!rc)
		rc = filter_tags(r->p, &o->tags, &r->units, &r->unmatched,
				 &o->effort, err);
	if (!rc)
		rc = filter_tag_names(r->p, &o->tags, err);
	if (!rc)
		rc = filter_prune_from(r->p, o->prune_from, &o->effort, err);
	return rc;
}

static int prepare(struct report *r, struct err *err)
{
	bool rooted = true;
	int rc = filter_uninteresting(r->p, &r->o->effort, err);

	if (rc)
		return rc;
	tag_units_find(r->p, &r->units);
	if (r->o->tagroot.len)
		rc = pprof_tagroot(r->p, r->o->tagroot, r->out_unit,
				   &r->o->effort, &rooted, err);
	if (!rooted)
		r->unmatched.names[r->unmatched.count++] = "tagroot";
	if (!rc && r->o->relative)
		rc = apply_filters(r, err);
	if (rc)
		return rc;
	r->total = sum_total(r);
	return r->o->relative ? 0 : apply_filters(r, err);
}

/*
 * Locations may have thousands of inlined lines, and stacks thousands of such
 * locations: what a few kilobytes describe would take for ever to walk.
 */
static int check_steps(const struct report *r, struct err *err)
{
	const struct pprof *p = r->p;
	uint64_t steps = 0;
	int rc = 0;

	for (size_t i = 0; i < p->samples.count && !rc; i++) {
		const struct pprof_run *s = pprof_stack(p, i);

		for (uint32_t k = 0; k < s->count; k++)
			steps += r->nodes.locations.v[p->frames.v[s->first + k]]
					 .count;
		if (steps > STEPS_MAX)
			rc = err_set(
				err, ERR_LIMIT,
				"the profile's stacks have more than %" PRIu64
				" frames",
				STEPS_MAX);
	}
	return rc;
}

int report_init(struct report *r, enum report_kind kind, struct pprof *p,
		const struct report_options *o, struct err *err)
{
	int rc;

	*r = (struct report){ .p = p, .o = o, .kind = kind };
	rc = pprof_type_index(p, o->sample_index, &r->value, err);
	if (rc)
		return rc;
	r->type = pprof_str(p, p->types.v[r->value].type);
	r->unit = pprof_str(p, p->types.v[r->value].unit);
	r->out_unit = o->unit.len ? o->unit : str_of("minimum");
	if (o->unit.len && !str_eq(o->unit, r->unit) &&
	    !measure_is_unit(o->unit))
		return err_set(
			err, ERR_INVALID,
			"unit: there is no unit \"%.*s\": B kB MB GB TB, ns us ms s hrs, count, minimum",
			STR_ARG(o->unit));
	rc = pprof_tagroot_check(o->tagroot, "tagroot", err);
	if (rc)
		return rc;
	if (o->divide_by == 0)
		return err_set(err, ERR_INVALID, "divide_by must not be 0");
	rc = prepare(r, err);
	if (!rc) {
		nodes_init(&r->nodes, p,
			   kind == REPORT_SOURCE ? GRANULARITY_LINES :
						   o->granularity,
			   o->noinlines);
		rc = check_steps(r, err);
	}
	if (!rc)
		rc = effort_spend(&o->effort, report_memory(r), err);
	if (rc)
		report_fini(r);
	return rc;
}

void report_fini(struct report *r)
{
	nodes_fini(&r->nodes);
	tag_units_fini(&r->units);
}

size_t report_memory(const struct report *r)
{
	return nodes_memory(&r->nodes) + r->units.count * sizeof(uint32_t);
}

/* Text. */

static int64_t divided(const struct report *r, int64_t v)
{
	double ratio = 1 / r->o->divide_by;

	return ratio > 0 && ratio != 1 ? measure_integer((double)v * ratio) : v;
}

void report_value(const struct report *r, int64_t v, struct buf *out)
{
	measure_label(out, divided(r, v), r->unit, r->out_unit);
}

void report_pad(struct str s, int width, struct buf *out)
{
	for (size_t i = 0; i < s.len; i++)
		width -= (s.ptr[i] & 0xc0) != 0x80;
	for (; width > 0; width--)
		buf_byte(out, ' ');
	buf_add(out, s.ptr, s.len);
}

void report_value_column(const struct report *r, int64_t v, int width,
			 struct buf *out)
{
	struct buf text = { 0 };

	report_value(r, v, &text);
	report_pad(str_from(buf_bytes(&text)), width, out);
	buf_fini(&text);
}

void report_weight_columns(const struct report *r, int64_t flat, int64_t cum,
			   int64_t *sum, struct buf *out)
{
	*sum = wrap_add(*sum, flat);
	report_value_column(r, flat, 10, out);
	buf_byte(out, ' ');
	measure_percentage(out, flat, r->total);
	buf_byte(out, ' ');
	measure_percentage(out, *sum, r->total);
	buf_byte(out, ' ');
	report_value_column(r, cum, 10, out);
	buf_byte(out, ' ');
	measure_percentage(out, cum, r->total);
}

/* "name: text", the text as it is: it may hold a NUL. */
static void print_label(const char *name, struct str text, struct buf *out)
{
	buf_str(out, name);
	buf_add(out, text.ptr, text.len);
	buf_byte(out, '\n');
}

/* "Jan 2, 2006 at 3:04pm (UTC)" */
static void print_time(int64_t ns, struct buf *out)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t t = (time_t)(ns / 1000000000 - (ns % 1000000000 < 0));
	struct tm tm;

	gmtime_r(&t, &tm);
	buf_printf(out, "Time: %.3s %d, %d at %d:%02d%s (UTC)\n",
		   months + 3 * (size_t)tm.tm_mon, tm.tm_mday,
		   tm.tm_year + 1900, (tm.tm_hour + 11) % 12 + 1, tm.tm_min,
		   tm.tm_hour < 12 ? "am" : "pm");
}

static void print_duration(const struct report *r, struct buf *out)
{
	struct str unit;
	double total =
		measure_scale(r->total, r->unit, str_of("nanoseconds"), &unit);

	buf_str(out, "Duration: ");
	measure_label(out, r->p->duration_ns, str_of("nanoseconds"),
		      str_of("auto"));
	buf_str(out, ", Total samples = ");
	report_value(r, r->total, out);
	buf_byte(out, ' ');
	if (str_is(unit, "ns") && total != 0) {
		buf_byte(out, '(');
		measure_percentage(out, measure_integer(total),
				   r->p->duration_ns);
		buf_byte(out, ')');
	}
	buf_byte(out, '\n');
}

void report_profile_labels(const struct report *r, struct buf *out)
{
	const struct pprof *p = r->p;
	struct str s;

	if (p->mappings.count) {
		s = pprof_str(p, p->mappings.v[0].file);
		if (s.len)
			print_label("File: ", pprof_base_name(s), out);
		s = pprof_str(p, p->mappings.v[0].build_id);
		if (s.len)
			print_label("Build ID: ", s, out);
	}
	for (size_t i = 0; i < p->comments.count; i++) {
		s = pprof_str(p, p->comments.v[i]);
		if (!str_starts(s, str_of("#")))
			print_label("", s, out);
	}
	if (r->type.len)
		print_label(r->o->mean ? "Type: mean_" : "Type: ", r->type,
			    out);
	if (p->time_ns)
		print_time(p->time_ns, out);
	if (p->duration_ns)
		print_duration(r, out);
}

static void print_filters(const struct report *r, struct buf *out)
{
	const struct report_options *o = r->o;
	const struct {
		const char *name;
		struct str text;
	} filters[] = {
		{ "focus", o->names.focus },
		{ "ignore", o->names.ignore },
		{ "hide", o->names.hide },
		{ "show", o->names.show },
		{ "show_from", o->names.show_from },
		{ "tagfocus", o->tags.focus },
		{ "tagignore", o->tags.ignore },
		{ "tagshow", o->tags.show },
		{ "taghide", o->tags.hide },
	};
	const char *title = "Active filters:\n";

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		struct buf line = { 0 };

		if (!filters[i].text.len)
			continue;
		buf_printf(&line, "%s=%.*s", filters[i].name,
			   STR_ARG(filters[i].text));
		if (line.len > FILTER_MAX) {
			line.len = FILTER_MAX;
			buf_str(&line, "\u2026");
		}
		buf_printf(out, "%s   %s\n", title, buf_cstr(&line));
		title = "";
		buf_fini(&line);
	}
}

static void print_dropped(const struct report *r, size_t count,
			  const char *what, const char *by, double fraction,
			  struct buf *out)
{
	if (!count)
		return;
	buf_printf(out, "Dropped %zu %s%s (%s <= ", count, what,
		   count > 1 ? "s" : "", by);
	report_value(r, graph_abs(measure_integer((double)r->total * fraction)),
		     out);
	buf_str(out, ")\n");
}

static void print_percentage(int64_t v, int64_t total, struct buf *out)
{
	struct buf text = { 0 };
	struct str s;

	measure_percentage(&text, v, total);
	s = str_trim(str_from(buf_bytes(&text)));
	buf_add(out, s.ptr, s.len);
	buf_fini(&text);
}

void report_graph_labels(const struct report *r, const struct graph *g,
			 bool full, struct buf *out)
{
	size_t count = g->shown.count;
	int64_t flat = 0;

	report_profile_labels(r, out);
	for (size_t i = 0; i < count; i++) {
		const struct graph_node *n = &g->node[g->shown.v[i]];

		flat = wrap_add(flat, graph_mean(n->flat, n->flat_div));
	}
	print_filters(r, out);
	buf_str(out, "Showing nodes accounting for ");
	report_value(r, flat, out);
	buf_str(out, ", ");
	print_percentage(flat, r->total, out);
	buf_str(out, " of ");
	report_value(r, r->total, out);
	buf_str(out, " total\n");
	if (!r->total)
		return;
	print_dropped(r, g->dropped_nodes, "node", "cum", r->o->node_fraction,
		      out);
	if (full)
		print_dropped(r, g->dropped_edges, "edge", "freq",
			      r->o->edge_fraction, out);
	if (count && count < g->original_count)
		buf_printf(out, "Showing top %zu nodes out of %zu\n", count,
			   g->original_count);
}

/* The graph. */

static int64_t node_count(const struct report *r)
{
	int64_t count = r->o->node_count;

	if (count < 0)
		count = r->kind == REPORT_TOP ? 0 : NODE_COUNT;
	/* Nobody looks at more in a drawing, and dot takes hours for it. */
	if (r->kind == REPORT_DOT && (!count || count > DRAWN_MAX))
		count = DRAWN_MAX;
	return count;
}

/* The smallest value that is to be printed. */
static int64_t smallest(const struct graph *g)
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

/* One unit for all values, so that the smallest one is still legible. */
static void choose_unit(struct report *r, const struct graph *g)
{
	struct str minimum = str_of("minimum");
	int64_t min;
	int64_t max;
	struct str min_unit;
	struct str max_unit;

	if (!str_is(r->out_unit, "minimum") || !g->shown.count)
		return;
	min = smallest(g);
	min = divided(r, min ? min : r->total);
	max = divided(r, r->total);
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
		.effort = &o->effort,
		.order = r->kind == REPORT_DOT ? GRAPH_ENTROPY :
			 o->cum                ? GRAPH_CUM :
						 GRAPH_FLAT,
	};

	if (r->kind == REPORT_DOT)
		go.node_count = node_count(r);
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
