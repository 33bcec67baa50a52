/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain pages: /profiles lists series and the times of their profiles, with
 * links to reports and downloads; /targets lists the targets. The server renders
 * them; they contain no scripts.
 */
#include "web/pages/page.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "base/url.h"
#include "base/xml.h"
#include "model/selector.h"
#include "query/select/string_set.h"
#include "web/api/envelope.h"

#define SERIES_SHOWN 200
/* for each series, this many of its newest profiles are shown */
#define TIMES_SHOWN 120
#define TYPES_SHOWN 200

/* HTML at the start of every page, up to the links to other pages. */
static const char head[] =
	"<!doctype html><html lang=en><meta charset=utf-8>"
	"<meta name=viewport content='width=device-width'>"
	"<title>everprof</title><style>"
	"body{font:15px/1.5 system-ui,sans-serif;margin:0;color:#1d2733;"
	"background:#f6f7f9}"
	"header{background:#1d2733;color:#fff;padding:.6em 1.2em}"
	"header a{color:#fff;margin-right:1.4em;text-decoration:none}"
	"header b{margin-right:1.6em}"
	"main{padding:1em 1.2em;max-width:78em}"
	"form{display:flex;flex-wrap:wrap;gap:.6em;align-items:end;"
	"margin-bottom:1em}"
	"label{display:flex;flex-direction:column;font-size:.8em;color:#5b6775}"
	"input,select,button{font:inherit;padding:.3em .5em;"
	"border:1px solid #b9c2cc;border-radius:4px;background:#fff}"
	"input[name=query]{width:26em;font-family:monospace}"
	"td.n{text-align:right;white-space:nowrap;"
	"font-variant-numeric:tabular-nums}"
	"button{background:#2866c7;color:#fff;border-color:#2866c7}"
	"section{background:#fff;border:1px solid #dde2e8;border-radius:6px;"
	"padding:.6em .9em;margin:.7em 0}"
	"code{font:13px/1.5 monospace;word-break:break-all}"
	".times{font:13px/1.7 monospace;margin-top:.4em}"
	".times span{margin-right:1.2em;white-space:nowrap}"
	".error{background:#fdecea;border-color:#f3b6b0}"
	".note{color:#5b6775}"
	"table{border-collapse:collapse;background:#fff;width:100%}"
	"th,td{text-align:left;padding:.3em .6em;"
	"border-bottom:1px solid #dde2e8;vertical-align:top}"
	".up{color:#18794e}.down{color:#b42318}"
	"</style><header><b>everprof</b>";

/* The links of a server without the web UI, which has only plain pages. */
static const char plain_links[] = "<a href='/profiles'>Profiles</a>"
				  "<a href='/targets'>Targets</a>"
				  "<a href='/senders'>Senders</a>"
				  "<a href='/remote_write'>Remote write</a>"
				  "<a href='/metrics'>Metrics</a>";

/* The links of the web UI (web/ui/pages/header.tsx). */
static const char ui_links[] = "<a href='/'>Explore</a>"
			       "<a href='/compare'>Compare</a>"
			       "<a href='/adhoc'>Files</a>"
			       "<a href='/targets'>Targets</a>"
			       "<a href='/status'>Status</a>";

void page_begin(struct answer *a, const struct request *r)
{
	a->status = 200;
	a->content_type = "text/html; charset=utf-8";
	/*
	 * Scripts and loading anything are forbidden, so that a name from a
	 * profile cannot act as a script.
	 */
	answer_header(a, "Content-Security-Policy",
		      "default-src 'none'; style-src 'unsafe-inline'; "
		      "form-action 'self'; base-uri 'none'; "
		      "frame-ancestors 'none'");
	answer_header(a, "Referrer-Policy", "no-referrer");
	buf_str(&a->body, head);
	buf_str(&a->body, r->has_ui ? ui_links : plain_links);
	buf_str(&a->body, "</header><main>");
}

/* The value of a parameter, or `fallback` when the parameter is missing. */
static struct str param_or(const struct request *r, const char *name,
			   const char *fallback)
{
	struct str s;

	return params_find(&r->params, name, &s) ? s : str_of(fallback);
}

/* The parameters of the form of /profiles, parsed. */
struct view {
	struct str type;
	struct str query;
	struct selector parsed;
	int64_t from;
	int64_t to;
};

