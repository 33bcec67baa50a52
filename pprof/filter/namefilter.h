/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters by name: which samples are looked at, and which of their frames are
 * shown; with the meaning of pprof's options of the same names (profile's
 * filter.go and prune.go). An expression is looked for in function names,
 * file names and the names of mappings.
 *
 * Ownership: changes the profile it is given.
 * Threads: one thread at a time.
 */
#ifndef PPROF_FILTER_NAMEFILTER_H
#define PPROF_FILTER_NAMEFILTER_H

#include "base/err.h"
#include "pprof/effort.h"
#include "pprof/profile/profile.h"

/* Expressions; an empty one filters nothing. */
struct name_filter {
	struct str focus;     /* only samples through a match */
	struct str ignore;    /* no samples through a match */
	struct str hide;      /* without the frames that match */
	struct str show;      /* the frames that match alone */
	struct str show_from; /* from the outermost match inwards */
};

/* Filters that nothing matched: a warning each. */
struct no_match {
	const char *names[16];
	size_t count;
};

/*
 * Change p to what the filters leave of it. ERR_INVALID names the expression
 * that is none, or that takes too many steps; ERR_TIMEOUT.
 */
NODISCARD int filter_names(struct pprof *p, const struct name_filter *f,
			   const struct effort *effort, struct no_match *none,
			   struct err *err);

#endif
