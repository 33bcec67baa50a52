/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/tool_report.h"

#include <math.h>

#include "base/units.h"
#include "base/url.h"
#include "pprof/merge/aggregate.h"
#include "pprof/profile/measure.h"

enum {
	/* Of so many series, the times are looked at to say when there are some. */
	SPAN_SERIES = 64,
	LINK_MAX = 600, /* longest link, in bytes; a longer one is left out */
	LABEL_MAX = 60  /* longest sample type and unit, in bytes */
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

/* The begins of the sides, in ms. */
struct side_begins {
	int64_t a;
	int64_t b;
};

/* Set the end of a side to the time before the other side begins, or to now. */
static void tool_report_default_end(struct tool_call *c, const char *param,
				    int64_t begin, int64_t other)
{
	const char *end = begin < other ? arena_printf(c->arena, "%lld",
						       (long long)other - 1) :
					  "now";

	tool_report_default(c, param, str_of(end));
}

/*
 * Set the ends of sides that have times of their own: each ends where the other one
 * begins, if that is later.
 */
static int tool_report_default_ends(struct tool_call *c, bool has_begin,
				    struct err *err)
{
	const struct time_param from_a = { "from_a", NULL, TIME_REQUIRED };
	const struct time_param from_b = { "from_b", NULL, TIME_REQUIRED };
	struct side_begins begins;
	struct str given;
	int rc = params_time(&c->params, &from_a, &begins.a, err);

	if (!rc)
		rc = params_time(&c->params, &from_b, &begins.b, err);
	if (rc)
		return rc;
	if (!has_begin && begins.a >= begins.b &&
	    !params_find(&c->params, "to_a", &given))
		return err_set(
			err, ERR_INVALID,
			"side a begins within side b, which is the last hour unless from_b is given: give from_b, or to_a");
	tool_report_default_end(c, "to_a", begins.a, begins.b);
	tool_report_default_end(c, "to_b", begins.b, begins.a);
	return 0;
}

/*
 * Set the parameters of the sides that arguments may leave out. With a selector alone,
 * side b has the times of side a; otherwise, it is the last hour.
 */
static int tool_report_default_sides(struct tool_call *c, struct err *err)
{
	struct str selector = { .len = 0 };
	struct str from = str_of("now-1h");
	struct str to = str_of("now");
	struct str given;
	bool has_begin = params_find(&c->params, "from_b", &given);

	(void)params_find(&c->params, "query_a", &selector);
	if (params_find(&c->params, "query_b", &given) && !has_begin) {
		(void)params_find(&c->params, "from_a", &from);
		(void)params_find(&c->params, "to_a", &to);
		tool_report_default(c, "from_b", from);
		tool_report_default(c, "to_b", to);
		tool_report_default(c, "to_a", to);
		return 0;
	}
	tool_report_default(c, "query_b", selector);
	tool_report_default(c, "from_b", from);
	return tool_report_default_ends(c, has_begin, err);
}

/* Set the parameters that arguments may leave out. */
static int tool_report_defaults(struct tool_call *c, const char *kind,
				bool is_diff, struct err *err)
{
	tool_call_set(c, "mode", str_of(is_diff ? "diff" : "merge"));
	tool_call_set(c, "report", str_of(kind));
	if (!is_diff) {
		tool_report_default(c, "from", str_of("now-1h"));
		tool_report_default(c, "to", str_of("now"));
		return 0;
	}
	tool_report_default(c, "normalize", str_of("auto"));
	/* The rows have both sides. */
	tool_call_set(c, "diff", str_of("diff_base"));
	return tool_report_default_sides(c, err);
}

/* The time that the profiles of some series span. */
struct span {
	int64_t first;
	int64_t last;
};

/* Find out when the series of a selector have profiles. */
static int tool_report_span(struct tool_call *c, const struct query_spec *s,
			    struct span *out, struct err *err)
{
	CLEANUP(querier_closep) struct querier *q = NULL;
	size_t count;
	int rc;

