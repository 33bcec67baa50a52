/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /report: the flame graph and the table of functions. They show one profile,
 * all profiles in a range merged, or the difference between two ranges.
 */

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/mem.h"
#include "base/url.h"
#include "base/xml.h"
#include "pprof/report/flame_svg.h"
#include "pprof/report/report.h"
#include "pprof/report/report_graph.h"
#include "pprof/report/report_text.h"
#include "query/merge/query_merge.h"
#include "query/merge/symbolize.h"
#include "web/pages/page.h"

#define MAX_NODES 6000 /* limit on the frames in the flame graph */
#define ROWS      60   /* limit on the functions in the table */
#define WARNINGS  4    /* limit on the warnings that are shown for one merge */

/* The parameters of the page, parsed. */
struct look {
	struct query_spec source;
	struct query_spec base;
	bool has_base;
	/* Options for merging the profiles. */
	struct query_merge_options gather;
	struct report_options report;
};

/* Whether a parameter is given and not empty. */
static bool page_report_is_given(const struct request *r, const char *name)
{
	struct str s;

	return params_find(&r->params, name, &s) && s.len;
}

/* Parse a time range. The default is the last hour. */
static int parse_times(struct query_spec *s, const struct request *r,
		       const char *from_name, const char *to_name,
		       struct err *err)
{
	struct time_param from = { from_name, NULL,
				   r->params.now_ms - 3600000 };
	struct time_param to = { to_name, NULL, r->params.now_ms };

	s->merged = true;
	return params_times(&r->params, &from, &to, &s->from, &s->to, err);
}

/*
 * Parse which profiles to show: a single profile if the parameter `time` is
 * given, else all profiles in a time range.
 */
static int parse_source(struct look *l, struct request *r, struct err *err)
{
	struct time_param time = { "time", NULL, TIME_REQUIRED };
	struct str text;
	int rc = params_require(&r->params, "query", &text, err);

	if (!rc)
		rc = params_selector("query", text, &l->source.selector, err);
	if (!rc && page_report_is_given(r, "time")) {
		rc = params_time(&r->params, &time, &l->source.time, err);
		query_spec_at(&l->source, l->source.time);
	} else if (!rc) {
		rc = parse_times(&l->source, r, "from", "to", err);
	}
	return rc;
}

/*
 * Parse the base: the profiles with which the source (the profiles to show) is
 * compared. The base may have another time range or another selector than the
 * source, or both.
 */
static int parse_base(struct look *l, struct request *r, struct err *err)
{
	struct str text = { 0 };
	int rc;

	l->has_base = page_report_is_given(r, "base_from") ||
		      page_report_is_given(r, "base_query");
	if (page_report_is_given(r, "base_to") &&
	    !page_report_is_given(r, "base_from"))
		return err_set(err, ERR_INVALID,
			       "parameter \"base_from\" is missing");
	if (!l->has_base)
		return 0;
	/*
	 * Without the parameter base_query, the base has the source's selector.
	 */
	if (!params_find(&r->params, "base_query", &text) || !text.len)
		(void)params_find(&r->params, "query", &text);
	rc = params_selector("base_query", text, &l->base.selector, err);
	if (!rc && page_report_is_given(r, "base_from"))
		return parse_times(&l->base, r, "base_from", "base_to", err);
	l->base.merged = true;
	l->base.from = l->source.from;
	l->base.to = l->source.to;
	return rc;
}

/*
 * Parse all parameters. Fails if there are none; the page then shows only the
 * form.
 */
