/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample visit: passes on the label sets that the samples of selected series have in
 * a range, for lists of labels. Of profiles that are stored as columns, it looks at the
 * labels of their tables, and at the rows that may have those that match; it decodes
 * only the others.
 *
 * Ownership: borrows everything.
 * Threads: one thread per call.
 */
#ifndef PYROSCOPE_ANSWER_SAMPLE_VISIT_H
#define PYROSCOPE_ANSWER_SAMPLE_VISIT_H

#include "pprof/profile/label_view.h"
#include "pprof/proto/decode.h"
#include "pyroscope/answer/call.h"
#include "query/select/reading_memory.h"

struct sample_visit;

/*
 * Called with a label set that samples of the series v->series have, or with an empty
 * one, if its samples need not be looked at. Returns 1 if nothing else of the series
 * is wanted, or an error.
 */
typedef int (*sample_visit_fn)(void *ctx, const struct sample_visit *v,
			       const struct label_view *labels,
			       struct err *err);

/* What is known of a label set of a table. */
enum visit_state {
	VISIT_OTHER,   /* the matchers do not match it */
	VISIT_WAITING, /* no row of the series is known to have it */
	VISIT_PASSED   /* it was passed on */
};

/* Profiles of a series that were not looked at. */
struct visit_rest {
	size_t series;
	int64_t *times; /* ascending, owned */
	size_t count;
};

/* A visit. */
struct sample_visit {
	struct pyroscope_call *call;
	const struct profile_query *query;
	struct querier *q; /* has selected the series of the query */
	int64_t from;
	int64_t to;
	sample_visit_fn fn;
	void *ctx;
	/* Whether samples are looked at, though the matchers need none. */
	bool lists_samples;
	/* The members below belong to the visit. */
	size_t series;
	bool is_first; /* no label set of the series was passed on before */
	bool is_done;  /* nothing else of the series is wanted */
	struct matcher lacking[SELECTOR_MATCHERS_MAX]; /* of labels it lacks */
	size_t lacking_count;
	/* By label set of the last table: an enum visit_state. */
	VEC(uint8_t) states;
	size_t waiting; /* label sets that match, and were not passed on */
	VEC(struct visit_rest) rest;
	struct decoder *decoder;
	struct profile fetched;
	struct growth_meter meter;
	struct reading_memory memory;
	bool is_partial; /* something was left out */
};

/*
 * Visit all series. The time of all visits of a call is bounded: if it is up, or a
 * profile is too large or cannot be read, the call gets a warning, and the rest is left
 * out. Errors as for query_check_deadline() and query_take(), and those
 * of fn(); ERR_INVALID: a matcher took too many steps.
 */
NODISCARD int sample_visit_run(struct sample_visit *v, struct err *err);

#endif
