/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matcher is one condition on one label, with the meaning that Prometheus
 * gives it. A label that is missing has the empty value, and a regular
 * expression must match the whole value.
 *
 * Ownership: the selector owns names, values and expressions.
 * Threads: a matcher belongs to one thread, because its regex has scratch
 * memory.
 */
#ifndef MODEL_MATCHER_H
#define MODEL_MATCHER_H

#include "base/bytes.h"
#include "base/err.h"
#include "model/labels.h"

/* The operators =, !=, =~ and !~. */
enum matcher_op {
	MATCH_EQ,
	MATCH_NE,
	MATCH_RE,
	MATCH_NRE
};

struct regex;

/* One condition on the value of the label `name`. */
struct matcher {
	struct str name;
	struct str value; /* the text after the operator, unquoted */
	/* regex compiled from `value` for MATCH_RE and MATCH_NRE; else NULL */
	struct regex *regex;
	enum matcher_op op;
	/* whether a label that is missing fulfils the condition in any case */
	bool or_absent;
};

/* Conditions that must all be fulfilled. */
struct matcher_list {
	const struct matcher *v;
	size_t count;
};

/* Return whether a label value fulfils the matcher's condition. */
bool matcher_matches(const struct matcher *m, struct str value);

/*
 * Return the work of trying the matcher on one value, in units of
 * limits_meter(): so much for a regular expression that the limits are asked
 * after each value, and little for comparing texts.
 */
size_t matcher_work(const struct matcher *m);

/*
 * Copy the matchers of labels that a label set lacks to `out`, and return their number.
 */
size_t matchers_lacking(const struct matcher *v, size_t count,
			const struct labels *ls, struct matcher *out);

/*
 * ERR_INVALID: a regular expression of the matchers has taken too many steps, so that
 * results lack matches.
 */
NODISCARD int matchers_check_steps(const struct matcher *v, size_t count,
				   struct err *err);

/* Return whether a label set fulfils all `count` matchers. */
bool matchers_match(const struct matcher *v, size_t count,
		    const struct labels *ls);

#endif
