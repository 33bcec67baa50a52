/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compact target groups, for discoveries with many small target groups that
 * change one by one. The arrays of a compact copy, and the label values that
 * belong to it alone, are in one block of memory of the exact size. A pool (see
 * text_pool.h) holds the label names, and those label values that occur several
 * times and are not long.
 *
 * Ownership: the caller owns a reference to the result, and the result holds a
 * reference to the pool.
 * Threads: the thread that adds texts to the pool.
 */
#ifndef DISCOVERY_CORE_GROUP_COMPACT_H
#define DISCOVERY_CORE_GROUP_COMPACT_H

#include "discovery/core/target_group.h"
#include "discovery/core/text_pool.h"

/*
 * Return a compact copy of `g`, which must have no parts (target_groups.parts).
 * Label values in `g` itself may be replaced by texts of the pool `texts`, so
 * `g` must not outlive the pool.
 */
struct target_groups *target_groups_compact(struct target_groups *g,
					    struct text_pool *texts);

/*
 * Return whether `a` and `b`, which must have no parts, have the same labels
 * and targets.
 */
bool target_groups_eq(const struct target_groups *a,
		      const struct target_groups *b);

#endif
