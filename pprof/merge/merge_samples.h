/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the samples of a profile to those of the result.
 *
 * Ownership: the merge owns its data and borrows the profile that is being
 * added.
 * Threads: one thread per merge.
 */
#ifndef PPROF_MERGE_MERGE_SAMPLES_H
#define PPROF_MERGE_MERGE_SAMPLES_H

#include "pprof/merge/merge_private.h"

/*
 * Returns whether a row of width values is 0 in all types but those that ops
 * skips. ops may be NULL.
 */
bool merge_is_zero(const int64_t *v, size_t width, const enum merge_op *ops);

/*
 * Adds the samples of m->src to the result. ops has one operation for each
 * sample type, or is NULL to add all.
 */
void merge_add_samples(struct merge *m, const enum merge_op *ops);

#endif