static int look_parse(struct look *l, struct request *r, struct err *err)
{
	static const char *const names[] = { "sample_index", "focus", "ignore",
					     "granularity" };
	struct str aggregate = { 0 };
	int rc = parse_source(l, r, err);

	if (!rc)
		rc = parse_base(l, r, err);
	report_options_init(&l->report);
	l->report.node_count = ROWS;
	for (size_t i = 0; i < ARRAY_SIZE(names) && !rc; i++) {
		struct str s;

		if (params_find(&r->params, names[i], &s) && s.len)
			rc = report_option(&l->report, str_of(names[i]), s,
					   err);
	}
	(void)params_find(&r->params, "aggregate", &aggregate);
	if (!rc)
		rc = aggregate_parse(aggregate, &l->gather.aggregate, err);
	/* The page shows one sample type, so only this one has to be merged. */
	l->gather.one_type = true;
	l->gather.sample_index = l->report.sample_index;
	return rc;
}

static void look_fini(struct look *l)
{
	query_spec_fini(&l->source);
	query_spec_fini(&l->base);
}

/* The following functions render the page. */

/* Write a select element with the profile's sample types. */
static void page_report_write_types(struct answer *a, const struct report *r)
{
	buf_str(&a->body, "<label>Sample type<select name=sample_index>");
	for (size_t i = 0; i < r->p->types.count; i++)
		page_option(&a->body, pprof_str(r->p, r->p->types.v[i].type),
			    i == r->value);
	buf_str(&a->body, "</select></label>");
}

/* Write a select element with the ways to aggregate profiles. */
static void page_report_write_aggregates(struct answer *a,
					 const struct request *rq)
{
	static const char *const names[] = { "auto", "sum", "delta", "mean",
					     "last" };
	struct str chosen = str_of("auto");

	(void)params_find(&rq->params, "aggregate", &chosen);
	buf_str(&a->body, "<label>Aggregate<select name=aggregate>");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		page_option(&a->body, str_of(names[i]),
			    str_is(chosen, names[i]));
	buf_str(&a->body, "</select></label>");
}

/*
 * Write the form, with the parameters filled in. `r` is NULL when there is no
 * profile to show; the parameter sample_index is then a hidden field.
 */
static void page_report_write_form(struct answer *a, const struct request *rq,
				   const struct report *r)
{
	static const char *const kept[] = { "ignore", "granularity",
					    "base_query" };
	bool single = page_report_is_given(rq, "time");

	buf_str(&a->body, "<form action='/report'>");
	page_field(a, rq, "Selector", "query", "");
	if (single) {
		page_field(a, rq, "Time", "time", "");
	} else {
		page_field(a, rq, "From", "from", "now-1h");
		page_field(a, rq, "To", "to", "now");
	}
	if (r)
		page_report_write_types(a, r);
	if (!single)
		page_report_write_aggregates(a, rq);
	page_field(a, rq, "Focus", "focus", "");
	page_field(a, rq, "Compare with: from", "base_from", "");
	page_field(a, rq, "Compare with: to", "base_to", "");
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		page_hidden(a, rq, kept[i]);
	if (!r)
		page_hidden(a, rq, "sample_index");
	buf_str(&a->body, "<button>Show</button></form>");
}

/* A page that is being written. */
struct view {
	struct answer *a;
	struct request *rq;
	struct look *l;
	struct query_merge source;
	struct query_merge base;
	struct symbolize symbolize;
	/* Warnings about addresses without names; the array ends with NULL. */
	const char *nameless[WARNINGS + 1];
	const char *nonce; /* nonce that allows the script; NULL: no script */
};

/*
 * Show warnings about an incomplete page: profiles were left out, or a filter
 * expression matched no samples.
 */
static void page_report_write_warnings(struct answer *a, struct arena *arena,
				       const struct view *view,
				       const struct report *r)
{
	const char *v[3 * WARNINGS];
	size_t n = query_merge_warnings(&view->source, arena, v, WARNINGS);

	if (view->l->has_base)
		n += query_merge_warnings(&view->base, arena, v + n, WARNINGS);
	for (size_t i = 0; view->nameless[i]; i++)
		v[n++] = view->nameless[i];
	for (size_t i = 0; i < n; i++) {
		buf_str(&a->body, "<section class=error>");
		xml_escape_text(&a->body, str_of(v[i]));
		buf_str(&a->body, "</section>");
	}
	for (size_t i = 0; i < r->unmatched.count; i++)
		buf_printf(&a->body,
			   "<section class=error>%s expression matched no "
			   "samples</section>",
			   r->unmatched.names[i]);
}

