/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/sample_visit.h"

#include "base/clock.h"
#include "base/units.h"
#include "pprof/columns/columns_keys.h"
#include "query/select/bounded_decode.h"

enum {
	/* Samples are looked at for so many milliseconds in a call. */
	VISIT_MS = 1000,
	/* So many of the newest profiles of each series come first. */
	VISIT_NEWEST = 4,
	/* The time is asked for after so many label sets. */
	VISIT_SETS = 1024
};

/* Larger profiles are left out, in bytes. */
#define VISIT_PROFILE_MAX (8 * MIB)

/* Whether there is time; if not, the rest is left out. */
static bool sample_visit_has_time(struct sample_visit *v)
{
	bool has = clock_mono_ns() <= v->call->samples_until_ns;

	v->is_partial |= !has;
	return has;
}

/* Pass on a label set that the matchers match. */
static int sample_visit_pass(struct sample_visit *v,
			     const struct label_view *labels, struct err *err)
{
	int rc = v->fn(v->ctx, v, labels, err);

	v->is_first = false;
	v->is_done = rc == 1;
	return rc == 1 ? 0 : rc;
}

/* Whether the matchers of the labels that the series lacks match a label set. */
static int sample_visit_judge(struct sample_visit *v,
			      const struct label_view *labels, bool *out,
			      struct err *err)
{
	struct limits limits = query_limits(v->call->work);
	size_t work = 0;

	*out = label_view_match(labels, v->lacking, v->lacking_count, &work);
	return limits_meter(&limits, &v->meter, work, 0, err);
}

/* A walk over the rows of a series. */
struct visit_walk {
	struct sample_visit *v;
	const struct dictionary *d;
	int rc; /* of judging the label sets of a table */
	struct err err;
};

/* Judge the label sets of a table. */
static int sample_visit_judge_table(struct sample_visit *v,
				    const struct dictionary *d, struct err *err)
{
	int rc = 0;

	v->states.count = 0;
	v->waiting = 0;
	for (uint32_t i = 0; i < columns_keys_set_count(d) && !rc; i++) {
		struct label_view labels = columns_keys_labels(d, i);
		bool matches;

		rc = sample_visit_judge(v, &labels, &matches, err);
		*vec_add(&v->states) = matches ? VISIT_WAITING : VISIT_OTHER;
		v->waiting += matches;
	}
	return rc;
}

/* Implement querier_columns_fns.wants. */
static bool sample_visit_wants(void *ctx, const struct codec_table *table,
			       bool is_new)
{
	struct visit_walk *w = ctx;

	if (is_new) {
		w->d = columns_keys_of_table(table);
		w->rc = sample_visit_judge_table(w->v, w->d, &w->err);
	}
	/* After an error, take() passes it on. */
	return w->v->waiting || w->rc;
}

/* Pass on the label sets of a row that wait. */
static int sample_visit_row(struct visit_walk *w, const struct codec_rows *rows,
			    uint16_t row, struct err *err)
{
	struct sample_visit *v = w->v;
	struct limits limits = query_limits(v->call->work);
	size_t count;
	const uint32_t *keys = columns_keys_of_row(rows, row, &count);
	int rc = 0;

	for (size_t i = 0; i < count && !rc && v->waiting && !v->is_done; i++) {
		uint32_t set = columns_keys_set(w->d, keys[i]);
		struct label_view labels;

		if (v->states.v[set] != VISIT_WAITING)
			continue;
		v->states.v[set] = VISIT_PASSED;
		v->waiting--;
		labels = columns_keys_labels(w->d, set);
		rc = sample_visit_pass(v, &labels, err);
	}
	return rc ? rc : limits_meter(&limits, &v->meter, 1 + count, 0, err);
}

/* Implement querier_columns_fns.take. */
static int sample_visit_take(void *ctx, const struct codec_rows *rows,
			     const uint16_t *which, size_t count,
			     struct err *err)
{
	struct visit_walk *w = ctx;
	int rc = w->rc ? err_set(err, w->rc, "%s", w->err.msg) : 0;

	for (size_t i = 0; i < count && !rc && !w->v->is_done; i++)
		rc = sample_visit_row(w, rows, which[i], err);
	return rc ? rc : w->v->is_done || !sample_visit_has_time(w->v);
}

/* Pass on the label sets of a decoded profile. */
static int sample_visit_sets(struct sample_visit *v, const struct pprof *p,
			     struct err *err)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < p->label_sets.count && !v->is_done;
	     i++) {
		struct label_view labels = label_view_of(p, i);
		bool matches;

		if (i % VISIT_SETS == VISIT_SETS - 1 &&
		    !sample_visit_has_time(v))
			break;
		rc = sample_visit_judge(v, &labels, &matches, err);
		if (!rc && matches)
			rc = sample_visit_pass(v, &labels, err);
	}
	return rc;
}