/* Parse the form's parameters. An empty selector matches everything. */
static int view_parse(const struct request *r, struct view *v, struct err *err)
{
	int rc = 0;

	v->type = param_or(r, "type", "");
	v->query = str_trim(param_or(r, "query", ""));
	if (v->query.len && !str_is(v->query, "{}"))
		rc = params_selector("query", v->query, &v->parsed, err);
	if (!rc)
		rc = params_range(&r->params, r->params.now_ms - 3600000,
				  r->params.now_ms, &v->from, &v->to, err);
	return rc;
}

void page_end(struct answer *a)
{
	buf_str(&a->body, "</main></html>");
}

/*
 * Write a labelled input: <label>…<input name=…>. Its value is the request's
 * parameter of this name, or `fallback` when the parameter is missing.
 */
static void put_field(struct answer *a, const struct request *r,
		      const char *label, const char *name, const char *fallback)
{
	struct buf *b = &a->body;

	buf_printf(b, "<label>%s<input name=%s value=\"", label, name);
	xml_escape(b, param_or(r, name, fallback));
	buf_str(b, "\"></label>");
}

/* Write an option of a select element. */
static void put_option(struct buf *b, struct str name, bool chosen)
{
	buf_printf(b, "<option%s>", chosen ? " selected" : "");
	xml_escape(b, name);
	buf_str(b, "</option>");
}

/* Callback for each stored profile type: add the type to the set `ctx`. */
static void add_type(void *ctx, struct str type)
{
	string_set_add(ctx, type);
}

/*
 * Write the form, with the parameters filled in, and the list of stored profile
 * types.
 */
static void page_write_form(struct web *w, const struct request *r,
			    const struct view *v, struct answer *a)
{
	struct buf *b = &a->body;
	struct string_set types = { 0 };
	struct querier *q;

	buf_str(b,
		"<form action='/profiles'><label>Profile type<select name=type>"
		"<option value=''>any</option>");
	query_open(&a->work, w->o.db, &q);
	/* If time runs out, the list is incomplete, and the page says why. */
	(void)!querier_texts(q, str_of(LABEL_NAME), INT64_MIN, INT64_MAX,
			     add_type, &types, NULL);
	string_set_sort(&types);
	for (size_t i = 0; i < types.count && i < TYPES_SHOWN; i++)
		put_option(b, types.v[i].text,
			   str_eq(types.v[i].text, v->type));
	buf_str(b, "</select></label>");
	put_field(a, r, "Selector, such as {job=\"app\"}", "query", "");
	put_field(a, r, "From", "from", "now-1h");
	put_field(a, r, "To", "to", "now");
	buf_str(b, "<button>Show</button></form>");
	string_set_fini(&types);
	querier_close(q);
}

/* Write a link to a report of the API. `when` has the parameters of the time. */
static void report_link(struct buf *b, struct str selector, const char *when,
			const char *report, const char *text)
{
	buf_str(b, "<a href=\"/api/v1/query?query=");
	url_escape(selector, b);
	buf_printf(b, "&amp;%s&amp;report=%s\">%s</a> ", when, report, text);
}

/* Write links to the flame graph of one profile, and to its bytes. */
static void profile_links(struct buf *b, struct str selector, int64_t ms)
{
	char when[80];
	char time[40];
	char text[40];

	time_format(ms, time);
	snprintf(text, sizeof(text), "%.10s %.12s", time, time + 11);
	snprintf(when, sizeof(when), "time=%" PRId64 "&amp;match=exact", ms);
	buf_printf(b, "<span title=\"%" PRId64 "\">", ms);
	report_link(b, selector, when, "flamegraph&amp;format=text", text);
	report_link(b, selector, when, "raw", "download");
	buf_str(b, "</span>");
}

/* Write links to reports of all profiles of a series in the range. */
static void series_links(struct buf *b, struct str selector,
			 const struct view *v)
{
	char when[80];

	snprintf(when, sizeof(when), "from=%" PRId64 "&amp;to=%" PRId64,
		 v->from, v->to);
	report_link(b, selector, when, "flamegraph&amp;format=text",
		    "Flame graph of all");
	report_link(b, selector, when, "top&amp;format=text", "functions");
	report_link(b, selector, when, "proto", "download");
}

