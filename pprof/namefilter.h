/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters by name: which samples are looked at, and which of their frames are
 * shown; with the meaning of pprof's options of the same names (profile's
 * filter.go and prune.go). An expression is looked for in function names,
 * file names and the names of mappings.
 *
 * Threads: one thread at a time.
 */
#ifndef PPROF_NAMEFILTER_H
#define PPROF_NAMEFILTER_H

#include "base/err.h"
#include "pprof/effort.h"
#include "pprof/profile.h"

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

NODISCARD int filter_prune_from(struct pprof *p, struct str pattern,
				const struct effort *effort, struct err *err);

/*
 * Drop the frames that the profile itself calls uninteresting (drop_frames
 * and keep_frames). An expression that is none drops nothing.
 */
NODISCARD int filter_uninteresting(struct pprof *p, const struct effort *effort,
				   struct err *err);

#endif
