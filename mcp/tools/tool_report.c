/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/tool_report.h"

#include "base/units.h"
#include "base/url.h"
#include "pprof/merge/aggregate.h"
#include "pprof/profile/measure.h"

enum {
	/* Of so many series, the times are looked at to say when there are some. */
	NEAREST_SERIES = 64
};

/* The names of the parameters of a side. */
struct side_names {
	const char *query;
	const char *from;
	const char *to;
	const char *suffix;
};

static const struct side_names one_side = { "query", "from", "to", "" };
static const struct side_names two_sides[2] = {
	{ "query_b", "from_b", "to_b", "_b" },
	{ "query_a", "from_a", "to_a", "_a" },
};

/* Set a parameter of the API, unless the arguments have set it. */
static void tool_report_default(struct tool_call *c, const char *param,
				struct str value)
{
	struct str set;

	if (!params_find(&c->params, param, &set))
		tool_call_set(c, param, value);
}

/* Set the parameters that arguments may leave out: the last hour, and side b. */
static void tool_report_defaults(struct tool_call *c, const char *kind,
				 bool is_diff)
{
	struct str selector = { .len = 0 };

	tool_call_set(c, "mode", str_of(is_diff ? "diff" : "merge"));
	tool_call_set(c, "report", str_of(kind));
	if (!is_diff) {
		tool_report_default(c, "from", str_of("now-1h"));
		tool_report_default(c, "to", str_of("now"));
		return;
	}
	(void)params_find(&c->params, "query_a", &selector);
	tool_report_default(c, "query_b", selector);
	tool_report_default(c, "from_b", str_of("now-1h"));
	tool_report_default(c, "to_b", str_of("now"));
	tool_report_default(c, "to_a", str_of("now"));
	tool_report_default(c, "normalize", str_of("auto"));
	/* The rows have both sides. */
	tool_call_set(c, "diff", str_of("diff_base"));
}

/* The times at which some series have profiles. */
struct nearest {
	int64_t first;
	int64_t last;
	size_t series;
};

/* Find out when the series of a selector have profiles. */
static int tool_report_nearest(struct tool_call *c, const struct query_spec *s,
			       struct nearest *out, struct err *err)
{
	CLEANUP(querier_closep) struct querier *q = NULL;
	int rc;

	*out = (struct nearest){ .first = INT64_MAX, .last = INT64_MIN };
	query_open(c->work, c->db, &q);
	rc = query_select(c->work, q, s->selector.matchers, s->selector.count,
			  INT64_MIN, INT64_MAX, err);
	out->series = rc ? 0 : querier_count(q);
	for (size_t i = 0; !rc && i < out->series && i < NEAREST_SERIES; i++) {
		struct times_view times = { .count = 0 };

		rc = querier_times(q, i, INT64_MIN, INT64_MAX, &times, err);
		if (!rc && times.count && times.ms[0] < out->first)
			out->first = times.ms[0];
		if (!rc && times.count && times.ms[times.count - 1] > out->last)
			out->last = times.ms[times.count - 1];
	}
	return rc;
}

/* Say that nothing is selected, and what would be. */
static int tool_report_empty(struct tool_call *c, const struct query_spec *s,
			     struct err *err)
{
	struct nearest n;
	int rc = tool_report_nearest(c, s, &n, err);
	char first[40];
	char last[40];

	if (rc)
		return rc;
	if (n.first > n.last)
		return err_set(
			err, ERR_NOTFOUND,
			"no series matches the selector: list_series lists those that there are");
	time_format(n.first, first);
	time_format(n.last, last);
	return err_set(
		err, ERR_NOTFOUND,
		"the selector has no profile in this time range: its profiles are from %s to %s",
		first, last);
}

/* Merge the profiles of a side. */
static int tool_report_merge(struct tool_report *t, size_t side,
			     const struct side_names *names, struct err *err)
{
	struct tool_call *c = t->call;
	struct query_spec *s = &t->specs[side];
	int rc = query_spec_parse(s, &c->params, names->suffix, err);

	if (rc)
		return rc;
	query_merge_init(&t->merges[side], c->db, c->work, &t->merging);
	rc = query_merge_run(&t->merges[side], s, err);
	if (rc == ERR_NOTFOUND)
		rc = tool_report_empty(c, s, err);
	return rc && t->is_diff ?
		       err_wrap(err, rc, "side %s", names->suffix + 1) :
		       rc;
}

/* Read the request, and merge its profiles. */
static int tool_report_read(struct tool_report *t, const char *kind,
			    struct err *err)
{
	struct tool_call *c = t->call;
	int rc;

	tool_report_defaults(c, kind, t->is_diff);
	rc = report_request_parse(&t->request, &c->params, err);
	if (!rc)
		rc = report_request_merging(&t->request, &c->params,
					    &t->merging, err);
	if (rc)
		return rc;
	t->merging.without_beats = t->is_diff;
	t->merging.looked = t->is_diff ||
			    aggregate_sums_flows(t->merging.aggregate);
	rc = tool_report_merge(t, 0, t->is_diff ? &two_sides[0] : &one_side,
			       err);
	if (!rc && t->is_diff)
		rc = tool_report_merge(t, 1, &two_sides[1], err);
	return rc;
}

