/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/query_range: the times of the profiles in a range. On request, also
 * the totals of each profile. With a time step, the answer has one total per
 * step instead.
 */
#include "web/api/api_range.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"
#include "model/selector.h"
#include "pprof/tagroot.h"
#include "query/function_search.h"
#include "query/params.h"
#include "query/timeline.h"
#include "web/handler/context.h"
#include "web/handler/envelope.h"
#include "web/http/server.h"

/* The parameters of the request, parsed. */
struct range_query {
	struct selector selector;
	int64_t from;
	int64_t to;
	/* largest number of series or of groups; 0: no limit */
	int64_t limit;
	/* whether to list the totals of each profile as well */
	bool totals;
	/* only profiles that contain this function; empty: all */
	struct str function;
	/* options of the timeline; step_ms is 0 if no step is given */
	struct timeline_options timeline;
};

/* The following functions parse the request. */

/*
 * Parse the step of a timeline: a duration such as "15s" or, as in Prometheus,
 * a number of seconds. *ms is set to 0 when the parameter is missing.
 */
static int parse_step(const struct request *r, int64_t *ms, struct err *err)
{
	struct str s;
	double seconds;

	*ms = 0;
	if (!params_find(&r->params, "step", &s) || !s.len)
		return 0;
	if (str_to_double(s, &seconds) && seconds >= 0.001 && seconds < 1e12) {
		*ms = (int64_t)llround(seconds * 1000);
		return 0;
	}
	return duration_parse(s, ms, err) ?
		       err_wrap(err, ERR_INVALID,
				"invalid parameter \"step\"") :
		       0;
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
	int rc = parse_step(r, &o->step_ms, err);
	bool stepped = params_find(&r->params, "step", &step) && step.len;

	o->from = rq->from;
	o->to = rq->to;
	(void)params_find(&r->params, "group_by", &o->group_by);
	o->rate = params_is_on(&r->params, "rate");
	if (!rc && (o->group_by.len || o->rate) && !stepped)
		rc = err_set(
			err, ERR_INVALID,
			"parameters \"group_by\" and \"rate\" require the parameter \"step\"");
	if (!rc)
		rc = pprof_tagroot_check(o->group_by, "parameter \"group_by\"",
					 err);
	if (!rc && stepped && !o->step_ms)
		rc = err_set(err, ERR_INVALID,
			     "parameter \"step\" must be above 0");
	return rc;
}

/* Parse the whole request. */
static int api_range_parse(const struct request *r, struct range_query *rq,
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
		rc = parse_timeline(r, rq, err);
	rq->totals = params_is_on(&r->params, "totals");
	(void)params_find(&r->params, "function", &rq->function);
	if (!rc && rq->function.len && (rq->totals || rq->timeline.step_ms))
		rc = err_set(
			err, ERR_INVALID,
			"parameter \"function\" cannot be combined with \"totals\" or \"step\"");
	return rc;
}

/* The following functions write the answer, one JSON object for each series. */

/* Write the JSON object of a series up to the start of the array of times. */
static void begin_series(struct json *j, struct labels *labels)
{
	json_begin(j, '{');
	json_key(j, "labels");
	labels_json(labels, j);
	json_key(j, "timestamps");
	json_begin(j, '[');
}

/*
 * Find the total of one profile (a row of the totals) for a sample type.
 * Returns false when the profile lacks the sample type.
 */
static bool total_of(const struct totals_view *t, const struct typeset *types,
		     size_t row, const struct value_type *type, int64_t *out)
{
	const struct typeset *set = &types[t->rows[row].typeset];

	for (size_t i = 0; i < set->count; i++) {
		if (str_eq(set->types[i].type, type->type) &&
		    str_eq(set->types[i].unit, type->unit)) {
			*out = t->totals[t->rows[row].first + i];
			return true;
		}
	}
	return false;
}

/*
 * Write the totals of one sample type, one for each profile; null for a profile
 * that lacks the sample type.
 */
static void write_total(struct json *j, const struct totals_view *t,
			const struct typeset *types,
			const struct value_type *type)
{
	CLEANUP(buf_fini) struct buf name = { 0 };

	buf_add(&name, type->type.ptr, type->type.len);
	buf_byte(&name, '/');
	buf_add(&name, type->unit.ptr, type->unit.len);
	json_key_str(j, str_from(buf_bytes(&name)));
	json_begin(j, '[');
	for (size_t i = 0; i < t->count; i++) {
		int64_t v;

		if (total_of(t, types, i, type, &v))
			json_int(j, v);
		else
			json_double(j, (double)NAN);
	}
	json_end(j, ']');
}

