/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile adder: adds one stored profile to a merge. A profile that is stored
 * as columns is added as columns, any other is decoded. A profile that cannot
 * be read is left out and counted.
 *
 * Ownership: borrows the merge and the querier.
 * Threads: one thread per query.
 */
#ifndef QUERY_MERGE_PROFILE_ADDER_H
#define QUERY_MERGE_PROFILE_ADDER_H

#include "query/merge/query_merge.h"

/* A stored profile, and the operations by which its values are merged. */
struct query_profile {
	struct querier *q;
	size_t series; /* index of the series in the querier's selection */
	int64_t ms;
	/*
	 * For each sample type of the profile: whether its values are merged.
	 */
	const bool *types;
	/*
	 * For each sample type, how its values are merged. NULL: this is the
	 * only profile of the query, and is kept unchanged.
	 */
	const enum merge_op *ops;
};

/* Return the memory of what was merged so far, in bytes. */
size_t query_merge_kept(const struct query_merge *g);

/*
 * Take from the budget as many bytes as the merge and its buffers have grown
 * since the last call. The querier is NULL if nothing is read from storage. Returns ERR_LIMIT when the budget is used up.
 */
NODISCARD int query_merge_account(struct query_merge *g,
				  const struct querier *q, struct err *err);

/*
 * Callback that the querier calls before it reads a profile: takes `bytes` from
 * the budget. ctx is the query_merge. Returns ERR_LIMIT when the budget is used
 * up.
 */
NODISCARD int query_merge_spend_fetch(void *ctx, size_t bytes, struct err *err);

/*
 * Add a profile. Returns 1 when the profile cannot be read: the merge counts
 * it, and the query goes on. Returns ERR_LIMIT when the memory budget is used
 * up, and other errors of the decoder or the merge.
 */
NODISCARD int query_add_profile(struct query_merge *g,
				const struct query_profile *x, struct err *err);

/*
 * Add a profile that is not stored, decompressed, as the only one of the merge. Errors as
 * for query_add_profile(), and ERR_INVALID: it is none.
 */
NODISCARD int query_add_bytes(struct query_merge *g, struct bytes raw,
			      struct err *err);

/*
 * Check the deadline. If it has passed and at least one profile is merged, sets
 * g->late and returns 0: the answer is then partial. If no profile is merged,
 * returns ERR_TIMEOUT, or ERR_CLOSED when everprof is stopping.
 */
NODISCARD int query_merge_check_late(struct query_merge *g, struct err *err);

#endif
