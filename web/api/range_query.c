/* SPDX-License-Identifier: Apache-2.0 */
#include "web/api/range_query.h"

#include <math.h>

#include "base/units.h"
#include "pprof/filter/tagroot.h"

enum {
	/* The longest gap that fill=auto fills, as Prometheus does. */
	FILL_MOST_MS = 5 * 60 * 1000,
};

/* Parse a duration such as "15s" or, as in Prometheus, a number of seconds. */
static int range_query_duration(const struct request *r, const char *name,
				int64_t *ms, struct err *err)
{
	struct str s;
	double seconds;

	*ms = 0;
	if (!params_find(&r->params, name, &s) || !s.len)
		return 0;
	if (str_to_double(s, &seconds) && seconds >= 0.001 && seconds < 1e12) {
		*ms = (int64_t)llround(seconds * 1000);
		return 0;
	}
	return duration_parse(s, ms, err) ?
		       err_wrap(err, ERR_INVALID, "invalid parameter \"%s\"",
				name) :
		       0;
}

int range_query_step(const struct request *r, int64_t *ms, struct err *err)
{
	return range_query_duration(r, "step", ms, err);
}

/*
 * Parse the parameters of a timeline. A parameter that has a meaning only with
 * a step is refused without a step, rather than ignored.
 */
static int parse_timeline(const struct request *r, struct range_query *rq,
			  struct err *err)
{
	struct timeline_options *o = &rq->timeline;
	struct str step;
	struct str fill;
	int64_t buckets = 0;
	int rc = range_query_step(r, &o->step_ms, err);
	bool stepped = params_find(&r->params, "step", &step) && step.len;

	o->from = rq->from;
	o->to = rq->to;
	(void)params_find(&r->params, "group_by", &o->group_by);
	o->rate = params_is_on(&r->params, "rate");
	o->fill_typical = params_find(&r->params, "fill", &fill) &&
			  str_is(fill, "auto");
	if (!rc && o->fill_typical)
		o->fill_ms = FILL_MOST_MS;
	else if (!rc)
		rc = range_query_duration(r, "fill", &o->fill_ms, err);
	if (!rc)
		rc = params_count(&r->params, "buckets", 0, &buckets, err);
	if (!rc && buckets && (buckets < BUCKETS_MIN || buckets > BUCKETS_MAX))
		rc = err_set(err, ERR_INVALID,
			     "parameter \"buckets\" must be from %d to %d",
			     BUCKETS_MIN, BUCKETS_MAX);
	o->buckets = (size_t)buckets;
	if (!rc && (o->group_by.len || o->rate || o->fill_ms || buckets) &&
	    !stepped)
		rc = err_set(
			err, ERR_INVALID,
			"parameters \"group_by\", \"rate\", \"fill\" and \"buckets\" require the parameter \"step\"");
	if (!rc)
		rc = pprof_tagroot_check(o->group_by, "parameter \"group_by\"",
					 err);
	if (!rc && stepped && !o->step_ms)
		rc = err_set(err, ERR_INVALID,
			     "parameter \"step\" must be above 0");
	return rc;
}

/*
 * All parameters are checked, even those that have no effect together with the
 * others.
 */
int range_query_parse(struct range_query *rq, const struct request *r,
		      struct err *err)
{
	struct str text;
	int rc = params_require(&r->params, "query", &text, err);

	if (!rc)
		rc = params_selector("query", text, &rq->selector, err);
	if (!rc)
		rc = params_range(&r->params, TIME_REQUIRED, TIME_REQUIRED,
				  &rq->from, &rq->to, err);
	if (!rc)
		rc = params_count(&r->params, "limit", 0, &rq->limit, err);
	if (!rc)
		rc = params_count(&r->params, "max_profiles", 0,
				  &rq->max_profiles, err);
	if (!rc)
		rc = parse_timeline(r, rq, err);
	if (!rc)
		rc = total_filter_parse(&rq->filter, &r->params, "", err);
	rq->totals = params_is_on(&r->params, "totals");
	(void)params_find(&r->params, "function", &rq->function);
	if (!rc && rq->function.len && (rq->totals || rq->timeline.step_ms))
		rc = err_set(
			err, ERR_INVALID,
			"parameter \"function\" cannot be combined with \"totals\" or \"step\"");
	return rc;
}