/*
 * Whether the sample type types[set].types[i] was written before: an earlier
 * type set contains it, or the same type set contains it at a smaller index.
 */
static bool api_range_is_known(const struct typeset *types, size_t set,
			       size_t i)
{
	const struct value_type *t = &types[set].types[i];

	for (size_t s = 0; s <= set; s++) {
		size_t count = s == set ? i : types[s].count;

		for (size_t k = 0; k < count; k++) {
			if (str_eq(types[s].types[k].type, t->type) &&
			    str_eq(types[s].types[k].unit, t->unit))
				return true;
		}
	}
	return false;
}

/* Write the totals of a series for all its sample types. */
static int write_totals(struct json *j, const struct totals_view *t,
			struct err *err)
{
	struct typeset *types = mem_zalloc(t->typeset_count, sizeof(*types));
	int rc = 0;

	for (size_t s = 0; s < t->typeset_count && !rc; s++)
		rc = typeset_decode(t->typesets[s], &types[s], err);
	json_key(j, "totals");
	json_begin(j, '{');
	for (size_t s = 0; s < t->typeset_count && !rc; s++) {
		for (size_t i = 0; i < types[s].count; i++) {
			if (!api_range_is_known(types, s, i))
				write_total(j, t, types, &types[s].types[i]);
		}
	}
	json_end(j, '}');
	mem_free(types);
	return rc;
}

/* The state of the answer while it is written. */
struct listing {
	const struct range_query *rq;
	struct request *r;
	struct querier *q;
	struct answer *a;
	struct json j;
	struct timeline timeline;
	/* the search for the function, if the request names one */
	struct function_search finder;
	/* temporary list of the times of matching profiles */
	VEC(int64_t) found;
	/* bytes taken from the query's budget for the timeline */
	int64_t taken;
	int64_t written; /* number of series written */
	/* whether `limit` left out series or groups */
	bool more;
};

/*
 * Whether the limit allows one more series. If so, the series is counted. If
 * not, the listing records that series are left out.
 */
static bool api_range_admit(struct listing *l)
{
	l->more = l->rq->limit && l->written == l->rq->limit;
	l->written += !l->more;
	return !l->more;
}

/* Write a series with its times, without totals. */
static void write_times(struct listing *l, size_t i, const int64_t *ms,
			size_t count)
{
	begin_series(&l->j, querier_labels(l->q, i));
	for (size_t k = 0; k < count; k++)
		json_int(&l->j, ms[k]);
	json_end(&l->j, ']');
	json_end(&l->j, '}');
}

/* List the times of a series. */
static int list_times(struct listing *l, size_t i, struct err *err)
{
	struct times_view t = { 0 };
	int rc = querier_times(l->q, i, l->rq->from, l->rq->to, &t, err);

	if (rc || !t.count || !api_range_admit(l))
		return rc;
	write_times(l, i, t.ms, t.count);
	return 0;
}

/*
 * List the times of those profiles of a series that contain the function. The
 * times are copied first: the search reads profiles through the querier, and
 * the querier's list of times is valid only until its next call.
 */
static int list_found(struct listing *l, size_t i, struct err *err)
{
	struct times_view t = { 0 };
	int rc = querier_times(l->q, i, l->rq->from, l->rq->to, &t, err);
	int64_t *ms = t.count ? mem_dup(t.ms, t.count * sizeof(*ms)) : NULL;

	l->found.count = 0;
	for (size_t k = 0; k < t.count && !rc; k++) {
		bool found = false;

		rc = function_search_look(&l->finder, l->q, i, ms[k], &found,
					  err);
		if (found)
			*vec_add(&l->found) = ms[k];
	}
	mem_free(ms);
	if (rc || !l->found.count || !api_range_admit(l))
		return rc;
	write_times(l, i, l->found.v, l->found.count);
	return 0;
}

/* List times and totals of a series. */
static int list_totals(struct listing *l, size_t i, struct err *err)
{
	struct totals_view t = { 0 };
	int rc = querier_totals(l->q, i, l->rq->from, l->rq->to, &t, err);

	if (rc || !t.count || !api_range_admit(l))
		return rc;
	begin_series(&l->j, querier_labels(l->q, i));
	for (size_t k = 0; k < t.count; k++)
		json_int(&l->j, t.rows[k].ms);
	json_end(&l->j, ']');
	rc = write_totals(&l->j, &t, err);
	json_end(&l->j, '}');
	return rc;
}

