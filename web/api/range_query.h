/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Range query: the parameters of /api/v1/query_range.
 *
 * Ownership: the caller frees the selector; texts borrow from the request.
 * Threads: a plain value.
 */
#ifndef WEB_API_RANGE_QUERY_H
#define WEB_API_RANGE_QUERY_H

#include "model/selector.h"
#include "query/history/timeline.h"
#include "query/select/total_filter.h"
#include "web/http/route.h"

/* The parameters of the request, parsed. */
struct range_query {
	struct selector selector;
	int64_t from;
	int64_t to;
	/* largest number of series or of groups; 0: no limit */
	int64_t limit;
	/*
	 * largest number of profiles whose times are listed; with more, the
	 * request fails; 0: no limit
	 */
	int64_t max_profiles;
	/* whether to list the totals of each profile as well */
	bool totals;
	/* only profiles that contain this function; empty: all */
	struct str function;
	struct total_filter filter; /* selects profiles by their totals */
	/* options of the timeline; step_ms is 0 if no step is given */
	struct timeline_options timeline;
};

/*
 * Parse the parameter "step": a duration such as "15s" or, as in Prometheus, a
 * number of seconds. *ms is set to 0 when the parameter is missing.
 * ERR_INVALID: the parameter is malformed.
 */
NODISCARD int range_query_step(const struct request *r, int64_t *ms,
			       struct err *err);

/*
 * Parse the parameters of a request into *rq, which is zeroed. ERR_INVALID: a
 * parameter is missing or malformed, or two parameters exclude each other; the
 * message names them. The caller calls selector_fini() on success and failure
 * alike.
 */
NODISCARD int range_query_parse(struct range_query *rq, const struct request *r,
				struct err *err);

#endif
