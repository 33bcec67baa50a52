/* SPDX-License-Identifier: Apache-2.0 */
#include "query/select/query_spec.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "query/select/absence.h"

/* Largest distance of a single profile from the requested time, in ms. */
#define SEARCH_MS (5LL * 60 * 1000)

/* The names of all parameters of a spec, each with the suffix appended. */
struct spec_names {
	char query[16];
	char mode[16];
	char time[16];
	char match[16];
	char from[16];
	char start[16];
	char to[16];
	char end[16];
};

/* Append the suffix to each parameter's name. */
static struct spec_names spec_names_make(const char *suffix)
{
	struct spec_names n;

	snprintf(n.query, sizeof(n.query), "query%s", suffix);
	snprintf(n.mode, sizeof(n.mode), "mode%s", suffix);
	snprintf(n.time, sizeof(n.time), "time%s", suffix);
	snprintf(n.match, sizeof(n.match), "match%s", suffix);
	snprintf(n.from, sizeof(n.from), "from%s", suffix);
	snprintf(n.start, sizeof(n.start), "start%s", suffix);
	snprintf(n.to, sizeof(n.to), "to%s", suffix);
	snprintf(n.end, sizeof(n.end), "end%s", suffix);
	return n;
}

/*
 * Parse the parameter that says whether a single profile must be before, after,
 * exactly at or just near the requested time. The default is near, in both
 * directions, because with time=now all profiles are before the requested time
 * (docs/decisions.md, 94).
 */
static int parse_match(const struct params *p, const char *name,
		       enum match *out, struct err *err)
{
	struct str s;

	*out = MATCH_NEAREST;
	if (!params_find(p, name, &s) || !s.len || str_is(s, "nearest"))
		return 0;
	if (str_is(s, "after"))
		*out = MATCH_AFTER;
	else if (str_is(s, "exact"))
		*out = MATCH_EXACT;
	else if (str_is(s, "before"))
		*out = MATCH_BEFORE;
	else
		return err_set(
			err, ERR_INVALID,
			"parameter \"%s\" must be nearest, after, exact or before, not \"%.*s\"",
			name, STR_ARG(s));
	return 0;
}

