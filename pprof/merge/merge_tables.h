/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates strings, mappings, functions, locations and stacks of a profile to
 * those of the result, which has each distinct object once.
 *
 * Ownership: the merge owns its data and borrows the profile that is being
 * added.
 * Threads: one thread per merge.
 */
#ifndef PPROF_MERGE_MERGE_TABLES_H
#define PPROF_MERGE_MERGE_TABLES_H

#include "pprof/merge/merge_private.h"

/*
 * Returns the number that string i of m->src has in the result, to which a new
 * string is added.
 */
uint32_t merge_map_string(struct merge *m, uint32_t i);

/*
 * Returns the place that mapping i of m->src has in the result, to which a new
 * mapping is added.
 */
uint32_t merge_map_mapping(struct merge *m, uint32_t i);

/*
 * Returns the place that a stack of m->src has in the result, to which a new
 * stack and new locations are added.
 */
uint32_t merge_map_stack(struct merge *m, const struct pprof_run *stack);

#endif
