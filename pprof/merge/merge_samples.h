/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the samples of a profile to the result of a merge.
 *
 * Ownership: the merge owns its data and borrows the profile that is being
 * added.
 * Threads: one thread per merge.
 */
#ifndef PPROF_MERGE_MERGE_SAMPLES_H
#define PPROF_MERGE_MERGE_SAMPLES_H

#include "pprof/merge/merge_private.h"

/*
 * Returns whether all `width` values of a row are 0, apart from the values of
 * sample types with MERGE_SKIP in `ops`. `ops` may be NULL: all values count.
 */
bool merge_is_zero(const int64_t *v, size_t width, const enum merge_op *ops);

/*
 * Adds the samples of m->src to the result. `ops` has one operation for each
 * sample type; NULL adds all values.
 */
void merge_add_samples(struct merge *m, const enum merge_op *ops);

/*
 * Adds all samples of the source, which is a sum, also those whose values are 0.
 * Remembers their places in m->sample_map.
 */
void merge_add_sum_samples(struct merge *m, const enum merge_op *ops);

#endif
