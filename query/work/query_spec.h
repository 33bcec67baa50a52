/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query spec: which profiles a query asks for. A diff has two specs, whose
 * parameters end in _a and _b.
 *
 * Ownership: query_spec_fini() frees the selector; texts borrow from the
 * parameters.
 * Threads: a plain value.
 */
#ifndef QUERY_WORK_QUERY_SPEC_H
#define QUERY_WORK_QUERY_SPEC_H

#include "model/selector.h"
#include "query/params.h"
#include "query/query_work.h"
#include "tsdb/querier.h"

/* On which side of the time asked for a single profile may be. */
enum match {
	MATCH_NEAREST, /* on either side */
	MATCH_AFTER,
	MATCH_EXACT,
	MATCH_BEFORE
};

/* Which profiles: all in a time range, or the one nearest to a time. */
struct query_spec {
	struct selector selector;
	bool merged;  /* all profiles in [from, to], else a single one */
	int64_t time; /* of a single profile, ms */
	enum match match;
	int64_t from; /* range of the merge, or of the search */
	int64_t to;
};

/*
 * Parse the parameters mode and query, and time or from and to; `suffix` ("",
 * "_a" or "_b") is appended to their names. Returns ERR_INVALID, which names
 * the parameter. Call query_spec_fini() on success and failure alike.
 */
NODISCARD int query_spec_parse(struct query_spec *s, const struct params *p,
			       const char *suffix, struct err *err);

/* Free the selector. */
void query_spec_fini(struct query_spec *s);

/* Turn the spec into one for the single profile nearest to the time ms. */
void query_spec_at(struct query_spec *s, int64_t ms);

/*
 * Find the profile nearest to the spec's time among the series that q has
 * selected; the first series in label order wins a tie. Sets *series and *ms.
 * Returns ERR_NOTFOUND, with an explanation, when there is none within 5
 * minutes, ERR_CORRUPT when that may be due to damage, and ERR_TIMEOUT or
 * ERR_CLOSED when time ran out.
 */
NODISCARD int query_nearest(const struct query_spec *s,
			    const struct query_work *w, struct querier *q,
			    size_t *series, int64_t *ms, struct err *err);

#endif
