/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timeline fold: adds the values of one series to those of its group.
 *
 * Ownership: nothing is kept.
 * Threads: those of the timeline.
 */
#ifndef QUERY_MERGE_TIMELINE_FOLD_H
#define QUERY_MERGE_TIMELINE_FOLD_H

#include "query/timeline.h"

/*
 * Add the values of the series whose totals are in the scratch members of the
 * line to the line, and clear the scratch members for the next series. Means
 * and rates are computed per series and then added, so that two equal instances
 * of a program give twice the value of one (docs/decisions.md, 95).
 */
void timeline_fold(const struct timeline *t, struct timeline_line *l);

#endif
