/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type list: the profile ids of the profiles of a stored name, which are those of
 * the newest profiles of some series.
 *
 * Ownership: type_list_fini() frees everything.
 * Threads: one thread at a time.
 */
#ifndef PYROSCOPE_ANSWER_TYPE_LIST_H
#define PYROSCOPE_ANSWER_TYPE_LIST_H

#include "base/table.h"
#include "base/vec.h"
#include "pyroscope/answer/call.h"
#include "query/select/string_set.h"

/* Profile ids, each once. */
struct type_list {
	struct pyroscope_call *call;
	struct typeset *types; /* scratch */
	struct arena arena;    /* of all texts */
	VEC(struct profile_id) ids;
	struct table by_id;     /* finds `ids` */
	struct string_set seen; /* names and type sets whose ids are there */
	struct growth_meter meter;
};

/* Begin without an id. */
void type_list_init(struct type_list *l, struct pyroscope_call *call);

/* Free everything. */
void type_list_fini(struct type_list *l);

/* Forget the ids. */
void type_list_reset(struct type_list *l);

/*
 * Add the ids of the newest profile of series i of a selection; a profile that
 * cannot be read has none. Errors as for limits_meter().
 */
NODISCARD int type_list_add(struct type_list *l, struct querier *q, size_t i,
			    struct err *err);

/*
 * Add the ids of all profiles in a range but heartbeats. Errors as for
 * querier_select().
 */
NODISCARD int type_list_add_all(struct type_list *l, int64_t from, int64_t to,
				struct err *err);

#endif
