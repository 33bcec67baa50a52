/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Add the samples of a profile to those of the result.
 *
 * Ownership: the merge owns what it holds, and borrows the profile being added.
 * Threads: one thread a merge.
 */
#ifndef PPROF_MERGE_MERGE_SAMPLES_H
#define PPROF_MERGE_MERGE_SAMPLES_H

#include "pprof/merge/merge_private.h"

bool merge_is_zero(const int64_t *v, size_t width, const enum merge_op *ops);

void merge_add_samples(struct merge *m, const enum merge_op *ops);

#endif
