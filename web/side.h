/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Side: the profiles that a query is about. A diff has two of them, whose
 * parameters end in _a and _b.
 *
 * Ownership: side_fini() frees the selector; texts borrow from the request.
 */
#ifndef WEB_SIDE_H
#define WEB_SIDE_H

#include "model/selector.h"
#include "tsdb/querier.h"
#include "web/context.h"

enum match {
	MATCH_NEAREST, /* before or after */
	MATCH_AFTER,
	MATCH_EXACT,
	MATCH_BEFORE
};

struct side {
	struct selector selector;
	bool merged;  /* everything in [from, to], else one profile */
	int64_t time; /* of the one */
	enum match match;
	int64_t from; /* of the range in which it is looked for, too */
	int64_t to;
};

/*
 * Parse mode, query, time or from and to, with suffix ("", "_a", "_b") behind
 * their names. ERR_INVALID names the parameter. side_fini() on every path.
 */
NODISCARD int side_parse(struct side *s, struct request *r, const char *suffix,
			 struct err *err);
void side_fini(struct side *s);

/* Make it one of the profile nearest to a time. */
void side_at(struct side *s, int64_t ms);

/* A parameter with the suffix behind its name. */
const char *side_param(struct request *r, const char *name, const char *suffix);

/*
 * Of the series that q has selected, the profile nearest to the side's time;
 * of several series the first in label order. ERR_NOTFOUND.
 */
NODISCARD int side_nearest(const struct side *s, struct request *r,
			   struct querier *q, size_t *series, int64_t *ms,
			   struct err *err);

#endif
