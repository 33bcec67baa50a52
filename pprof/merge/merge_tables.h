/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds, for the strings, mappings, functions, locations and stacks of a
 * profile, the equal objects in the result of a merge. The result has each
 * distinct object once.
 *
 * Ownership: the merge owns its data and borrows the profile that is being
 * added.
 * Threads: one thread per merge.
 */
#ifndef PPROF_MERGE_MERGE_TABLES_H
#define PPROF_MERGE_MERGE_TABLES_H

#include "pprof/merge/merge_private.h"

/*
 * Returns the index that string i of m->src has in the result. A string that
 * the result does not have is added.
 */
uint32_t merge_map_string(struct merge *m, uint32_t i);

/*
 * Returns the index that mapping i of m->src has in the result. A mapping that
 * the result does not have is added.
 */
uint32_t merge_map_mapping(struct merge *m, uint32_t i);

/*
 * Returns the index that a stack of m->src has in the result. A stack that the
 * result does not have is added, with its locations.
 */
uint32_t merge_map_stack(struct merge *m, const struct pprof_run *stack);

#endif
