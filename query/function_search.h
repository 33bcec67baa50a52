/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finder: whether a stored profile has a sample through a function of some
 * name. Of profiles in columns only stacks are read, and each name of a
 * stripe is matched once; others are fetched and decoded.
 *
 * Ownership: borrows the query work. Threads: one thread.
 */
#ifndef QUERY_FUNCTION_SEARCH_H
#define QUERY_FUNCTION_SEARCH_H

#include "model/regex.h"
#include "pprof/columns.h"
#include "pprof/decode.h"
#include "query/query_work.h"
#include "tsdb/querier.h"

struct function_search {
	struct query_work *work;
	struct regex *name;
	struct columns_find *find;
	struct decoder *decoder;
	struct profile fetched;
	int64_t taken;
	size_t unread; /* profiles that could not be read */
};

/* pattern: a regular expression, looked for in names. ERR_INVALID. */
NODISCARD int function_search_init(struct function_search *f,
				   struct str pattern, size_t memory,
				   struct query_work *work, struct err *err);
void function_search_fini(struct function_search *f);

/* ERR_TIMEOUT, ERR_LIMIT; what cannot be read has nothing, and is counted. */
NODISCARD int function_search_look(struct function_search *f, struct querier *q,
				   size_t series, int64_t ms, bool *found,
				   struct err *err);

#endif
