/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Absence: explains why a selector matched nothing. Most often a type or a
 * label is misspelt, which "not found" alone would not show.
 *
 * Threads: one thread per query.
 */
#ifndef QUERY_SELECT_ABSENCE_H
#define QUERY_SELECT_ABSENCE_H

#include "query/select/query_spec.h"

/*
 * Set err to a message that says that no profile matches the selector of `spec`
 * and, if they are given, the limits of its totals. The message continues with
 * `when` and with the first matcher that no stored
 * series satisfies at any time, if there is one. The selection of the querier
 * `q` does not change. Stops searching at the deadline. Always returns
 * ERR_NOTFOUND.
 */
int query_explain_absence(struct querier *q, struct query_work *w,
			  const struct query_spec *spec, const char *when,
			  struct err *err);

#endif