	*out = (struct span){ .first = INT64_MAX, .last = INT64_MIN };
	query_open(c->work, c->db, &q);
	/* As merges select: without heartbeats that nobody asked for. */
	rc = query_select(c->work, q, s->selector.matchers, s->selector.count,
			  INT64_MIN, INT64_MAX, err);
	count = rc ? 0 : querier_count(q);
	for (size_t i = 0; !rc && i < count && i < SPAN_SERIES; i++) {
		struct times_view times = { .count = 0 };

		rc = querier_times(q, i, INT64_MIN, INT64_MAX, &times, err);
		if (!rc && times.count && times.ms[0] < out->first)
			out->first = times.ms[0];
		if (!rc && times.count && times.ms[times.count - 1] > out->last)
			out->last = times.ms[times.count - 1];
	}
	return rc;
}

/*
 * Say, after the message that nothing is selected, what would be. An error of this search
 * leaves the message as it is.
 */
static int tool_report_empty(struct tool_call *c, const struct query_spec *s,
			     struct err *err)
{
	struct err none;
	struct span found;
	char first[40];
	char last[40];
	int rc = tool_report_span(c, s, &found, &none);

	if (rc)
		return err->code;
	if (found.first > found.last)
		return err_set(
			err, ERR_NOTFOUND,
			"no series matches the selector: the tool \"list_series\" lists all series");
	time_format(found.first, first);
	time_format(found.last, last);
	none = *err;
	return err_set(
		err, ERR_NOTFOUND,
		"%.300s; the series that match have profiles from %s to %s",
		none.msg, first, last);
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
	int rc = tool_report_defaults(c, kind, t->is_diff, err);

	if (!rc)
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

/* Append a link to the same view of the page. */
static void tool_report_link(const struct tool_report *t)
{
	static const char *const kept[] = {
		"query",     "from",    "to",     "query_a",  "from_a",
		"to_a",      "query_b", "from_b", "to_b",     "sample_index",
		"aggregate", "focus",   "ignore", "tagfocus", "group_by",
	};
	static const char *const normalize[] = {
		[NORMALIZE_NONE] = "0",
		[NORMALIZE_TOTAL] = "1",
		[NORMALIZE_RATE] = "rate",
		[NORMALIZE_AUTO] = "",
	};
	struct buf url = { 0 };
	struct str value;

	buf_str(&url, t->is_diff ? "/compare" : "/");
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		if (params_find(&t->call->params, kept[i], &value))
			url_add_param(&url, kept[i], value);
	}
	if (t->is_diff && *normalize[t->request.normalize])
		url_add_param(&url, "normalize",
			      str_of(normalize[t->request.normalize]));
	if (url.len <= LINK_MAX)
		buf_printf(t->call->text, "# page: %s\n", buf_cstr(&url));
	buf_fini(&url);
}

/* Append a total in a unit that people read. */
static void tool_report_total(const struct tool_report *t, const char *of,
			      int64_t total)
{
	struct buf *out = t->call->text;

	buf_str(out, of);
	measure_label(out, total, t->report.unit, str_of("auto"));
}

/* Append how many profiles were merged, and from when to when. */
static void tool_report_merged(const struct tool_report *t, size_t side)
{
	const struct query_merge *m = &t->merges[side];
	char from[40];
	char to[40];

	time_format(t->specs[side].from, from);
	time_format(t->specs[side].to, to);
	buf_printf(t->call->text,
		   " of %zu profile%s of %zu series, from %s to %s\n",
		   m->profiles, m->profiles == 1 ? "" : "s", m->series, from,
		   to);
}

/* Append by what the values of side b are multiplied, and what that means. */
static void tool_report_scaled(const struct tool_report *t)
{
	static const char *const meaning[] = {
		[NORMALIZE_TOTAL] =
			"so that both totals are equal: the rows compare shares",
		[NORMALIZE_RATE] =
			"so that both sides are of one series in the same time",
	};
	struct buf *out = t->call->text;

	if (t->profile.scaled == NORMALIZE_NONE) {
		buf_str(out, "# the rows compare values as they are\n");
		return;
	}
	buf_printf(
		out,
		"# values of side b in the rows are multiplied by %.4g, %s\n",
		t->profile.factor, meaning[t->profile.scaled]);
}

/* Return the total of side b before its values were multiplied. */
static int64_t tool_report_total_b(const struct tool_report *t)
{
	double total = (double)t->report.total_b;

	return t->profile.factor > 0 ?
		       measure_integer(round(total / t->profile.factor)) :
		       t->report.total_b;
}

/* Append the totals of both sides. */
static void tool_report_sides(const struct tool_report *t)
{
	tool_report_total(t, "# side a: ", t->report.total_a);
	tool_report_merged(t, 1);
	tool_report_total(t, "# side b: ", tool_report_total_b(t));
	tool_report_merged(t, 0);
	tool_report_scaled(t);
}

/* Warn if the sides have profiles in common. */
static void tool_report_overlap(struct tool_report *t)
{
	const struct query_spec *b = &t->specs[0];
	const struct query_spec *a = &t->specs[1];
	struct str query_a = { .len = 0 };
	struct str query_b = { .len = 0 };

	(void)params_find(&t->call->params, "query_a", &query_a);
	(void)params_find(&t->call->params, "query_b", &query_b);
	if (t->is_diff && str_eq(query_a, query_b) && a->from <= b->to &&
	    b->from <= a->to)
		t->call->warnings[t->call->warning_count++] =
			"the times of the sides overlap, so that both have the same profiles there";
}

/* Append the lines before the rows: what they are of, a link, and warnings. */
static void tool_report_head(struct tool_report *t)
{
	struct tool_call *c = t->call;

	if (t->is_diff) {
		tool_report_sides(t);
	} else {
		tool_report_total(t, "# total ", t->report.total);
		tool_report_merged(t, 0);
	}
	buf_printf(c->text, "# sample type %.*s/%.*s\n", STR_ARG(t->type),
		   STR_ARG(t->unit));
	tool_report_link(t);
	tool_report_overlap(t);
	for (size_t i = 0; i < t->profile.warning_count &&
			   c->warning_count < TOOL_WARNINGS_MAX;
	     i++)
		c->warnings[c->warning_count++] = t->profile.warnings[i];
	tool_call_warn(c);
}

/* Add the same facts for programs. */
static void tool_report_facts(const struct tool_report *t)
{
	struct json *j = t->call->facts;

	json_key(j, "sampleType");
	json_str(j, t->type);
	json_key(j, "unit");
	json_str(j, t->unit);
	if (t->is_diff) {
		json_key(j, "totalA");
		json_int(j, t->report.total_a);
		json_key(j, "totalB");
		json_int(j, tool_report_total_b(t));
		json_key(j, "factorB");
		json_double(j, t->profile.factor);
	} else {
		json_key(j, "total");
		json_int(j, t->report.total);
	}
	json_key(j, "profiles");
	json_int(j, (int64_t)(t->merges[0].profiles + t->merges[1].profiles));
}

/* Return a name that a profile has, without what could break a line, in the arena. */
static struct str tool_report_name(const struct tool_report *t, struct str name)
{
	struct buf clean = { 0 };
	struct str out;

