/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translate strings, mappings, functions, locations and stacks of a profile to
 * those of the result, which gets each distinct one once.
 *
 * Ownership: the merge owns what it holds, and borrows the profile being added.
 * Threads: one thread a merge.
 */
#ifndef PPROF_MERGE_MERGE_TABLES_H
#define PPROF_MERGE_MERGE_TABLES_H

#include "pprof/merge/merge_private.h"

uint32_t merge_map_string(struct merge *m, uint32_t i);

uint32_t merge_map_mapping(struct merge *m, uint32_t i);

uint32_t merge_map_stack(struct merge *m, const struct pprof_run *stack);

#endif
