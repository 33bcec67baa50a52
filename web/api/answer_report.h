/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer a query with a report of the profiles that were merged for it.
 *
 * Ownership: borrows everything.
 * Threads: one thread an answer.
 */
#ifndef WEB_API_ANSWER_REPORT_H
#define WEB_API_ANSWER_REPORT_H

#include "query/query_merge.h"
#include "query/report_request.h"
#include "web/handler/context.h"

/* What is answered, and what is asked for. */
struct report_answer {
	struct web *web;
	struct request *request;
	struct answer *answer;
	const struct report_request *q;
};

/* base: subtracted from source; NULL: there is none. */
NODISCARD int answer_report(const struct report_answer *to,
			    struct query_merge *source,
			    struct query_merge *base, struct err *err);

#endif