/*
 * Write a value as two table cells: the value with its unit, and its share of
 * the total.
 */
static void page_report_write_cell(struct answer *a, const struct report *r,
				   int64_t v)
{
	struct buf value = { 0 };

	report_value(r, v, &value);
	buf_str(&a->body, "<td class=n>");
	xml_escape_text(&a->body, str_from(buf_bytes(&value)));
	buf_fini(&value);
	if (r->total)
		buf_printf(&a->body, "<td class=n>%.2f%%",
			   100 * (double)v / (double)r->total);
	else
		buf_str(&a->body, "<td>");
}

/* Write the table of functions. */
static int page_report_write_table(struct answer *a, struct report *r,
				   struct err *err)
{
	struct graph g;
	int rc = report_graph(r, &g, err);

	if (rc) {
		graph_fini(&g);
		return rc;
	}
	buf_str(&a->body, "<table class=top><tr><th colspan=2>Flat"
			  "<th colspan=2>Cum<th>Function");
	for (size_t i = 0; i < g.shown.count; i++) {
		const struct graph_node *n = &g.node[g.shown.v[i]];
		struct node *node = &r->nodes.v.v[g.shown.v[i]];

		buf_str(&a->body, "<tr>");
		page_report_write_cell(a, r, n->flat);
		page_report_write_cell(a, r, n->cum);
		buf_str(&a->body, "<td><code title=\"");
		xml_escape_text(&a->body, pprof_str(r->p, node->file));
		buf_str(&a->body, "\">");
		xml_escape_text(&a->body, node->text);
		buf_str(&a->body, "</code>");
	}
	buf_str(&a->body, "</table>");
	graph_fini(&g);
	return 0;
}

/*
 * Write the request's parameter `from`, if given, into a link, as &name=value.
 */
static void link_param(struct view *v, const char *name, const char *from)
{
	struct buf *out = &v->a->body;
	struct str s;

	if (!params_find(&v->rq->params, from, &s) || !s.len)
		return;
	buf_printf(out, "&amp;%s=", name);
	url_escape(s, out);
}

/*
 * Write links that download the report in the formats of other tools. For a
 * comparison, no links are written.
 */
static void page_report_write_downloads(struct view *v)
{
	static const char *const reports[] = { "proto", "speedscope", "folded",
					       "flamegraph", "dot" };
	static const char *const same[] = { "aggregate", "sample_index",
					    "focus", "ignore", "granularity" };
	const struct query_spec *s = &v->l->source;
	struct buf *out = &v->a->body;

	if (v->l->has_base)
		return;
	buf_str(out, "<p class=note>");
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
		buf_printf(out,
			   "<a href=\"/api/v1/query?format=text&amp;report=%s"
			   "&amp;mode=%s&amp;from=%" PRId64 "&amp;to=%" PRId64
			   "&amp;time=%" PRId64 "&amp;match=exact",
			   reports[i], s->merged ? "merge" : "single", s->from,
			   s->to, s->merged ? s->time : v->source.ms);
		link_param(v, "query", "query");
		for (size_t k = 0; k < ARRAY_SIZE(same); k++)
			link_param(v, same[k], same[k]);
		buf_printf(out, "\">%s</a> ", reports[i]);
	}
	buf_str(out, "</p>");
}

