/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Add one stored profile to a merge: as columns where it is stored so, else
 * decoded. What cannot be read is left out and noted.
 *
 * Ownership: borrows the merge and the querier.
 * Threads: one thread a query.
 */
#ifndef QUERY_MERGE_PROFILE_ADDER_H
#define QUERY_MERGE_PROFILE_ADDER_H

#include "query/query_merge.h"

/* A profile of a series, and what is done with it. */
struct query_profile {
	struct querier *q;
	size_t series;
	int64_t ms;
	const bool *types;        /* those that profiles are added for */
	const enum merge_op *ops; /* NULL: it is the only one */
};

/* Take what merging has grown by from the memory of all queries. */
NODISCARD int query_merge_account(struct query_merge *g,
				  const struct querier *q, struct err *err);

/* Before a profile is read: query_merge_account() finds it taken already. */
NODISCARD int query_merge_spend_fetch(void *ctx, size_t bytes, struct err *err);

/* 1: it cannot be read, which is noted. */
NODISCARD int query_add_profile(struct query_merge *g,
				const struct query_profile *x, struct err *err);

NODISCARD int query_merge_check_late(struct query_merge *g, struct err *err);

#endif
