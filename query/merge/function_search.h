/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Function search: tell whether a stored profile has a sample whose stack goes
 * through a function with a given name. Of a profile that is stored as columns,
 * only the stacks are read, and each function name of its stripe is compared
 * with the pattern only once. Any other profile is fetched and decoded.
 *
 * Ownership: borrows the query work; owns everything else in the structure.
 * Threads: one thread per search.
 */
#ifndef QUERY_MERGE_FUNCTION_SEARCH_H
#define QUERY_MERGE_FUNCTION_SEARCH_H

#include "model/regex.h"
#include "query/select/profile_visit.h"

/*
 * A search for one function name pattern. One search looks at many profiles,
 * one after another.
 */
struct function_search {
	struct regex *name; /* the compiled pattern */
	/*
	 * Remembers which function names of one stripe match, so that each name
	 * is compared with the pattern only once. It is cleared when a profile
	 * of another stripe is searched.
	 */
	struct columns_find *find;
	/*
	 * Reads the profiles; visit.unread counts those that could not be read.
	 */
	struct profile_visit visit;
	bool found; /* whether the profile that was read last matches */
	struct limits limits; /* of memory and time */
	int rc;               /* error of the limits while it was searched */
	struct err why;       /* set if rc is not 0 */
};

/*
 * Compile the pattern, a regular expression that may match anywhere in a
 * function name. `memory` is the decoder's limit in bytes. Returns ERR_INVALID
 * when the pattern is not a valid expression; then the caller has nothing to
 * free.
 */
NODISCARD int function_search_init(struct function_search *f,
				   struct str pattern, size_t memory,
				   struct query_work *work, struct err *err);

/*
 * Free the search. The memory taken for it returns to the budget at
 * query_settle() or query_release().
 */
void function_search_fini(struct function_search *f);

/*
 * Set *found to whether, in the profile of a series at time `ms`, any stack
 * goes through the function. A profile that is damaged or missing is counted in
 * visit.unread and sets *found to false. Returns ERR_TIMEOUT after the
 * deadline, ERR_CLOSED when everprof is stopping, and ERR_LIMIT when the memory
 * budget is used up.
 */
NODISCARD int function_search_look(struct function_search *f, struct querier *q,
				   size_t series, int64_t ms, bool *found,
				   struct err *err);

#endif
