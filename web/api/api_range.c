/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/query_range: the times of the profiles in a range. On request, also
 * the totals of each profile. With a time step, the answer has one total per
 * step instead.
 */
#include "web/api/api.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/selector.h"
#include "query/history/timeline.h"
#include "query/merge/function_search.h"
#include "query/select/coverage.h"
#include "query/select/string_set.h"
#include "query/select/total_filter.h"
#include "web/api/context.h"
#include "web/api/envelope.h"
#include "web/api/range_query.h"
#include "web/http/server.h"

enum {
	/*
	 * Heartbeats are read from so long before the profiles: whether the
	 * machine had any tells whether those without one are older.
	 */
	RANGE_BEATS_MS = 3600000,
};

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

/* What the functions that write the totals of one series share. */
struct totals_writer {
	struct json *j;
	const struct totals_view *view;
	struct typeset *types; /* the decoded type sets of the view */
	/* names of the sample types that are written, as "type/unit" */
	struct string_set names;
	struct limits limits;
	struct growth_meter meter;
};

/*
 * Account for some work, and for the memory of the type sets and names, which
 * is not given back before the series is written.
 */
static int totals_meter(struct totals_writer *w, size_t work, struct err *err)
{
	return limits_meter(&w->limits, &w->meter, work,
			    w->view->typeset_count * sizeof(*w->types) +
				    string_set_memory(&w->names),
			    err);
}

/*
 * Write the totals of one sample type, one for each profile; null for a profile
 * that lacks the sample type.
 */
static int write_total(struct totals_writer *w, const struct value_type *type,
		       struct err *err)
{
	const struct totals_view *t = w->view;
	int rc = 0;

	json_begin(w->j, '[');
	for (size_t i = 0; i < t->count && !rc; i++) {
		int64_t v;

		if (total_of(t, w->types, i, type, &v))
			json_int(w->j, v);
		else
			json_double(w->j, (double)NAN);
		rc = totals_meter(w, 1 + w->types[t->rows[i].typeset].count,
				  err);
	}
	json_end(w->j, ']');
	return rc;
}

/* Write the totals of those sample types of a set that are not written yet. */
static int write_typeset(struct totals_writer *w, const struct typeset *set,
			 struct err *err)
{
	struct buf name = { 0 };
	int rc = 0;

	for (size_t i = 0; i < set->count && !rc; i++) {
		const struct value_type *type = &set->types[i];
		struct str key;

		buf_reset(&name);
		buf_add(&name, type->type.ptr, type->type.len);
		buf_byte(&name, '/');
		buf_add(&name, type->unit.ptr, type->unit.len);
		key = str_from(buf_bytes(&name));
		rc = totals_meter(w, 1, err);
		if (rc || !string_set_add(&w->names, key))
			continue;
		json_key_str(w->j, key);
		rc = write_total(w, type, err);
	}
	buf_fini(&name);
	return rc;
}

/* Decode the type sets of a series, after asking for their memory. */
static int decode_view_types(struct totals_writer *w, struct err *err)
{
	const struct totals_view *t = w->view;
	int rc = totals_meter(w, 1, err);

	if (rc)
		return rc;
	w->types = mem_zalloc(t->typeset_count, sizeof(*w->types));
	for (size_t s = 0; s < t->typeset_count && !rc; s++) {
		rc = typeset_decode(t->typesets[s], &w->types[s], err);
		if (!rc)
			rc = totals_meter(w, w->types[s].count, err);
	}
	return rc;
}

