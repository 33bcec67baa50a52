/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether the sample types of a profile agree with those of the result,
 * and converts both to common units.
 *
 * Ownership: the merge owns its data and borrows the profile that is being
 * added.
 * Threads: one thread per merge.
 */
#ifndef PPROF_MERGE_MERGE_UNITS_H
#define PPROF_MERGE_MERGE_UNITS_H

#include "pprof/merge/merge_private.h"

/*
 * For each sample type, chooses the finer of the units of the result and of p.
 * If that is the unit of p, converts the result's values now; otherwise sets
 * m->ratios, by which the values of p are to be multiplied. The types must
 * agree.
 */
void merge_common_units(struct merge *m, const struct pprof *p);

/*
 * Returns the period of p in the unit of the result; converts the result's
 * period first if p has the finer unit.
 */
int64_t merge_common_period(struct merge *m, const struct pprof *p);

/*
 * Copies the sample types, the period with its type, drop_frames and
 * keep_frames of the first profile to the empty result.
 */
void merge_take_types(struct merge *m, const struct pprof *p);

/*
 * Returns 0 if p can be added to the result. ERR_INVALID: the number of sample
 * types differs, or the name or kind of unit (bytes, times …) of a sample type
 * or of the period; the message names the types of both profiles.
 */
NODISCARD int merge_check_types(struct merge *m, const struct pprof *p,
				struct err *err);

#endif