/* Write one series with links to its newest profiles. */
static void series_section(struct buf *b, struct labels *labels,
			   const struct view *v, const struct times_view *t)
{
	struct buf selector = { 0 };
	size_t shown = t->count < TIMES_SHOWN ? t->count : TIMES_SHOWN;
	struct str text;

	labels_text(labels, &selector);
	text = str_from(buf_bytes(&selector));
	buf_str(b, "<section><code>");
	xml_escape_text(b, text);
	buf_printf(b, "</code> <span class=note>%zu profiles%s</span> ",
		   t->count,
		   shown < t->count ? ", only the newest are shown" : "");
	series_links(b, text, v);
	buf_str(b, "<div class=times>");
	for (size_t i = 0; i < shown; i++)
		profile_links(b, text, t->ms[t->count - 1 - i]);
	buf_str(b, "</div></section>");
	buf_fini(&selector);
}

/*
 * Write the selected series that have profiles. When there are none, write a
 * likely reason.
 */
static int page_write_sections(const struct view *v, struct querier *q,
			       struct answer *a, struct err *err)
{
	size_t shown = 0;
	int rc = 0;

	for (size_t i = 0; i < querier_count(q) && !rc; i++) {
		struct times_view t = { 0 };

		if (shown == SERIES_SHOWN) {
			buf_printf(&a->body,
				   "<p class=note>%zu further series are not "
				   "shown: narrow the selector.</p>",
				   querier_count(q) - i);
			break;
		}
		rc = query_check_deadline(&a->work, err);
		if (!rc)
			rc = querier_times(q, i, v->from, v->to, &t, err);
		if (rc || !t.count)
			continue;
		series_section(&a->body, querier_labels(q, i), v, &t);
		shown++;
		rc = query_take_output(&a->work, err);
	}
	if (!rc && !shown)
		buf_str(&a->body,
			"<p class=note>No profiles match in this time range. The first profiles appear one scrape interval after the start. <a href='/targets'>Targets</a> shows why a target is down.</p>");
	return rc;
}

/*
 * Show an error within a page, and set the HTTP status to the status for the
 * error.
 */
static void put_error(struct answer *a, const struct err *err)
{
	(void)answer_status(a, err);
	buf_str(&a->body, "<section class=error>");
	xml_escape_text(&a->body, str_of(err->msg));
	buf_str(&a->body, "</section>");
}

void page_missing(struct request *r, struct answer *a)
{
	struct err err;

	err_set(&err, ERR_NOTFOUND,
		"path not found; /api/v1/status/routes lists all paths");
	if (!r->accepts_html) {
		answer_error(a, &err);
		return;
	}
	page_begin(a, r);
	put_error(a, &err);
	page_end(a);
}

void page_index(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct view v = { 0 };
	struct matcher *all;
	struct querier *q;
	size_t count = 0;
	struct err err;
	int rc = view_parse(r, &v, &err);

	page_begin(a, r);
	/*
	 * Write the form even if the parameters are wrong, so that the user can
	 * correct them.
	 */
	page_write_form(w, r, &v, a);
	if (!rc) {
		all = arena_array(&r->arena, struct matcher,
				  v.parsed.count + 1);
		for (; count < v.parsed.count; count++)
			all[count] = v.parsed.matchers[count];
		/* Add a matcher for the chosen profile type to the selector. */
		if (v.type.len)
			all[count++] =
				(struct matcher){ .op = MATCH_EQ,
						  .name = str_of(LABEL_NAME),
						  .value = v.type };
		query_open(&a->work, w->o.db, &q);
		rc = query_select(&a->work, q, all, count, v.from, v.to, &err);
		if (!rc)
			rc = page_write_sections(&v, q, a, &err);
		querier_close(q);
	}
	if (rc)
		put_error(a, &err);
	page_end(a);
	selector_fini(&v.parsed);
}

void page_time(struct buf *b, int64_t ms)
{
	char when[40] = "never";

	if (ms)
		time_format(ms, when);
	buf_str(b, when);
}

/*
 * Write a target's labels before relabelling, in an element that the user can
 * expand.
 */
static void put_discovered(struct buf *b, const struct target_status *s)
{
	buf_str(b, "<details><summary>discovered labels</summary><code>");
	for (size_t i = 0; i < s->discovered_count; i++) {
		xml_escape_text(b, s->discovered[i].name);
		buf_str(b, "=");
		xml_escape_text(b, s->discovered[i].value);
		buf_str(b, "<br>");
	}
	buf_str(b, "</code></details>");
}

/* A table of targets while it is written. */
struct target_table {
	struct answer *a;
	struct growth_meter meter;
};

