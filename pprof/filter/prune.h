/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prune: cut frames that nobody wants to see off the leaves of stacks, as the
 * profile's own drop_frames and keep_frames say, or from a given name inwards.
 *
 * Ownership: changes the profile it is given.
 * Threads: one thread a profile.
 */
#ifndef PPROF_FILTER_PRUNE_H
#define PPROF_FILTER_PRUNE_H

#include "pprof/effort.h"
#include "pprof/profile/profile.h"

NODISCARD int filter_prune_from(struct pprof *p, struct str pattern,
				const struct effort *effort, struct err *err);

/*
 * Drop the frames that the profile itself calls uninteresting (drop_frames
 * and keep_frames). An expression that is none drops nothing.
 */
NODISCARD int filter_uninteresting(struct pprof *p, const struct effort *effort,
				   struct err *err);

#endif
