/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters by name: they select the samples that count and the frames that are
 * shown. The filters have the meaning of pprof's options of the same names
 * (filter.go and prune.go in pprof's package profile). Expressions are searched
 * for in the names of functions, source files and mappings.
 *
 * Ownership: changes the profile that it is given.
 * Threads: one thread at a time per profile.
 */
#ifndef PPROF_FILTER_NAMEFILTER_H
#define PPROF_FILTER_NAMEFILTER_H

#include "base/err.h"
#include "pprof/limits.h"
#include "pprof/profile/profile.h"

/*
 * The filters, as regular expressions; an empty expression filters nothing. A
 * frame matches if the name of its function, source file or mapping matches.
 */
struct name_filter {
	struct str focus;  /* keep only samples with a matching frame */
	struct str ignore; /* drop samples with a matching frame */
	struct str hide;   /* drop the frames that match */
	struct str show;   /* keep only the frames that match */
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
 * Applies the filters to `p` and adds the filters that matched nothing to
 * *none. Samples without frames are removed even if no filter is set.
 * ERR_INVALID: an expression is malformed or takes too many steps, and the
 * message names the filter; ERR_LIMIT, ERR_TIMEOUT: as for limits_spend().
 * After an error, the caller must not use `p`.
 */
NODISCARD int filter_names(struct pprof *p, const struct name_filter *f,
			   const struct limits *limits, struct no_match *none,
			   struct err *err);

#endif