	tool_rows_name(&clean, name, LABEL_MAX);
	out = arena_str(t->call->arena, str_from(buf_bytes(&clean)));
	buf_fini(&clean);
	return out;
}

int tool_report_open(struct tool_call *c, const char *kind, bool is_diff,
		     struct tool_report **out, struct err *err)
{
	struct tool_report *t = arena_new(c->arena, struct tool_report);
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
	(void)measure_scale(t->report.total, t->report.unit, str_of("auto"),
			    &t->shown_unit);
	t->type = tool_report_name(t, t->report.type);
	t->unit = tool_report_name(t, t->report.unit);
	tool_report_head(t);
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
			     t->shown_unit.len ? t->shown_unit : t->report.unit,
			     &unused);
}

const char *tool_report_column(const struct tool_report *t, const char *name)
{
	/* Units that are not known, which could have commas, have no name here. */
	return t->shown_unit.len ? arena_printf(t->call->arena, "%s (%.*s)",
						name, STR_ARG(t->shown_unit)) :
				   name;
}

int tool_report_write(struct tool_report *t, struct buf *out, struct err *err)
{
	int rc;

	*out = buf_init((size_t)t->call->work->memory->max);
	rc = t->request.type->write(&t->report, out, err);
	return rc ? rc : query_take(t->call->work, (int64_t)out->cap, err);
}

void tool_report_end(struct tool_report *t, const struct tool_rows *rows,
		     const char *what, int64_t shown_value)
{
	const char *more = "";

	if (shown_value >= 0 && t->report.total > 0)
		more = arena_printf(
			t->call->arena, "; these have %.1f %% of the total",
			100 * (double)shown_value / (double)t->report.total);
	tool_report_facts(t);
	tool_call_end(t->call, rows, what, more);
}
