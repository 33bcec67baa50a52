/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the sample types of a profile can be added to those of the result, and
 * the units that both are scaled to.
 *
 * Ownership: the merge owns what it holds, and borrows the profile being added.
 * Threads: one thread a merge.
 */
#ifndef PPROF_MERGE_MERGE_UNITS_H
#define PPROF_MERGE_MERGE_UNITS_H

#include "pprof/merge/merge_private.h"

void merge_common_units(struct merge *m, const struct pprof *p);

int64_t merge_common_period(struct merge *m, const struct pprof *p);

void merge_take_types(struct merge *m, const struct pprof *p);

NODISCARD int merge_check_types(struct merge *m, const struct pprof *p,
				struct err *err);

#endif
