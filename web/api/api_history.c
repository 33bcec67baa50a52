/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handler of /api/v1/history: the weight of functions over time.
 */
#include "web/api/api.h"

#include "pprof/filter/tagroot.h"
#include "query/history/history.h"
#include "query/merge/report_request.h"
#include "web/api/envelope.h"
#include "web/api/range_query.h"

#define WARNINGS_MAX 3
/* Number of functions if the request says nothing about functions. */
#define TOP_DEFAULT 5

/* The request, parsed. The options borrow from the other members. */
struct history_query {
	struct query_spec spec;
	struct report_request report;
	struct str functions[HISTORY_FUNCTIONS_MAX];
	struct history_options o;
};

/* Parse the names of functions. */
static int parse_functions(struct history_query *x, const struct params *p,
			   struct err *err)
{
	struct str name;
	size_t at = 0;

	while (params_next(p, "function", &at, &name)) {
		if (x->o.function_count == HISTORY_FUNCTIONS_MAX)
			return err_set(
				err, ERR_INVALID,
				"a history has at most %d functions: use a smaller \"top\" or fewer parameters \"function\"",
				HISTORY_FUNCTIONS_MAX);
		x->functions[x->o.function_count++] = name;
	}
	x->o.functions = x->functions;
	return 0;
}

/* Parse which functions are wanted: by name, or the heaviest. */
static int parse_choice(struct history_query *x, const struct params *p,
			struct err *err)
{
	struct str by;
	int64_t top;
	int rc = parse_functions(x, p, err);

	if (!rc)
		rc = params_count(p, "top",
				  x->o.function_count ? 0 : TOP_DEFAULT, &top,
				  err);
	if (rc)
		return rc;
	x->o.top = top > HISTORY_FUNCTIONS_MAX ? HISTORY_FUNCTIONS_MAX + 1 :
						 (size_t)top;
	if (!params_find(p, "by", &by) || !by.len || str_is(by, "flat"))
		return 0;
	x->o.by_cum = str_is(by, "cum");
	return x->o.by_cum ?
		       0 :
		       err_set(err, ERR_INVALID,
			       "parameter \"by\" must be flat or cum, not \"%.*s\"",
			       STR_ARG(by));
}

/* Parse filters, aggregation and groups. */
static int parse_merging(struct history_query *x, const struct params *p,
			 struct err *err)
{
	struct str text = { 0 };
	int rc = report_request_parse(&x->report, p, err);

	if (rc)
		return rc;
	(void)params_find(p, "aggregate", &text);
	(void)params_find(p, "group_by", &x->o.group_by);
	x->o.report = x->report.options;
	/*
	 * Here group_by separates series and does not add frames, so it does
	 * not set the option tagroot, as it does for reports.
	 */
	x->o.report.tagroot = (struct str){ 0 };
	(void)params_find(p, "tagroot", &x->o.report.tagroot);
	x->o.merge = (struct query_merge_options){
		.one_type = true,
		.sample_index = x->o.report.sample_index,
	};
	rc = aggregate_parse(text, &x->o.merge.aggregate, err);
	x->o.merge.looked = aggregate_sums_flows(x->o.merge.aggregate);
	return rc;
}

/* Parse the request. The caller calls query_spec_fini() in any case. */
static int history_parse(struct history_query *x, const struct request *r,
			 struct err *err)
{
	int rc = query_spec_parse_range(&x->spec, &r->params, err);

	if (!rc)
		rc = range_query_step(r, &x->o.step_ms, err);
	if (!rc && !x->o.step_ms)
		rc = err_set(err, ERR_INVALID,
			     "parameter \"step\" is missing or 0");
	if (!rc)
		rc = parse_merging(x, &r->params, err);
	if (!rc)
		rc = parse_choice(x, &r->params, err);
	x->o.spec = &x->spec;
	return rc;
}

void api_history(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct history_query *x = arena_new(&r->arena, struct history_query);
	struct history h = { 0 };
	const char *warnings[WARNINGS_MAX + 1] = { NULL };
	struct err err;
	int rc = history_parse(x, r, &err);

	if (!rc)
		rc = history_run(&h, w->o.db, &a->work, &x->o, &err);
	if (!rc) {
		struct json j = envelope_begin(a);

		history_json(&h, &j);
		(void)history_warnings(&h, &r->arena, warnings, WARNINGS_MAX);
		envelope_end(&j, a, warnings);
		rc = query_take_output(&a->work, &err);
	}
	history_fini(&h);
	query_spec_fini(&x->spec);
	if (rc)
		answer_error(a, &err);
}
