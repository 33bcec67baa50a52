/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading memory: the memory of a query that reads profiles one after another, taken
 * from its budget before the querier allocates it.
 *
 * Ownership: borrows the query, which gives everything back at its end.
 * Threads: one thread per query.
 */
#ifndef QUERY_SELECT_READING_MEMORY_H
#define QUERY_SELECT_READING_MEMORY_H

#include "query/select/query_work.h"

/* What was taken. */
struct reading_memory {
	struct query_work *work;
	int64_t taken; /* bytes */
};

/*
 * Let a querier, whose selection was accounted for, ask for the memory of each profile
 * that it reads.
 */
void reading_memory_watch(struct reading_memory *m, struct querier *q);

/*
 * Take what is missing for `now` bytes in use, those of the querier included. ERR_LIMIT:
 * the budget is used up.
 */
NODISCARD int reading_memory_account(struct reading_memory *m, size_t now,
				     struct err *err);

#endif
