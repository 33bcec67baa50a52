/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wanted type: the sample type that a merge is asked for by its name. Profiles that
 * have it can be merged, whatever other sample types they have, and those that lack
 * it are left out.
 *
 * Ownership: wanted_type_fini() frees everything; the name is borrowed.
 * Threads: one thread per merge.
 */
#ifndef QUERY_MERGE_WANTED_TYPE_H
#define QUERY_MERGE_WANTED_TYPE_H

#include "model/types.h"
#include "query/select/total_filter.h"

struct wanted_type {
	/* As in pprof's option sample_index; empty: no type is asked for. */
	struct str name;
	/* The name of the sample type that is meant, once a profile has it. */
	bool is_known;
	struct str type;
	struct arena text;     /* memory for its text */
	struct err lacking;    /* of the first profile that lacks it */
	struct typeset *types; /* scratch */
};

/*
 * Begin. A number is no name: it means another type in each profile, so nothing is
 * asked for by it.
 */
void wanted_type_init(struct wanted_type *w, struct str name);

/* Free everything. */
void wanted_type_fini(struct wanted_type *w);

/* Set which sample type is meant. */
void wanted_type_set(struct wanted_type *w, struct str type);

/*
 * Set *at to the wanted type in a type set; SIZE_MAX: it lacks the type. The first
 * type set that has it decides what the name means.
 */
void wanted_type_find(struct wanted_type *w, const struct typeset *types,
		      size_t *at);

/*
 * Reduce a view to the rows that have the wanted type. If any lacks it, the view then
 * borrows from `rows`, which the caller frees with total_rows_fini() in any case.
 * Errors of decoding type sets; ERR_LIMIT: the memory budget is used up.
 */
NODISCARD int wanted_type_reduce(struct wanted_type *w, struct query_work *work,
				 struct totals_view *v, struct total_rows *rows,
				 struct err *err);

#endif