/*
 * Add a series to the timeline. When the limit of groups is reached, only
 * series that belong to existing groups are added; other series are left out.
 */
static int add_to_timeline(struct listing *l, size_t i, struct err *err)
{
	struct totals_view t = { 0 };
	int rc = querier_totals(l->q, i, l->rq->from, l->rq->to, &t, err);

	size_t groups = l->timeline.groups.count;

	if (rc || !t.count)
		return rc;
	rc = timeline_add(&l->timeline, querier_labels(l->q, i), &t,
			  !l->rq->limit || (int64_t)groups < l->rq->limit, err);
	if (!rc)
		rc = query_take(&l->a->work,
				(int64_t)l->timeline.memory - l->taken, err);
	l->taken = (int64_t)l->timeline.memory;
	return rc;
}

/* Add one series to the answer, in the form that the request asks for. */
static int list_one(struct listing *l, size_t i, struct err *err)
{
	int rc = query_check_deadline(&l->a->work, err);

	if (rc)
		return rc;
	if (l->rq->timeline.step_ms)
		return add_to_timeline(l, i, err);
	rc = l->rq->function.len ? list_found(l, i, err) :
	     l->rq->totals       ? list_totals(l, i, err) :
				   list_times(l, i, err);
	return rc ? rc : query_take_output(&l->a->work, err);
}

/* Finish the answer, with a warning for everything that was left out. */
static void api_range_finish(struct listing *l)
{
	CLEANUP(mem_freep)
	char *text = mem_printf("retrieved %" PRId64 " series, more available",
				l->rq->limit);
	const struct err *lost = querier_lost(l->q);
	CLEANUP(mem_freep)
	char *unread = mem_printf(
		"stored data could not be read and is left out; the first error: %s",
		lost ? lost->msg : "");
	const char *warnings[4] = { NULL };
	size_t n = 0;

	if (l->more)
		warnings[n++] = text;
	if (l->finder.unread)
		warnings[n++] =
			"the function was not searched in profiles that could not be read";
	if (lost)
		warnings[n] = unread;
	envelope_end(&l->j, l->a, warnings);
}

/* List all selected series that have profiles in the range. */
static int list_series(struct listing *l, struct err *err)
{
	bool stepped = l->rq->timeline.step_ms;
	int rc = 0;

	l->j = envelope_begin(l->a);
	if (!stepped)
		json_begin(&l->j, '[');
	for (size_t i = 0; i < querier_count(l->q) && !rc && !l->more; i++)
		rc = list_one(l, i, err);
	if (rc)
		return rc;
	l->more = l->more || l->timeline.left_out;
	if (stepped)
		timeline_json(&l->timeline, &l->j);
	else
		json_end(&l->j, ']');
	api_range_finish(l);
	return query_take_output(&l->a->work, err);
}

/* Answer a parsed request, and free the memory that it needed. */
static int api_range_answer(struct web *w, const struct range_query *rq,
			    struct request *r, struct answer *a,
			    struct err *err)
{
	struct listing l = { .rq = rq, .r = r, .a = a };
	int rc = 0;

	if (rq->timeline.step_ms)
		rc = timeline_init(&l.timeline, &rq->timeline, err);
	if (rq->function.len)
		rc = function_search_init(&l.finder, rq->function,
					  (size_t)w->memory.max, &a->work, err);

	if (!rc) {
		querier_open(w->o.db, &l.q);
		querier_select(l.q, rq->selector.matchers, rq->selector.count,
			       rq->from, rq->to);
		rc = query_take(&a->work, (int64_t)querier_memory(l.q), err);
	}
	if (!rc)
		rc = list_series(&l, err);
	timeline_fini(&l.timeline);
	function_search_fini(&l.finder);
	vec_fini(&l.found);
	querier_close(l.q);
	return rc;
}

void api_query_range(void *ctx, struct request *r, struct answer *a)
{
	struct range_query rq = { 0 };
	struct err err;
	int rc = api_range_parse(r, &rq, &err);

	if (!rc)
		rc = api_range_answer(ctx, &rq, r, a, &err);
	selector_fini(&rq.selector);
	if (rc)
		answer_error(a, &err);
}
