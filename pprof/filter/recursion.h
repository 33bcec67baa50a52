/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursion: shows each recursive function once, so that a deep recursion does
 * not hide what the function calls. The total of a function stays the same.
 *
 * Threads: one thread at a time per profile.
 */
#ifndef PPROF_FILTER_RECURSION_H
#define PPROF_FILTER_RECURSION_H

#include "base/err.h"
#include "base/limits.h"
#include "pprof/profile/profile.h"

/* Which frames of recursive calls are removed. */
enum recursion {
	RECURSION_KEEP, /* none */
	/* A function that calls itself becomes one frame. */
	RECURSION_DIRECT,
	/*
	 * A function that is reached from itself becomes one frame: its
	 * outermost frame stays, and all frames from there to its innermost
	 * frame are removed.
	 */
	RECURSION_ALL,
};

/* Parse "direct" or "all". Returns false for other texts. */
bool recursion_parse(struct str s, enum recursion *out);

/*
 * Remove the frames of recursive calls from all stacks. Functions are compared
 * by name; frames without a function are never recursive. ERR_LIMIT,
 * ERR_TIMEOUT: as for limits_spend(); the caller must then not use `p`.
 */
NODISCARD int filter_recursion(struct pprof *p, enum recursion how,
			       const struct limits *limits, struct err *err);

#endif