/* Make the report of what was merged. */
static int tool_report_make(struct tool_report *t, struct err *err)
{
	struct pprof *p;
	int rc;

	t->profile = (struct report_profile){
		.q = &t->request,
		.source = &t->merges[0],
		.base = t->is_diff ? &t->merges[1] : NULL,
		.symbolizer = t->call->symbolizer,
		.arena = t->call->arena,
	};
	rc = report_profile_make(&t->profile, &p, err);
	if (rc)
		return rc;
	report_profile_options(&t->profile, &t->options);
	t->options.source_root = t->call->source_root;
	rc = report_init(&t->report, t->request.type->kind, p, &t->options,
			 err);
	if (rc)
		return rc;
	t->profile.warning_count += report_profile_unmatched(
		&t->report.unmatched, t->call->arena,
		t->profile.warnings + t->profile.warning_count,
		REPORT_WARNINGS_MAX - t->profile.warning_count);
	return 0;
}

/* Free the merges. */
static void tool_report_fini(struct tool_report *t)
{
	report_profile_fini(&t->profile);
	for (size_t i = 0; i < 2; i++) {
		if (t->merges[i].merge)
			query_merge_fini(&t->merges[i]);
		query_spec_fini(&t->specs[i]);
	}
}

int tool_report_open(struct tool_call *c, const char *kind, bool is_diff,
		     struct tool_report **out, struct err *err)
{
	struct tool_report *t = arena_new(c->arena, struct tool_report);
	int64_t total;
	int rc;

	t->call = c;
	t->is_diff = is_diff;
	rc = tool_report_read(t, kind, err);
	if (!rc)
		rc = tool_report_make(t, err);
	if (rc) {
		tool_report_fini(t);
		return rc;
	}
	total = t->report.total;
	(void)measure_scale(total, t->report.unit, str_of("auto"), &t->unit);
	*out = t;
	return 0;
}

void tool_report_close(struct tool_report *t)
{
	report_fini(&t->report);
	tool_report_fini(t);
}

double tool_report_scale(const struct tool_report *t, int64_t value)
{
	struct str unused;

	return measure_scale(value, t->report.unit,
			     t->unit.len ? t->unit : t->report.unit, &unused);
}

const char *tool_report_column(const struct tool_report *t, const char *name)
{
	if (!t->unit.len)
		return name;
	return arena_printf(t->call->arena, "%s (%.*s)", name,
			    STR_ARG(t->unit));
}

/* Append a link to the same view of the page. */
static void tool_report_link(const struct tool_report *t)
{
	static const char *const kept[] = { "query",        "from",   "to",
					    "query_a",      "from_a", "to_a",
					    "query_b",      "from_b", "to_b",
					    "sample_index", "focus" };
	struct buf url = { 0 };
	struct str value;

	buf_str(&url, t->is_diff ? "/compare" : "/");
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (params_find(&t->call->params, kept[i], &value))
			url_add_param(&url, kept[i], value);
	}
	buf_printf(t->call->text, "# page: %s\n", buf_cstr(&url));
	buf_fini(&url);
}

/* Add the facts of the head for programs. */
static void tool_report_facts(const struct tool_report *t,
			      const struct tool_rows *rows)
{
	struct json *j = t->call->facts;

	json_key(j, "total");
	json_int(j, t->report.total);
	json_key(j, "unit");
	json_str(j, t->report.unit);
	json_key(j, "sampleType");
	json_str(j, t->report.type);
	json_key(j, "rowsShown");
	json_int(j, rows->shown);
	json_key(j, "rowsTotal");
	json_int(j, rows->seen);
	json_key(j, "series");
	json_int(j, (int64_t)(t->merges[0].series + t->merges[1].series));
	json_key(j, "profiles");
	json_int(j, (int64_t)(t->merges[0].profiles + t->merges[1].profiles));
}

/* Append which rows follow. */
static void tool_report_rows(const struct tool_report *t,
			     const struct tool_rows *rows, int64_t shown_value)
{
	struct buf *out = t->call->text;
	int64_t next = rows->offset + rows->shown;

	buf_printf(out, "# rows %lld to %lld of %lld",
		   (long long)(rows->shown ? rows->offset + 1 : 0),
		   (long long)next, (long long)rows->seen);
	if (shown_value >= 0 && t->report.total > 0)
		buf_printf(out, ", which have %.1f %% of the total",
			   100 * (double)shown_value / (double)t->report.total);
	if (next < rows->seen)
		buf_printf(out, "; more: offset=%lld", (long long)next);
	buf_byte(out, '\n');
}

void tool_report_head(struct tool_report *t, const struct tool_rows *rows,
		      int64_t shown_value)
{
	struct tool_call *c = t->call;
	struct report *r = &t->report;

	buf_str(c->text, "# total ");
	if (t->is_diff)
		buf_str(c->text, "of side a ");
	measure_label(c->text, t->is_diff ? r->total_a : r->total, r->unit,
		      str_of("auto"));
	if (t->is_diff) {
		buf_str(c->text, ", of side b ");
		measure_label(c->text, r->total_b, r->unit, str_of("auto"));
		if (t->request.normalize != NORMALIZE_NONE)
			buf_str(c->text, " (made comparable)");
	}
	buf_printf(c->text, ", %.*s/%.*s of %zu profiles of %zu series\n",
		   STR_ARG(r->type), STR_ARG(r->unit),
		   t->merges[0].profiles + t->merges[1].profiles,
		   t->merges[0].series + t->merges[1].series);
	tool_report_rows(t, rows, shown_value);
	tool_report_link(t);
	for (size_t i = 0; i < t->profile.warning_count &&
			   c->warning_count < TOOL_WARNINGS_MAX;
	     i++)
		c->warnings[c->warning_count++] = t->profile.warnings[i];
	tool_call_warn(c);
	tool_report_facts(t, rows);
}
