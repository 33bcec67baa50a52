/* SPDX-License-Identifier: Apache-2.0 */
#include "query/merge/report_request.h"

#include "pprof/filter/tagroot.h"
#include "pprof/merge/aggregate.h"

/* Parse every parameter that has the name of a report option. */
static int parse_options(struct report_request *q, const struct params *p,
			 struct err *err)
{
	const struct report_option_help *o = report_option_list();
	struct str value;
	int rc = 0;

	report_options_init(&q->options);
	for (; o->name && !rc; o++) {
		size_t at = 0;
		bool more = params_next(p, o->name, &at, &value);

		while (more && !rc) {
			rc = report_option(&q->options, str_of(o->name), value,
					   err);
			more = o->repeats &&
			       params_next(p, o->name, &at, &value);
		}
	}
	/*
	 * group_by adds labels to the samples. If the option tagroot is not
	 * given, it gets the value of group_by: these labels then become root
	 * frames, so that the report shows which series is which
	 * (docs/decisions.md, 38).
	 */
	if (!rc && !q->options.tagroot.len)
		(void)params_find(p, "group_by", &q->options.tagroot);
	return rc;
}

/*
 * Parse how a report shows the two sides of a diff. By default flame graphs
 * keep both sides, and other reports show the difference (docs/decisions.md,
 * 35). The table of functions in JSON always has both sides; its total is that
 * of the differences unless diff=diff_base asks for the total of the base.
 */
static int parse_diff(struct report_request *q, const struct params *p,
		      struct err *err)
{
	struct str s;

	q->label_base = q->type && (q->type->kind == REPORT_FLAMEGRAPH ||
				    q->type->kind == REPORT_SPEEDSCOPE);
	if (params_find(p, "diff", &s) && s.len) {
		q->label_base = str_is(s, "diff_base");
		if (!q->label_base && !str_is(s, "base"))
			return err_set(
				err, ERR_INVALID,
				"parameter \"diff\" must be base or diff_base, not \"%.*s\"",
				STR_ARG(s));
	}
	if (q->type && q->type->kind == REPORT_TOP && !q->text) {
		q->options.net_total = !q->label_base;
		q->label_base = true;
	}
	if (params_find(p, "normalize", &s) && str_is(s, "auto"))
		q->normalize = NORMALIZE_AUTO;
	else if (params_find(p, "normalize", &s) && str_is(s, "rate"))
		q->normalize = NORMALIZE_RATE;
	else if (params_is_on(p, "normalize") && !str_is(s, "none"))
		q->normalize = NORMALIZE_TOTAL;
	return 0;
}

int report_request_parse(struct report_request *q, const struct params *p,
			 struct err *err)
{
	struct str group_by = { 0 };
	struct str format;
	int rc;

	*q = (struct report_request){ .name = str_of("proto") };
	if (params_find(p, "report", &q->name) && !q->name.len)
		q->name = str_of("proto");
	q->type = report_find(q->name);
	q->stored = str_is(q->name, "raw") || str_is(q->name, "proto") ||
		    str_is(q->name, "meta");
	(void)params_find(p, "group_by", &group_by);
	rc = pprof_tagroot_check(group_by, "parameter \"group_by\"", err);
	if (rc)
		return rc;
	q->compare = str_is(q->name, "compare");
	if (!q->type && !q->stored && !q->compare && !str_is(q->name, "pgo"))
		return report_unknown(q->name, "raw proto meta pgo compare",
				      err);
	q->single = str_is(q->name, "raw") || str_is(q->name, "meta");
	if (params_find(p, "format", &format)) {
		q->text = str_is(format, "text");
		q->json = str_is(format, "json");
	}
	q->errors = params_is_on(p, "errors");
	if (q->errors &&
	    !(q->type && q->type->kind == REPORT_FLAMEGRAPH && !q->text))
		return err_set(
			err, ERR_INVALID,
			"parameter \"errors\" is only for report=flamegraph without format=text; report=compare has the error bars of functions");
	rc = parse_options(q, p, err);
	if (!rc)
		rc = parse_diff(q, p, err);
	q->filtered = report_options_filter(&q->options);
	q->stored = q->stored && !(str_is(q->name, "proto") && q->filtered);
	/*
	 * Ranges of numeric labels are in the unit that the first sample has, and
	 * labels become frames in the order of the samples.
	 */
	q->ordered = (q->type ? q->type->by_sample : !q->compare) ||
		     q->options.tags.focus.len || q->options.tags.ignore.len ||
		     q->options.tagroot.len;
	/*
	 * All sample types are needed for traces, a report which also lists
	 * samples whose chosen value is 0, and for a mean, which needs a second
	 * value.
	 */
	q->one_type =
		q->compare ||
		(q->type && q->type->kind != REPORT_TRACES && !q->options.mean);
	return rc;
}

int report_request_merging(const struct report_request *q,
			   const struct params *p,
			   struct query_merge_options *out, struct err *err)
{
	struct str how = { 0 };

	*out = (struct query_merge_options){
		.one_type = q->one_type,
		.sample_index = q->options.sample_index,
	};
	(void)params_find(p, "group_by", &out->group_by);
	(void)params_find(p, "aggregate", &how);
	return aggregate_parse(how, &out->aggregate, err);
}
