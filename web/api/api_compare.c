/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/query?mode=diff&report=compare: the functions that differ between two
 * sides, with error bars.
 */
#include "web/api/api.h"

#include <stdlib.h>

#include "base/units.h"
#include "pprof/compare/compare_json.h"
#include "pprof/report/report_flamegraph.h"
#include "query/merge/query_compare.h"
#include "query/merge/report_profile.h"
#include "query/merge/symbolize.h"
#include "web/api/answer_report.h"
#include "web/api/envelope.h"

enum {
	COMPARE_WARNINGS_MAX = 12,
};

/* Families with a larger error would call noise a change every other time. */
#define ALPHA_DEFAULT 0.01
#define ALPHA_MAX     0.5

/* Rows with fewer samples on both sides together are not tested. */
#define MIN_SAMPLES 10

/* A comparison that is being answered. */
struct comparison {
	struct web *web;
	struct request *request;
	struct answer *a;
	const struct report_request *query;
	struct query_merge merge;
	struct query_compare compare;
	const char *warnings[COMPARE_WARNINGS_MAX + 1];
	size_t warning_count;
};

/* Parse a number above 0 and at most `max`. */
static int parse_fraction(const struct params *p, const char *name, double max,
			  double *out, struct err *err)
{
	struct str s;

	if (!params_find(p, name, &s) || !s.len)
		return 0;
	if (str_to_double(s, out) && *out > 0 && *out <= max)
		return 0;
	return err_set(
		err, ERR_INVALID,
		"parameter \"%s\" must be above 0 and at most %g, not \"%.*s\"",
		name, max, STR_ARG(s));
}

/* Parse by, alpha, block and min_samples. */
static int api_compare_parse(const struct params *p,
			     struct query_compare_options *o, struct err *err)
{
	struct str s;
	int64_t samples;
	int rc = 0;

	*o = (struct query_compare_options){ .by_kind = true,
					     .alpha = ALPHA_DEFAULT };
	if (params_find(p, "by", &s) && s.len && !str_is(s, "auto")) {
		o->by_kind = false;
		rc = compare_by_parse(s, &o->by, err);
	}
	if (!rc)
		rc = parse_fraction(p, "alpha", ALPHA_MAX, &o->alpha, err);
	if (!rc)
		rc = params_count(p, "min_samples", MIN_SAMPLES, &samples, err);
	if (!rc)
		o->min_samples = (double)samples;
	if (!rc && params_find(p, "block", &s) && s.len && !str_is(s, "auto")) {
		rc = duration_parse(s, &o->bucket_ms, err);
		if (!rc && o->bucket_ms < 1)
			rc = err_set(
				err, ERR_INVALID,
				"parameter \"block\" must be longer than 0");
		else if (rc)
			rc = err_wrap(err, rc, "parameter \"block\"");
	}
	return rc;
}

/* Collect the profiles of both sides. */
static int collect_sides(struct comparison *x, struct pprof **p,
			 struct err *err)
{
	struct query_spec base;
	struct query_spec new = { 0 };
	int rc = query_spec_parse(&base, &x->request->params, "_a", err);

	if (!rc)
		rc = query_spec_parse(&new, &x->request->params, "_b", err);
	if (!rc && !(base.merged && new.merged))
		rc = err_set(
			err, ERR_INVALID,
			"a comparison with error bars needs a time range on each side: give from_a, to_a, from_b and to_b, and neither time_a nor time_b");
	if (!rc)
		rc = query_compare_run(&x->compare, &base, &new, p, err);
	query_spec_fini(&base);
	query_spec_fini(&new);
	return rc;
}

/* Add headers with the numbers of series and profiles, as other answers have. */
static void count_headers(struct comparison *x)
{
	const struct query_compare *c = &x->compare;
	struct arena *arena = &x->request->arena;

	answer_header(x->a, "X-Everprof-Series",
		      arena_printf(arena, "%zu",
				   c->series[ESTIMATE_BASE] +
					   c->series[ESTIMATE_NEW]));
	answer_header(x->a, "X-Everprof-Profiles",
		      arena_printf(arena, "%zu",
				   c->profiles[ESTIMATE_BASE] +
					   c->profiles[ESTIMATE_NEW]));
	answer_header(x->a, "X-Everprof-Profiles-A",
		      arena_printf(arena, "%zu", c->profiles[ESTIMATE_BASE]));
}

