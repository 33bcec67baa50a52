/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matchers: one condition on one label, with Prometheus' meaning (a label
 * that is not there has the empty value; regular expressions match the whole
 * value).
 *
 * Ownership: the selector owns names, values and expressions.
 * Threads: a matcher belongs to one thread (its regex has scratch memory).
 */
#ifndef MODEL_MATCHER_H
#define MODEL_MATCHER_H

#include "base/bytes.h"
#include "base/err.h"
#include "model/labels.h"

enum matcher_op {
	MATCH_EQ,
	MATCH_NE,
	MATCH_RE,
	MATCH_NRE
};

struct regex;

struct matcher {
	enum matcher_op op;
	struct str name;
	struct str value;
	struct regex *regex; /* MATCH_RE, MATCH_NRE */
};

bool matcher_matches(const struct matcher *m, struct str value);

/* Whether all of the matchers match a label set. */
bool matchers_match(const struct matcher *v, size_t count,
		    const struct labels *ls);

#endif
