/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query spec: which profiles a query is about. A diff has two specs, whose
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

enum match {
	MATCH_NEAREST, /* before or after */
	MATCH_AFTER,
	MATCH_EXACT,
	MATCH_BEFORE
};

struct query_spec {
	struct selector selector;
	bool merged;  /* everything in [from, to], else one profile */
	int64_t time; /* of the one */
	enum match match;
	int64_t from; /* of the range in which it is looked for, too */
	int64_t to;
};

/*
 * Parse mode, query, time or from and to, with suffix ("", "_a", "_b") behind
 * their names. ERR_INVALID names the parameter. query_spec_fini() on every path.
 */
NODISCARD int query_spec_parse(struct query_spec *s, const struct params *p,
			       const char *suffix, struct err *err);
void query_spec_fini(struct query_spec *s);

/* Make it one of the profile nearest to a time. */
void query_spec_at(struct query_spec *s, int64_t ms);

/*
 * Of the series that q has selected, the profile nearest to the side's time;
 * of several series the first in label order. ERR_NOTFOUND.
 */
NODISCARD int query_nearest(const struct query_spec *s,
			    const struct query_work *w, struct querier *q,
			    size_t *series, int64_t *ms, struct err *err);

#endif
