/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/query?mode=diff&report=compare: the functions that differ between two
 * sides, with error bars.
 *
 * Ownership: borrows everything.
 * Threads: one thread per answer.
 */
#ifndef WEB_API_API_COMPARE_H
#define WEB_API_API_COMPARE_H

#include "query/merge/report_request.h"
#include "web/api/context.h"

/*
 * Write the comparison to the answer. Returns ERR_* of the merge and the report;
 * the caller then writes the error to the answer.
 */
NODISCARD int api_compare(struct web *w, struct request *r, struct answer *a,
			  const struct report_request *query, struct err *err);

#endif
