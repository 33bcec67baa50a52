/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row runs: how the profiles of one series are aggregated. A run is a sequence
 * of profiles with the same sample types. Flows are summed and states are
 * averaged. Of counters, the increases within each process are added up
 * (docs/decisions.md, 34).
 *
 * Ownership: borrows the merge and the querier.
 * Threads: one thread per query.
 */
#ifndef QUERY_MERGE_ROW_RUN_H
#define QUERY_MERGE_ROW_RUN_H

#include "query/merge/query_merge.h"

/*
 * Set the labels that the merge adds to the samples of all profiles added from
 * now on: those of a series' labels that the option group_by names.
 */
void query_label_samples(struct query_merge *g, const struct labels *labels);

/*
 * Add the profiles whose rows are in t, as one piece: *count is the number of those
 * whose values are averaged, by which the caller divides (merge_average()). Errors
 * as for query_add_series().
 */
NODISCARD int query_add_rows(struct query_merge *g, struct querier *q,
			     size_t series, const struct totals_view *t,
			     size_t *count, struct err *err);

#endif