/* Write the whole content of the page for a report. */
static int page_report_render(struct view *v, struct report *r, struct err *err)
{
	struct answer *a = v->a;
	struct flame f;
	int rc;

	page_report_write_form(a, v->rq, r);
	page_report_write_warnings(a, &v->rq->arena, v, r);
	buf_printf(
		&a->body,
		"<p class=note>%zu profiles of %zu series. Click a "
		"frame to zoom in, double-click to reset the zoom.</p><section>",
		v->source.profiles, v->source.series);
	rc = flame_init(&f, r, FLAME_INWARDS, MAX_NODES, err);
	if (!rc)
		flame_svg(r, &f, &a->body);
	flame_fini(&f);
	buf_str(&a->body, "</section>");
	if (!rc)
		rc = page_report_write_table(a, r, err);
	page_report_write_downloads(v);
	if (v->nonce)
		buf_printf(&a->body, "<script nonce='%s'>%s</script>", v->nonce,
			   flame_script);
	return rc ? rc : query_take_output(&a->work, err);
}

/* Name the addresses of the profile that have no function. */
static int page_report_symbolize(struct view *v, struct pprof *p,
				 struct err *err)
{
	int rc = query_merge_symbolize(&v->source, &v->symbolize, p, err);

	if (!rc)
		(void)symbolize_warnings(&v->symbolize, p, &v->rq->arena,
					 v->nameless, WARNINGS);
	return rc;
}

/* Finish the merges and show the report. */
static int page_report_show(struct view *v, struct err *err)
{
	/*
	 * Keep base and source apart in the profile, so that the flame graph
	 * can show them side by side.
	 */
	const struct merge_diff_options diff = { .label_base = true };
	struct merge *both = merge_new();
	struct pprof *p;
	struct report r;
	int rc = query_merge_finish(&v->source, &p, err);

	if (!rc && v->l->has_base)
		rc = query_merge_subtract(&v->base, both, &diff, &p, err);
	v->l->report.limits = query_merge_limits(&v->source);
	if (!rc && v->l->report.symbolize)
		rc = page_report_symbolize(v, p, err);
	if (!rc)
		rc = report_init(&r, REPORT_TOP, p, &v->l->report, err);
	if (!rc) {
		rc = page_report_render(v, &r, err);
		report_fini(&r);
	}
	merge_free(both);
	return rc;
}

/* Merge the selected profiles and show the report. */
static int gather_and_show(struct web *w, struct view *v, struct err *err)
{
	struct look *l = v->l;
	int rc;

	v->symbolize.symbolizer = w->o.symbolizer;
	query_merge_init(&v->source, w->o.db, &v->a->work, &l->gather);
	query_merge_init(&v->base, w->o.db, &v->a->work, &l->gather);
	rc = query_merge_run(&v->source, &l->source, err);
	if (!rc && l->has_base)
		rc = query_merge_run(&v->base, &l->base, err);
	if (!rc)
		rc = page_report_show(v, err);
	query_merge_fini(&v->source);
	query_merge_fini(&v->base);
	return rc;
}

/*
 * Make a nonce, a random value that the page's own script carries. The browser
 * runs only scripts with this value, so a script that an attacker injects into
 * the page does not run.
 */
static const char *make_nonce(struct request *r)
{
	uint8_t bytes[16] = { 0 };
	char *text = arena_alloc(&r->arena, 2 * sizeof(bytes) + 1);

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return NULL; /* without a nonce, the page has no script */
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return text;
}

void page_report(void *ctx, struct request *r, struct answer *a)
{
	struct look l = { 0 };
	struct view v = { .a = a, .rq = r, .l = &l, .nonce = make_nonce(r) };
	size_t start;
	struct err err;
	int rc = look_parse(&l, r, &err);

	page_begin(a, r, v.nonce);
	start = a->body.len;
	if (!rc)
		rc = gather_and_show(ctx, &v, &err);
	if (rc) {
		a->body.len = start; /* drop the incomplete report */
		page_report_write_form(a, r, NULL);
		/*
		 * A request without parameters only opens the form: that is not
		 * an error.
		 */
		if (r->params.count)
			page_error(a, &err);
		else
			a->status = 200;
	}
	page_end(a);
	look_fini(&l);
}