/* Add two times. On overflow the result is the largest or smallest int64_t. */
static int64_t spec_saturate(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/* Set the time range in which a single profile is searched. */
static void spec_set_window(struct query_spec *s)
{
	bool earlier = s->match == MATCH_BEFORE || s->match == MATCH_NEAREST;
	bool later = s->match == MATCH_AFTER || s->match == MATCH_NEAREST;

	s->from = earlier ? spec_saturate(s->time, -SEARCH_MS) : s->time;
	s->to = later ? spec_saturate(s->time, SEARCH_MS) : s->time;
}

/*
 * Whether a query without the parameter `mode` is a merge. It is a merge if
 * both ends of a range are given, and no `time` (docs/decisions.md, 94).
 */
static bool is_range(const struct params *p, const struct spec_names *n)
{
	struct str s;

	return !params_find(p, n->time, &s) && params_find(p, n->from, &s) &&
	       params_find(p, n->to, &s);
}

static int parse_mode(struct query_spec *s, const struct params *p,
		      const struct spec_names *n, struct err *err)
{
	struct str mode;

	s->merged = false;
	if (!params_find(p, n->mode, &mode) || !mode.len) {
		s->merged = is_range(p, n);
		return 0;
	}
	if (str_is(mode, "single"))
		return 0;
	s->merged = str_is(mode, "merge");
	if (s->merged)
		return 0;
	return err_set(err, ERR_INVALID,
		       "parameter \"%s\" must be single or merge, not \"%.*s\"",
		       n->mode, STR_ARG(mode));
}

/* Parse the parameters of mode=single. */
static int parse_single(struct query_spec *s, const struct params *p,
			const struct spec_names *n, struct err *err)
{
	const struct time_param time = { n->time, NULL, TIME_REQUIRED };
	int rc = params_time(p, &time, &s->time, err);

	if (!rc)
		rc = parse_match(p, n->match, &s->match, err);
	if (!rc)
		spec_set_window(s);
	return rc;
}

/* Parse the parameters of mode=merge. */
static int parse_merged(struct query_spec *s, const struct params *p,
			const struct spec_names *n, struct err *err)
{
	const struct time_param from = { n->from, n->start, TIME_REQUIRED };
	const struct time_param to = { n->to, n->end, TIME_REQUIRED };

	return params_times(p, &from, &to, &s->from, &s->to, err);
}

/* Begin a specification with the parameter query. */
static int parse_query(struct query_spec *s, const struct params *p,
		       const struct spec_names *n, struct err *err)
{
	struct str text;
	int rc;

	*s = (struct query_spec){ 0 };
	rc = params_require(p, n->query, &text, err);
	return rc ? rc : params_selector(n->query, text, &s->selector, err);
}

int query_spec_parse_range(struct query_spec *s, const struct params *p,
			   struct err *err)
{
	struct spec_names n = spec_names_make("");
	int rc = parse_query(s, p, &n, err);
	struct str text;

	s->merged = true;
	if (rc)
		return rc;
	if (params_find(p, n.time, &text) ||
	    (params_find(p, n.mode, &text) && text.len &&
	     !str_is(text, "merge")))
		return err_set(
			err, ERR_INVALID,
			"this request takes \"from\" and \"to\", but no \"time\", and no \"mode\" other than merge");
	rc = parse_merged(s, p, &n, err);
	return rc ? rc : total_filter_parse(&s->totals, p, "", err);
}

int query_spec_parse(struct query_spec *s, const struct params *p,
		     const char *suffix, struct err *err)
{
	struct spec_names n = spec_names_make(suffix);
	int rc = parse_query(s, p, &n, err);

	if (!rc)
		rc = parse_mode(s, p, &n, err);
	if (!rc)
		rc = s->merged ? parse_merged(s, p, &n, err) :
				 parse_single(s, p, &n, err);
	return rc ? rc : total_filter_parse(&s->totals, p, suffix, err);
}

int query_spec_select(const struct query_spec *s, struct querier *q,
		      struct err *err)
{
	int rc;

	if (!s->any_count) {
		rc = querier_select(q, s->selector.matchers, s->selector.count,
				    s->from, s->to, err);
		query_drop_beats(q, s->selector.matchers, s->selector.count);
		return rc;
	}
	rc = querier_select_any(q, s->any, s->any_count, 0, s->from, s->to,
				err);
	query_drop_beats(q, s->any[0].v, s->any[0].count);
	querier_keep(q, s->keep, s->keep_ctx);
	return rc;
}

void query_spec_fini(struct query_spec *s)
{
	selector_fini(&s->selector);
}

/* Distance of a time from the requested time, in ms. */
static int64_t spec_distance_between(const struct query_spec *s, int64_t ms)
{
	return llabs(ms - s->time);
}

/*
 * Do the same as nearest_of(), but only among profiles that the filter of
 * totals selects.
 */
static int nearest_with_total(const struct query_spec *s, struct querier *q,
			      size_t series, int64_t *found, struct err *err)
{
	struct totals_view t = { 0 };
	struct total_column c = { 0 };
	int rc = querier_totals(q, series, s->from, s->to, &t, err);
	bool any = false;

	for (size_t i = 0; i < t.count && !rc; i++) {
		bool wanted = false;

		rc = total_filter_select(&s->totals, &c, &t, i, &wanted, err);
		if (!wanted ||
		    (any && spec_distance_between(s, t.rows[i].ms) >=
				    spec_distance_between(s, *found)))
			continue;
		*found = t.rows[i].ms;
		any = true;
	}
	total_column_fini(&c);
	return rc ? rc : any;
}

/*
 * Find the profile of one series that is nearest to the requested time. If two
 * profiles are equally near, the earlier profile is chosen. Returns 1 when
 * *found is set, 0 when the series has no profile in the range.
 */
static int nearest_of(const struct query_spec *s, struct querier *q,
		      size_t series, int64_t *found, struct err *err)
{
	struct times_view t = { 0 };
	int rc;

	if (s->totals.set)
		return nearest_with_total(s, q, series, found, err);
	rc = querier_times(q, series, s->from, s->to, &t, err);
	if (rc || !t.count)
		return rc;
	*found = t.ms[0];
	for (size_t i = 1; i < t.count; i++) {
		if (spec_distance_between(s, t.ms[i]) <
		    spec_distance_between(s, *found))
			*found = t.ms[i];
	}
	return 1;
}

int query_nearest(const struct query_spec *s, struct query_work *w,
		  struct querier *q, size_t *series, int64_t *ms,
		  struct err *err)
{
	char time[40];
	char when[80];
	int64_t best = -1;

	for (size_t i = 0; i < querier_count(q); i++) {
		int64_t found = 0;
		int rc = query_check_deadline(w, err);

		if (!rc)
			rc = nearest_of(s, q, i, &found, err);
		if (rc < 0)
			return rc;
		if (rc &&
		    (best < 0 || spec_distance_between(s, found) < best)) {
			best = spec_distance_between(s, found);
			*series = i;
			*ms = found;
		}
	}
	if (best >= 0)
		return 0;
	/* Damage may have hidden a profile, so "not found" would be wrong. */
	if (querier_lost(q))
		return err_set(
			err, ERR_CORRUPT,
			"no profile was found, but some stored data could not be read: %s",
			querier_lost(q)->msg);
	time_format(s->time, time);
	snprintf(when, sizeof(when), "%s %s",
		 s->match == MATCH_EXACT ? "at" : "within 5 minutes of", time);
	return query_explain_absence(q, w, s, when, err);
}
