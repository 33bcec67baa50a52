/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compact target groups: for discoveries with many small target groups, each of
 * which changes by itself. They take no more memory than they need, and have
 * the names of labels and values that others use, too, from a pool.
 *
 * Ownership: the caller owns a reference to the result, which holds one to the
 * pool.
 * Threads: the thread that adds texts to the pool.
 */
#ifndef DISCOVERY_CORE_GROUP_COMPACT_H
#define DISCOVERY_CORE_GROUP_COMPACT_H

#include "discovery/core/target_group.h"
#include "discovery/core/text_pool.h"

/*
 * Return a compact copy of groups without parts. The values of labels in `g`
 * may become texts of the pool.
 */
struct target_groups *target_groups_compact(struct target_groups *g,
					    struct text_pool *texts);

/* Return whether groups without parts have the same labels and targets. */
bool target_groups_eq(const struct target_groups *a,
		      const struct target_groups *b);

#endif
