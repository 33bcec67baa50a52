/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters by name: they select the samples that count and the frames that are
 * shown. The filters have the meaning of pprof's options of the same names
 * (filter.go and prune.go in pprof's package profile). Expressions are searched
 * for in the names of functions, source files and mappings.
 *
 * Threads: one thread at a time per profile.
 */
#ifndef PPROF_FILTER_NAMEFILTER_H
#define PPROF_FILTER_NAMEFILTER_H

#include "base/err.h"
#include "base/limits.h"
#include "pprof/profile/profile.h"

/* Largest number of expressions of one filter. */
#define FILTER_TEXTS 8

/*
 * The filters, as regular expressions. An array ends at its first empty
 * expression; without any, the filter is not set. A frame matches if the name
 * of its function, source file or mapping matches.
 */
struct name_filter {
	/* Keep only samples that have, for each expression, a matching frame. */
	struct str focus[FILTER_TEXTS];
	/* Drop samples with a frame that matches any of the expressions. */
	struct str ignore[FILTER_TEXTS];
	/* Drop the frames that match any of the expressions. */
	struct str hide[FILTER_TEXTS];
	/* Keep only the frames that match any of the expressions. */
	struct str show[FILTER_TEXTS];
	/* Drop the callers of the outermost matching frame. */
	struct str show_from;
};

/*
 * The names of the filters that matched nothing: the user gets a warning for
 * each name.
 */
struct no_match {
	const char *names[16];
	size_t count;
};

/*
 * Apply the filters to `p` and add the filters that matched nothing to
 * *none. Samples without frames are removed even if no filter is set.
 * ERR_INVALID: an expression is malformed or takes too many steps, and the
 * message names the filter; ERR_LIMIT, ERR_TIMEOUT: as for limits_spend().
 * After an error, the caller must not use `p`.
 */
NODISCARD int filter_names(struct pprof *p, const struct name_filter *f,
			   const struct limits *limits, struct no_match *none,
			   struct err *err);

#endif
