/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Absence: why a selector has found nothing. Most often a type or a label is
 * misspelt, which "not found" alone does not tell.
 *
 * Ownership: keeps nothing.
 * Threads: one thread a query.
 */
#ifndef QUERY_WORK_ABSENCE_H
#define QUERY_WORK_ABSENCE_H

#include "model/selector.h"
#include "query/query_work.h"
#include "tsdb/querier.h"

/*
 * Sets ERR_NOTFOUND: "no profile of this selector WHEN", and the first of the
 * selector's matchers that no stored series fulfils at any time, if there is
 * one. Keeps the selection of q. Looks no further than the deadline.
 * Returns ERR_NOTFOUND.
 */
int query_explain_absence(struct querier *q, const struct query_work *w,
			  const struct selector *s, const char *when,
			  struct err *err);

#endif
