/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row runs: how the profiles of one series are aggregated. A run is a stretch of
 * profiles with the same sample types; flows are summed, states averaged, and of
 * counters the difference between the ends of each process is taken.
 *
 * Ownership: borrows the merge and the querier.
 * Threads: one thread a query.
 */
#ifndef QUERY_MERGE_ROW_RUN_H
#define QUERY_MERGE_ROW_RUN_H

#include "query/query_merge.h"

/* Samples get the labels of their series that they are to be grouped by. */
void query_label_samples(struct query_merge *g, const struct labels *labels);

NODISCARD int query_add_series(struct query_merge *g, struct querier *q,
			       size_t series, const struct query_spec *side,
			       struct err *err);

#endif
