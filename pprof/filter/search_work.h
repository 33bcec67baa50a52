/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Search work: charges the searches of a filter to the limits of its query. It
 * keeps the first error, so that the functions that say whether something
 * matches need not return errors as well: their caller looks at `rc` after each
 * location or label set.
 *
 * Ownership: borrows the limits and `err`.
 * Threads: one thread per filter.
 */
#ifndef PPROF_FILTER_SEARCH_WORK_H
#define PPROF_FILTER_SEARCH_WORK_H

#include "base/limits.h"
#include "model/regex.h"

/* The work of one filter. The members after `err` begin as zero. */
struct search_work {
	const struct limits *limits;
	struct err *err;
	int rc; /* the first error, which is also in *err; 0: none */
	struct growth_meter meter;
};

/*
 * Account for `units` units of work. Returns whether the filter may continue;
 * after an error it may not.
 */
static inline bool search_work_charge(struct search_work *w, size_t units)
{
	if (!w->rc)
		w->rc = limits_meter(w->limits, &w->meter, units, 0, w->err);
	return !w->rc;
}

/*
 * Account for one search, and return whether the expression matches the text.
 * After an error, nothing is searched, and the result is false. A search that
 * takes too many steps is an error, which says that the expression is that of
 * the filter called `name`.
 */
static inline bool search_work_matches(struct search_work *w,
				       const struct regex *r, const char *name,
				       struct str text)
{
	bool found = search_work_charge(w, REGEX_WORK) &&
		     regex_matches(r, text);

	if (!w->rc)
		w->rc = regex_check_steps(r, name, w->err);
	return found;
}

#endif
