/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query spec: the profiles that a query selects. A diff has two specs; their
 * parameters end in _a and _b.
 *
 * Ownership: query_spec_fini() frees the selector; texts borrow from the
 * parameters.
 * Threads: a plain value.
 */
#ifndef QUERY_SELECT_QUERY_SPEC_H
#define QUERY_SELECT_QUERY_SPEC_H

#include "model/selector.h"
#include "query/select/params.h"
#include "query/select/query_work.h"
#include "query/select/total_filter.h"
#include "tsdb/query/querier.h"

/* Where a single profile may be, relative to the requested time. */
enum match {
	MATCH_NEAREST, /* before or after the time, whichever is nearest */
	MATCH_AFTER,
	MATCH_EXACT,
	MATCH_BEFORE
};

/*
 * A selection of profiles: all in a time range, or the one nearest to a time.
 */
struct query_spec {
	struct selector selector;
	/*
	 * If `any_count` is not 0, these lists of matchers select instead, any
	 * of them, and then only the series for which keep() is true.
	 */
	const struct matcher_list *any;
	size_t any_count;
	bool (*keep)(void *ctx, const struct labels *ls);
	void *keep_ctx;
	/*
	 * Of the series, only the profiles for which pick() is true are merged, and
	 * of counters, how much they grew before; NULL: all profiles are.
	 */
	bool (*pick)(void *ctx, const struct labels *ls, int64_t ms);
	void *pick_ctx;
	/*
	 * Matchers that decide about samples: of a series that lacks the label of
	 * one, only samples are merged that the matcher matches (merge_match()). At
	 * most SELECTOR_MATCHERS_MAX.
	 */
	const struct matcher *sample_matchers;
	size_t sample_count;
	bool merged;  /* select all profiles in [from, to], not a single one */
	int64_t time; /* requested time of a single profile, in ms */
	enum match match;
	/* Range of the merge, or of the search for a single profile. */
	int64_t from;
	int64_t to;
	struct total_filter totals; /* selects profiles by their totals */
};

/*
 * Parse the parameters mode, query, time, match, from, to and those of
 * total_filter_parse(); `suffix` ("", "_a" or "_b") is appended to their names.
 * Returns ERR_INVALID, with the parameter's name in the message, when a
 * parameter is missing or malformed. Call query_spec_fini() on success and
 * failure alike.
 */
NODISCARD int query_spec_parse(struct query_spec *s, const struct params *p,
			       const char *suffix, struct err *err);

/*
 * Do the same for a request that always has a time range: `from` and `to` (or
 * `start` and `end`) are required, and `time` and mode=single are refused.
 */
NODISCARD int query_spec_parse_range(struct query_spec *s,
				     const struct params *p, struct err *err);

/*
 * Select the series of a spec; heartbeats are not selected unless a matcher is
 * about the name of the series. Errors as for querier_select().
 */
NODISCARD int query_spec_select(const struct query_spec *s, struct querier *q,
				struct err *err);

/* Free the selector. */
void query_spec_fini(struct query_spec *s);

/*
 * Find the profile nearest to the spec's time in the series that q has
 * selected. If profiles of two series are equally near, the profile of the
 * first series in label order is chosen. Sets *series and *ms. Returns
 * ERR_NOTFOUND, with an explanation, when no profile is within 5 minutes,
 * ERR_CORRUPT when damage may be the reason, and ERR_TIMEOUT or ERR_CLOSED when
 * time ran out.
 */
NODISCARD int query_nearest(const struct query_spec *s, struct query_work *w,
			    struct querier *q, size_t *series, int64_t *ms,
			    struct err *err);

#endif
