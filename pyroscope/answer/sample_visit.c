/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/sample_visit.h"

#include "base/clock.h"
#include "model/regex.h"
#include "pprof/columns/columns_keys.h"
#include "query/select/bounded_decode.h"

enum {
	/* For so many milliseconds samples are looked at. */
	VISIT_MS = 1000,
	/* Newest profiles of each series that come before all others. */
	VISIT_NEWEST = 4
};

/* Whether the visit goes on; false: its time is up, or the series is done. */
static bool sample_visit_goes_on(struct sample_visit *v)
{
	v->is_late |= clock_mono_ns() > v->until_ns;
	return !v->is_done && !v->is_late;
}

/* Pass on a label set, if all matchers match. */
static int sample_visit_set(struct sample_visit *v,
			    const struct label_view *labels, struct err *err)
{
	struct limits limits = query_limits(v->call->work);
	size_t work = 1 + labels->count;
	int rc;

	for (size_t i = 0; i < v->lacking.count; i++)
		work += matcher_work(&v->lacking.v[i]);
	rc = limits_meter(&limits, &v->meter, work, 0, err);
	if (rc || !label_view_matches(labels, v->lacking.v, v->lacking.count))
		return rc;
	rc = v->fn(v->ctx, v, labels, err);
	v->is_first = false;
	v->is_done = rc == 1;
	return rc == 1 ? 0 : rc;
}

/* Implement querier_table_fn: pass on the label sets of a table. */
static int sample_visit_table(void *ctx, const struct codec_table *table,
			      struct err *err)
{
	const struct dictionary *d = columns_keys_of_table(table);
	struct sample_visit *v = ctx;
	int rc = 0;

	for (uint32_t i = 0; i < columns_keys_set_count(d) && !rc; i++) {
		struct label_view labels = columns_keys_labels(d, i);

		if (!sample_visit_goes_on(v))
			break;
		rc = sample_visit_set(v, &labels, err);
	}
	return rc;
}

/* Pass on the label sets of one profile; one that is damaged is left out. */
static int sample_visit_profile(struct sample_visit *v, int64_t ms,
				struct err *err)
{
	struct limits limits = query_limits(v->call->work);
	struct pprof *p;
	int rc = querier_fetch(v->q, v->series, ms, &v->fetched, err);

	if (rc)
		return rc == ERR_TIMEOUT || rc == ERR_LIMIT ? rc : 0;
	rc = bounded_decode(v->decoder, v->call->work->memory,
			    buf_bytes(&v->fetched.raw), &p, err);
	if (!rc)
		rc = limits_meter(&limits, &v->meter, LIMITS_WORK,
				  decoder_memory(v->decoder) +
					  v->fetched.raw.cap +
					  querier_memory(v->q),
				  err);
	for (uint32_t i = 0; !rc && i < p->label_sets.count; i++) {
		struct label_view labels = label_view_of(p, i);

		if (!sample_visit_goes_on(v))
			break;
		rc = sample_visit_set(v, &labels, err);
	}
	return rc;
}

/* Note which matchers are of labels that a series lacks. */
static void sample_visit_begin(struct sample_visit *v, size_t series)
{
	const struct labels *own = querier_labels(v->q, series);

	v->series = series;
	v->is_first = true;
	v->is_done = false;
	v->lacking.count = 0;
	for (size_t i = 0; i < v->query->sample_count; i++) {
		const struct matcher *m = &v->query->sample_ones[i];

		if (!labels_get(own, m->name).len)
			*vec_add(&v->lacking) = *m;
	}
}

/*
 * Visit profiles of the series that have no table, from the newest on: the first
 * ones, or the others.
 */
static int sample_visit_others(struct sample_visit *v,
			       const struct times_view *times, bool is_first,
			       struct err *err)
{
	size_t newest = times->count < VISIT_NEWEST ? times->count :
						      VISIT_NEWEST;
	size_t end = is_first ? times->count : times->count - newest;
	size_t begin = is_first ? times->count - newest : 0;
	int rc = 0;

	for (size_t i = end; i > begin && !rc && sample_visit_goes_on(v); i--)
		rc = sample_visit_profile(v, times->ms[i - 1], err);
	if (is_first && begin && !v->is_done)
		*vec_add(&v->left) = v->series;
	return rc;
}

/* Visit a series: its tables, and its newest profiles that have none. */
static int sample_visit_series(struct sample_visit *v, size_t series,
			       struct err *err)
{
	const struct label_view none = { 0 };
	struct times_view others;
	int rc = 0;

	sample_visit_begin(v, series);
	if ((v->lacking.count || v->all) && sample_visit_goes_on(v)) {
		rc = querier_tables(v->q, series, v->from, v->to,
				    sample_visit_table, v, &others, err);
		if (!rc)
			rc = sample_visit_others(v, &others, true, err);
	}
	/* The series itself is selected, whatever its samples have. */
	if (!rc && !v->lacking.count && v->is_first)
		rc = sample_visit_set(v, &none, err);
	return rc;
}

/* The same for the other profiles. */
static int sample_visit_rest(struct sample_visit *v, size_t series,
			     struct err *err)
{
	struct times_view others;
	int rc;

	sample_visit_begin(v, series);
	v->is_done = true; /* with the tables */
	rc = querier_tables(v->q, series, v->from, v->to, sample_visit_table, v,
			    &others, err);
	v->is_done = false;
	return rc ? rc : sample_visit_others(v, &others, false, err);
}

/* ERR_INVALID: a matcher took too many steps. */
static int sample_visit_check(const struct sample_visit *v, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < v->query->sample_count && !rc; i++)
		rc = regex_check_steps(v->query->sample_ones[i].regex,
				       "selector", err);
	return rc;
}

int sample_visit_run(struct sample_visit *v, struct err *err)
{
	size_t count = querier_count(v->q);
	int rc = 0;

	v->until_ns = clock_mono_ns() + VISIT_MS * 1000000LL;
	v->decoder = decoder_new((size_t)v->call->work->memory->max);
	for (size_t i = 0; i < count && !rc; i++) {
		rc = query_check_deadline(v->call->work, err);
		if (!rc)
			rc = sample_visit_series(v, i, err);
	}
	for (size_t i = 0; i < v->left.count && !rc && !v->is_late; i++)
		rc = sample_visit_rest(v, v->left.v[i], err);
	if (!rc)
		rc = sample_visit_check(v, err);
	if (v->is_late && !v->call->warning)
		v->call->warning =
			"not all samples were looked at for their labels; select fewer series or a shorter range";
	decoder_free(v->decoder);
	profile_fini(&v->fetched);
	vec_fini(&v->lacking);
	vec_fini(&v->left);
	return rc;
}
