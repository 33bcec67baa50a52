/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type list: the profile ids of the profiles of a stored name, all of them or
 * those of one service, which are those of the newest profiles of some series.
 *
 * Ownership: type_list_fini() frees everything.
 * Threads: one thread at a time.
 */
#ifndef PYROSCOPE_ANSWER_TYPE_LIST_H
#define PYROSCOPE_ANSWER_TYPE_LIST_H

#include "base/table.h"
#include "base/vec.h"
#include "pyroscope/answer/call.h"

/* The ids of one stored name, and of one service or, if it is empty, of all. */
struct named_types {
	struct str stored;
	struct str service;
	VEC(struct profile_id) ids;
};

/* The ids of the names that were asked for. */
struct type_list {
	struct pyroscope_call *call;
	int64_t from;
	int64_t to;
	struct querier *q;
	struct typeset *types; /* scratch */
	struct arena arena;    /* of all texts */
	VEC(struct named_types) names;
	struct table by_name; /* finds `names` */
};

/* Begin without a name. */
void type_list_init(struct type_list *l, struct pyroscope_call *call,
		    int64_t from, int64_t to);

/* Free everything. */
void type_list_fini(struct type_list *l);

/*
 * Find the ids of a stored name, which are read unless they have been. An empty
 * service means all of them. *out is valid until the next call. Errors as for
 * querier_select().
 */
NODISCARD int type_list_find(struct type_list *l, struct str stored,
			     struct str service, const struct named_types **out,
			     struct err *err);

/*
 * Call fn() for each stored name that may have profiles in the range, but not for
 * heartbeats. Errors as for querier_texts(), and those of fn().
 */
NODISCARD int type_list_each_name(struct type_list *l,
				  int (*fn)(void *ctx, struct str stored,
					    struct err *err),
				  void *ctx, struct err *err);

#endif
