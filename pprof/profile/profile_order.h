/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile order: brings a profile into an order that depends on nothing but what the
 * profile says, whatever order its samples had before (docs/decisions.md, 250).
 *
 * Ownership: the caller owns the profile.
 * Threads: one thread for each profile.
 */
#ifndef PPROF_PROFILE_PROFILE_ORDER_H
#define PPROF_PROFILE_PROFILE_ORDER_H

#include "base/limits.h"
#include "pprof/profile/profile.h"

/*
 * Sort the samples by their stacks, from the outermost frame on, each frame by
 * function name, file, line and address; then by their labels. Stacks and what they
 * refer to follow in the order of their first use; those that no sample uses are
 * dropped, but for the first mapping, which is the program. The profile must be the
 * result of a merge, so that equal objects have one index. Errors of the limits, after
 * which nothing has changed.
 */
NODISCARD int pprof_order(struct pprof *p, const struct limits *limits,
			  struct err *err);

#endif