/* Write the totals of a series for all its sample types. */
static int write_totals(struct json *j, struct query_work *work,
			const struct totals_view *t, struct err *err)
{
	struct totals_writer w = { .j = j,
				   .view = t,
				   .limits = query_limits(work) };
	int rc = decode_view_types(&w, err);

	json_key(j, "totals");
	json_begin(j, '{');
	for (size_t s = 0; s < t->typeset_count && !rc; s++)
		rc = write_typeset(&w, &w.types[s], err);
	json_end(j, '}');
	query_give(work, (int64_t)w.meter.spent);
	string_set_fini(&w.names);
	mem_free(w.types);
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
	/* for rates: when the machines of the series were sampled */
	struct coverage coverage;
	/* the range that is read */
	int64_t from;
	int64_t to;
	/* the search for the function, if the request names one */
	struct function_search finder;
	/* temporary: the times of a series, and those with the function */
	VEC(int64_t) times;
	VEC(int64_t) found;
	int64_t written;  /* number of series written */
	int64_t profiles; /* number of profiles whose times are written */
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

/*
 * Count the profiles of a series that is written. ERR_INVALID: there are more
 * profiles than the parameter max_profiles allows.
 */
static int api_range_count(struct listing *l, size_t count, struct err *err)
{
	l->profiles += (int64_t)count;
	if (!l->rq->max_profiles || l->profiles <= l->rq->max_profiles)
		return 0;
	return err_set(
		err, ERR_INVALID,
		"the range has more than %" PRId64
		" profiles (parameter \"max_profiles\"); choose a shorter range, fewer series, or a \"step\"",
		l->rq->max_profiles);
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

/*
 * Fill l->times with the times of the wanted profiles of a series. They are
 * copied: the querier's own list is valid only until its next call, and the
 * search for a function reads profiles through the querier.
 */
static int load_times(struct listing *l, size_t i, struct err *err)
{
	const struct range_query *rq = l->rq;
	struct total_column column = { 0 };
	struct times_view times = { 0 };
	struct totals_view totals = { 0 };
	int rc = rq->filter.set ?
			 querier_totals(l->q, i, rq->from, rq->to, &totals,
					err) :
			 querier_times(l->q, i, rq->from, rq->to, &times, err);

	l->times.count = 0;
	vec_reserve(&l->times, times.count);
	for (size_t k = 0; k < times.count && !rc; k++)
		*vec_add(&l->times) = times.ms[k];
	for (size_t k = 0; k < totals.count && !rc; k++) {
		bool wanted = false;

		rc = total_filter_select(&rq->filter, &column, &totals, k,
					 &wanted, err);
		if (wanted)
			*vec_add(&l->times) = totals.rows[k].ms;
	}
	total_column_fini(&column);
	return rc;
}

/* List the times of a series. */
static int list_times(struct listing *l, size_t i, struct err *err)
{
	int rc = load_times(l, i, err);

	if (rc || !l->times.count || !api_range_admit(l))
		return rc;
	write_times(l, i, l->times.v, l->times.count);
	return api_range_count(l, l->times.count, err);
}

/* List the times of those profiles of a series that contain the function. */
static int list_found(struct listing *l, size_t i, struct err *err)
{
	int rc = load_times(l, i, err);

	l->found.count = 0;
	for (size_t k = 0; k < l->times.count && !rc; k++) {
		bool found = false;

		rc = function_search_look(&l->finder, l->q, i, l->times.v[k],
					  &found, err);
		if (found)
			*vec_add(&l->found) = l->times.v[k];
	}
	if (rc || !l->found.count || !api_range_admit(l))
		return rc;
	write_times(l, i, l->found.v, l->found.count);
	return api_range_count(l, l->found.count, err);
}

/* Load the totals of the wanted profiles of a series. */
static int load_totals(struct listing *l, size_t i, struct totals_view *t,
		       struct total_rows *rows, struct err *err)
{
	int rc = querier_totals(l->q, i, l->from, l->to, t, err);

	*rows = (struct total_rows){ 0 };
	return rc ? rc :
		    total_filter_reduce(&l->rq->filter, &l->a->work, t, rows,
					err);
}

/* List times and totals of a series. */
static int list_totals(struct listing *l, size_t i, struct err *err)
{
	struct totals_view t = { 0 };
	struct total_rows rows;
	int rc = load_totals(l, i, &t, &rows, err);

	if (!rc && t.count && api_range_admit(l)) {
		begin_series(&l->j, querier_labels(l->q, i));
		for (size_t k = 0; k < t.count; k++)
			json_int(&l->j, t.rows[k].ms);
		json_end(&l->j, ']');
		rc = write_totals(&l->j, &l->a->work, &t, err);
		json_end(&l->j, '}');
		if (!rc)
			rc = api_range_count(l, t.count, err);
	}
	total_rows_fini(&rows);
	return rc;
}

/*
 * Add a series to the timeline. When the limit of groups is reached, only
 * series that belong to existing groups are added; other series are left out.
 */
static int add_to_timeline(struct listing *l, size_t i, struct err *err)
{
	struct labels *labels = querier_labels(l->q, i);
	const struct coverage_node *node = NULL;
	struct totals_view t = { 0 };
	struct total_rows rows = { 0 };
	size_t groups = l->timeline.groups.count;
	bool admit = !l->rq->limit || (int64_t)groups < l->rq->limit;
	int rc = 0;

	/* A filter leaves out profiles, so heartbeats do not tell of their time. */
	if (l->timeline.o->rate && !l->rq->filter.set)
		rc = coverage_find(&l->coverage, labels, &node, err);
	if (!rc)
		rc = load_totals(l, i, &t, &rows, err);
	if (!rc && t.count)
		rc = timeline_add(&l->timeline, labels, &t, node,
				  admit && !l->timeline.counting, err);
	total_rows_fini(&rows);
	return rc;
}

/*
 * Add every series once more, to count totals in buckets, whose bounds are
 * known only now.
 */
static int fill_buckets(struct listing *l, struct err *err)
{
	int rc = timeline_begin_counting(&l->timeline, err);

	for (size_t i = 0; i < querier_count(l->q) && !rc; i++) {
		rc = query_check_deadline(&l->a->work, err);
		if (!rc)
			rc = add_to_timeline(l, i, err);
	}
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
	const struct err *lost = querier_lost(l->q) ?
					 querier_lost(l->q) :
					 coverage_lost(&l->coverage);
	CLEANUP(mem_freep)
	char *unread = mem_printf(
		"some stored data could not be read and is left out; the first error: %s",
		lost ? lost->msg : "");
	const char *warnings[4] = { NULL };
	size_t n = 0;

	if (l->more)
		warnings[n++] = text;
	if (l->finder.visit.unread)
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
	if (!rc && l->timeline.o && l->timeline.o->buckets)
		rc = fill_buckets(l, err);
	if (rc)
		return rc;
	l->more = l->more || l->timeline.left_out;
	if (!stepped)
		json_end(&l->j, ']');
	else
		rc = timeline_json(&l->timeline, &l->j, err);
	if (rc)
		return rc;
	api_range_finish(l);
	return query_take_output(&l->a->work, err);
}

/* Ask for the heartbeats of the machines, before profiles are listed. */
static void api_range_cover(const struct web *w, struct listing *l)
{
	int64_t from;

	if (__builtin_sub_overflow(l->from, RANGE_BEATS_MS, &from))
		from = INT64_MIN;
	coverage_init(&l->coverage, w->o.db, &l->a->work, from, l->to);
}

/* Answer a parsed request, and free the memory that it needed. */
static int api_range_answer(struct web *w, const struct range_query *rq,
			    struct request *r, struct answer *a,
			    struct err *err)
{
	struct listing l = { .rq = rq, .r = r, .a = a };
	int rc = 0;

	l.from = rq->from;
	l.to = rq->to;
	if (rq->timeline.step_ms) {
		timeline_range(&rq->timeline, &l.from, &l.to);
		rc = timeline_init(&l.timeline, &rq->timeline, err);
	}
	if (rq->timeline.rate)
		api_range_cover(w, &l);
	if (rq->function.len)
		rc = function_search_init(&l.finder, rq->function,
					  (size_t)w->memory.max, &a->work, err);

	if (!rc) {
		query_open(&a->work, w->o.db, &l.q);
		rc = query_select(&a->work, l.q, rq->selector.matchers,
				  rq->selector.count, l.from, l.to, err);
	}
	if (!rc)
		rc = list_series(&l, err);
	timeline_fini(&l.timeline);
	coverage_fini(&l.coverage);
	function_search_fini(&l.finder);
	vec_fini(&l.times);
	vec_fini(&l.found);
	querier_close(l.q);
	return rc;
}

void api_query_range(void *ctx, struct request *r, struct answer *a)
{
	struct range_query rq = { 0 };
	struct err err;
	int rc = range_query_parse(&rq, r, &err);

	rq.timeline.limits = query_limits(&a->work);
	if (!rc)
		rc = api_range_answer(ctx, &rq, r, a, &err);
	selector_fini(&rq.selector);
	if (rc)
		answer_error(a, &err);
}