/* Compare the functions of the filtered profile, and write the answer. */
static int write_rows(struct comparison *x, const struct report *r,
		      const struct limits *limits, struct err *err)
{
	struct compare_result result;
	struct compare *c = &x->compare.compare;
	int64_t max = x->query->options.node_count;
	const struct pprof_type *type = &r->p->types.v[0];
	struct compare_head head = {
		.type = pprof_str(r->p, type->type),
		.unit = pprof_str(r->p, type->unit),
		.kind = value_kind_name(x->compare.values.kind),
		.bucket_s = (double)x->compare.width_ms / 1e3,
		.profiles = { x->compare.profiles[ESTIMATE_BASE],
			      x->compare.profiles[ESTIMATE_NEW] },
		.damaged = x->merge.damaged,
		.nodes = &r->nodes,
		.max = max > 0 ? (size_t)max : 0,
		.limits = limits,
	};
	struct json j;
	int rc = compare_run(c, r->p, &r->nodes, limits, &result, err);

	if (rc)
		return rc;
	count_headers(x);
	j = envelope_begin(x->a);
	rc = compare_json(&head, c, &result, &j, err);
	envelope_end(&j, x->a, x->warnings);
	compare_result_fini(&result);
	return rc ? rc : query_take_output(&x->a->work, err);
}

/* Compare the boxes of a flame graph, and write it. */
static int write_flamegraph(struct comparison *x, struct report *r,
			    struct err *err)
{
	struct json j;
	int rc;

	count_headers(x);
	j = envelope_begin(x->a);
	rc = report_flamegraph_errors(r, &x->compare.compare, &j, err);
	envelope_end(&j, x->a, x->warnings);
	return rc ? rc : query_take_output(&x->a->work, err);
}

/* Name functions, apply the filters, and compare. */
static int answer_comparison(struct comparison *x, struct pprof *p,
			     struct err *err)
{
	struct symbolize s = { .symbolizer = x->web->o.symbolizer };
	struct report_options o = x->query->options;
	struct limits limits = query_merge_limits(&x->merge);
	struct arena *arena = &x->request->arena;
	struct report r;
	int rc = 0;

	x->warning_count = query_merge_warnings(&x->merge, arena, x->warnings,
						COMPARE_WARNINGS_MAX);
	if (o.symbolize) {
		rc = query_merge_symbolize(&x->merge, &s, p, err);
		if (!rc)
			x->warning_count += symbolize_warnings(
				&s, p, arena, x->warnings + x->warning_count,
				COMPARE_WARNINGS_MAX - x->warning_count);
	}
	/* The profile has only the sample type that was asked for. */
	o.sample_index = (struct str){ 0 };
	o.limits = limits;
	if (!rc)
		rc = report_init(
			&r, x->query->errors ? REPORT_FLAMEGRAPH : REPORT_TOP,
			p, &o, err);
	if (rc)
		return rc;
	x->warning_count += report_profile_unmatched(
		&r.unmatched, arena, x->warnings + x->warning_count,
		COMPARE_WARNINGS_MAX - x->warning_count);
	rc = x->query->errors ? write_flamegraph(x, &r, err) :
				write_rows(x, &r, &limits, err);
	report_fini(&r);
	return rc;
}

int api_compare(struct web *w, struct request *r, struct answer *a,
		const struct report_request *query, struct err *err)
{
	struct query_compare_options options;
	struct query_merge_options merge = {
		.one_type = true,
		.sample_index = query->options.sample_index,
	};
	struct comparison x = {
		.web = w, .request = r, .a = a, .query = query
	};
	struct pprof *p = NULL;
	int rc = api_compare_parse(&r->params, &options, err);

	if (rc)
		return rc;
	options.no_states = query->errors;
	(void)params_find(&r->params, "group_by", &merge.group_by);
	query_merge_init(&x.merge, w->o.db, &a->work, &merge);
	query_compare_init(&x.compare, &x.merge, &options);
	rc = collect_sides(&x, &p, err);
	if (!rc)
		rc = answer_comparison(&x, p, err);
	query_compare_fini(&x.compare);
	query_merge_fini(&x.merge);
	return rc;
}
