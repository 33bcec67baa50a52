/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample visit: passes on the label sets that the samples of selected series have,
 * for lists of labels. It looks at the tables of stored profiles, and decodes only
 * those profiles that have none.
 *
 * Ownership: borrows everything.
 * Threads: one thread per call.
 */
#ifndef PYROSCOPE_ANSWER_SAMPLE_VISIT_H
#define PYROSCOPE_ANSWER_SAMPLE_VISIT_H

#include "pprof/profile/label_view.h"
#include "pprof/proto/decode.h"
#include "pyroscope/answer/call.h"

struct sample_visit;

/*
 * Called with a label set that samples of the series v->series have, or with an empty
 * one, if its samples need not be looked at. Returns 1 if nothing else of the series
 * is wanted, or an error.
 */
typedef int (*sample_visit_fn)(void *ctx, const struct sample_visit *v,
			       const struct label_view *labels,
			       struct err *err);

/* A visit. */
struct sample_visit {
	struct pyroscope_call *call;
	const struct profile_query *query;
	struct querier *q; /* has selected the series of the query */
	int64_t from;
	int64_t to;
	sample_visit_fn fn;
	void *ctx;
	/* whether samples are looked at, though the matchers need none */
	bool all;
	/* The members below belong to the visit. */
	size_t series;
	bool is_first; /* no label set of the series was passed on before */
	bool is_done;  /* nothing else of the series is wanted */
	VEC(struct matcher) lacking; /* matchers of labels it lacks */
	VEC(size_t) left;            /* series with profiles not looked at */
	struct decoder *decoder;
	struct profile fetched;
	struct growth_meter meter;
	int64_t until_ns; /* of clock_mono_ns() */
	bool is_late;     /* time was up before all was looked at */
};

/*
 * Visit all series. The time is bounded: if it is up, the call gets a warning, and the
 * rest is left out. Errors as for query_check_deadline() and query_take(), and those
 * of fn(); ERR_INVALID: a matcher took too many steps.
 */
NODISCARD int sample_visit_run(struct sample_visit *v, struct err *err);

#endif
