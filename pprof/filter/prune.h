/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prune: removes uninteresting frames from the leaf end of stacks, either the
 * frames that the profile's own drop_frames and keep_frames select, or the
 * frames that a given function called.
 *
 * Threads: one thread at a time per profile.
 */
#ifndef PPROF_FILTER_PRUNE_H
#define PPROF_FILTER_PRUNE_H

#include "base/limits.h"
#include "pprof/profile/profile.h"

/*
 * Find the frame nearest to the leaf whose function matches the pattern, and
 * removes all frames that it called, directly or indirectly; the found frame is
 * kept. An empty pattern removes nothing. ERR_INVALID: the pattern is malformed
 * or takes too many steps; ERR_LIMIT, ERR_TIMEOUT: as for limits_spend().
 */
NODISCARD int filter_prune_from(struct pprof *p, struct str pattern,
				const struct limits *limits, struct err *err);

/*
 * Remove the frames that the profile itself calls uninteresting: all frames
 * from the leaf up to the outermost function that drop_frames matches and
 * keep_frames does not. A function is removed only if one of its callers is
 * kept. An expression of the profile that is malformed or takes too many steps
 * is ignored. ERR_LIMIT, ERR_TIMEOUT: as for limits_spend().
 */
NODISCARD int filter_uninteresting(struct pprof *p, const struct limits *limits,
				   struct err *err);

#endif
