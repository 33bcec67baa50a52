/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile adder: add one stored profile to a merge, directly as columns if it
 * is stored that way, else decoded. A profile that cannot be read is left out
 * and noted.
 *
 * Ownership: borrows the merge and the querier.
 * Threads: one thread a query.
 */
#ifndef QUERY_MERGE_PROFILE_ADDER_H
#define QUERY_MERGE_PROFILE_ADDER_H

#include "query/query_merge.h"

/* One stored profile, and what the merge does with its values. */
struct query_profile {
	struct querier *q;
	size_t series; /* index of the series in the querier's selection */
	int64_t ms;
	const bool *types;        /* the sample types that are aggregated */
	const enum merge_op *ops; /* one per type; NULL: the only profile */
};

/*
 * Take from the budget what the merge and its inputs have grown by since the
 * last call. Returns ERR_LIMIT when the budget is used up.
 */
NODISCARD int query_merge_account(struct query_merge *g,
				  const struct querier *q, struct err *err);

/*
 * Callback of the querier: take the bytes of a profile before it is read; ctx
 * is the query_merge. Returns ERR_LIMIT when the budget is used up.
 */
NODISCARD int query_merge_spend_fetch(void *ctx, size_t bytes, struct err *err);

/*
 * Add a profile. Returns 1 when it cannot be read, which is counted in the
 * merge and is no failure; ERR_LIMIT when the memory budget is used up; and
 * ERR_* of the decoder or the merge otherwise.
 */
NODISCARD int query_add_profile(struct query_merge *g,
				const struct query_profile *x, struct err *err);

/*
 * Check the deadline. When at least one profile is merged already, passing it
 * sets g->late and returns 0: the answer is then partial. Otherwise it returns
 * ERR_TIMEOUT, or ERR_CLOSED when everprof is stopping.
 */
NODISCARD int query_merge_check_late(struct query_merge *g, struct err *err);

#endif