/* Check the limits of time and memory after each row of the table. */
static int target_table_check(struct target_table *t,
			      const struct target_status *s, struct err *err)
{
	struct limits limits = query_limits(&t->a->work);
	int rc = limits_meter(&limits, &t->meter, 1 + s->discovered_count, 0,
			      err);

	return rc ? rc : query_take_output(&t->a->work, err);
}

/* Callback for each active target: write it as a row of the table. */
static int target_row(void *ctx, const struct target_status *s, struct err *err)
{
	struct target_table *t = ctx;
	struct buf *b = &t->a->body;
	const char *health = target_health_name(s->health);
	CLEANUP(mem_freep) char *url = target_url_shown(&s->target->spec);
	struct buf labels = { 0 };

	labels_text(s->target->spec.labels, &labels);
	buf_str(b, "<tr><td><code>");
	xml_escape_text(b, str_of(url));
	buf_str(b, "</code><td><code>");
	xml_escape_text(b, str_from(buf_bytes(&labels)));
	buf_str(b, "</code>");
	put_discovered(b, s);
	buf_printf(b, "<td class=%s>%s<td>", health, health);
	page_time(b, s->last_ms);
	buf_printf(b, "<td>%.3f s<td>", (double)s->last_duration_ns / 1e9);
	page_time(b, s->next_ms);
	buf_str(b, "<td>");
	xml_escape_text(b, str_of(s->last_error));
	buf_fini(&labels);
	return target_table_check(t, s, err);
}

/*
 * Callback for each dropped target: write it as a row of the table, with the
 * reason why it was dropped.
 */
static int dropped_row(void *ctx, const struct target_status *s,
		       struct err *err)
{
	struct target_table *t = ctx;
	struct buf *b = &t->a->body;

	buf_str(b, "<tr><td>");
	xml_escape_text(b, str_of(s->job));
	buf_str(b, "<td>");
	put_discovered(b, s);
	buf_str(b, "<td>");
	xml_escape_text(b, str_of(s->dropped));
	return target_table_check(t, s, err);
}

/* Callback for each job: add its number of dropped targets to the sum. */
static void count_dropped(void *ctx, const char *job UNUSED, size_t dropped)
{
	size_t *sum = ctx;

	*sum += dropped;
}

/* Callback for each service discovery: write it as a row if it fails. */
static void failing_row(void *arg, const struct web_discovery *d)
{
	struct buf *b = arg;

	if (!d->error)
		return;
	buf_str(b, "<tr><td>");
	xml_escape_text(b, d->job.len ? d->job : str_of("section ebpf"));
	buf_printf(b, "<td>%s_sd_configs, line %u<td><code>", d->name, d->line);
	xml_escape_text(b, str_of(d->source));
	buf_str(b, "</code><td>");
	page_time(b, d->failed_ms);
	buf_str(b, "<td class=down>");
	xml_escape_text(b, str_of(d->error));
	buf_printf(b, "<td class=n>%zu", d->targets);
}

/* Write the service discoveries that fail, if there are any. */
static void put_failing(struct buf *b, const struct web_discoveries *w)
{
	struct buf rows = { 0 };

	if (w->each)
		w->each(w->ctx, failing_row, &rows);
	if (rows.len) {
		buf_str(b,
			"<h2>Failing service discoveries</h2><table><tr><th>Job<th>Discovery"
			"<th>Source<th>Failed at<th>Error<th>Targets kept");
		buf_add(b, rows.ptr, rows.len);
		buf_str(b, "</table><h2>Targets</h2>");
	}
	buf_fini(&rows);
}

void page_targets(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct target_table t = { .a = a };
	size_t dropped = 0;
	struct err err;
	int rc;

	page_begin(a, r);
	put_failing(&a->body, &w->o.discoveries);
	buf_str(&a->body, "<table><tr><th>Target<th>Labels<th>Health"
			  "<th>Last scrape<th>Duration<th>Next<th>Last error");
	rc = scrape_targets(w->o.scraper, false, target_row, &t, &err);
	buf_str(&a->body, "</table>");
	scrape_dropped(w->o.scraper, count_dropped, &dropped);
	if (dropped && !rc) {
		buf_printf(&a->body, "<h2>Dropped targets: %zu</h2>", dropped);
		buf_str(&a->body,
			"<table><tr><th>Job<th>Discovered labels<th>Reason");
		rc = scrape_targets(w->o.scraper, true, dropped_row, &t, &err);
		buf_str(&a->body, "</table>");
	}
	if (rc)
		put_error(a, &err);
	page_end(a);
}