/* Pass on the label sets of one profile; one that cannot be read is left out. */
static int sample_visit_profile(struct sample_visit *v, int64_t ms,
				struct err *err)
{
	struct err why;
	struct pprof *p;
	int rc = querier_fetch(v->q, v->series, ms, &v->fetched, &why);

	if (!rc)
		rc = bounded_decode(v->decoder, v->call->work->memory,
				    buf_bytes(&v->fetched.raw), &p, &why);
	if (!rc)
		rc = reading_memory_account(&v->memory,
					    decoder_memory(v->decoder) +
						    v->fetched.raw.cap +
						    querier_memory(v->q),
					    &why);
	if (rc) {
		v->is_partial = true;
		return rc == ERR_TIMEOUT || rc == ERR_CLOSED ?
			       err_set(err, rc, "%s", why.msg) :
			       0;
	}
	return sample_visit_sets(v, p, err);
}

/* Begin with a series: note which matchers are of labels that it lacks. */
static void sample_visit_begin(struct sample_visit *v, size_t series)
{
	v->series = series;
	v->is_first = true;
	v->is_done = false;
	v->lacking_count = matchers_lacking(
		v->query->sample_matchers, v->query->sample_count,
		querier_labels(v->q, series), v->lacking);
}

/* Visit profiles of the series, from the newest on. */
static int sample_visit_times(struct sample_visit *v, const int64_t *times,
			      size_t count, struct err *err)
{
	int rc = 0;

	while (count && !rc && !v->is_done && sample_visit_has_time(v))
		rc = sample_visit_profile(v, times[--count], err);
	return rc;
}

/* Visit the newest of the profiles that are not columns; the others come later. */
static int sample_visit_others(struct sample_visit *v,
			       const struct times_view *others, struct err *err)
{
	size_t newest = others->count < VISIT_NEWEST ? others->count :
						       VISIT_NEWEST;
	size_t before = others->count - newest;
	struct visit_rest *rest;
	int rc = sample_visit_times(v, others->ms + before, newest, err);

	if (rc || !before || v->is_done)
		return rc;
	rc = query_take(v->call->work, (int64_t)(before * sizeof(int64_t)),
			err);
	if (rc)
		return rc;
	rest = vec_add(&v->rest);
	*rest = (struct visit_rest){ .series = v->series, .count = before };
	rest->times = mem_dup(others->ms, before * sizeof(int64_t));
	return 0;
}

/* Visit a series: its rows, and its newest profiles that are none. */
static int sample_visit_series(struct sample_visit *v, size_t series,
			       struct err *err)
{
	const struct label_view none = { 0 };
	struct visit_walk walk = { .v = v };
	const struct querier_columns_fns fns = { .ctx = &walk,
						 .wants = sample_visit_wants,
						 .take = sample_visit_take };
	struct times_view others;
	int rc = 0;

	sample_visit_begin(v, series);
	if ((v->lacking_count || v->lists_samples) &&
	    sample_visit_has_time(v)) {
		rc = querier_columns(v->q, series, v->from, v->to, &fns,
				     &others, err);
		if (!rc)
			rc = sample_visit_others(v, &others, err);
	}
	/* The series itself is selected, whatever its samples have. */
	if (!rc && !v->lacking_count && v->is_first)
		rc = sample_visit_pass(v, &none, err);
	return rc;
}

/* Visit what was left for later. */
static int sample_visit_rest(struct sample_visit *v, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < v->rest.count && !rc; i++) {
		const struct visit_rest *r = &v->rest.v[i];

		sample_visit_begin(v, r->series);
		v->is_first = false;
		rc = sample_visit_times(v, r->times, r->count, err);
	}
	return rc;
}

/* Free the buffers. */
static void sample_visit_fini(struct sample_visit *v)
{
	for (size_t i = 0; i < v->rest.count; i++)
		mem_free(v->rest.v[i].times);
	vec_fini(&v->rest);
	vec_fini(&v->states);
	decoder_free(v->decoder);
	profile_fini(&v->fetched);
}

int sample_visit_run(struct sample_visit *v, struct err *err)
{
	size_t count = querier_count(v->q);
	int rc = 0;

	if (!v->call->samples_until_ns)
		v->call->samples_until_ns =
			clock_mono_ns() + VISIT_MS * 1000000LL;
	v->memory.work = v->call->work;
	v->fetched.raw = buf_init(VISIT_PROFILE_MAX);
	v->decoder = decoder_new((size_t)v->call->work->memory->max);
	reading_memory_watch(&v->memory, v->q);
	for (size_t i = 0; i < count && !rc; i++) {
		rc = query_check_deadline(v->call->work, err);
		if (!rc)
			rc = sample_visit_series(v, i, err);
	}
	if (!rc)
		rc = sample_visit_rest(v, err);
	if (!rc)
		rc = matchers_check_steps(v->query->sample_matchers,
					  v->query->sample_count, err);
	if (v->is_partial && !v->call->warning)
		v->call->warning =
			"not all samples were looked at for their labels; select fewer series or a shorter range";
	sample_visit_fini(v);
	return rc;
}
