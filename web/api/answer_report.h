/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answer report: answer a query with a report of the profiles that were merged
 * for it.
 *
 * Ownership: borrows everything.
 * Threads: one thread per answer.
 */
#ifndef WEB_API_ANSWER_REPORT_H
#define WEB_API_ANSWER_REPORT_H

#include "query/merge/query_merge.h"
#include "query/merge/report_request.h"
#include "web/api/context.h"

/*
 * The answer to write, the request, and the report that the request asks for.
 */
struct report_answer {
	struct web *web;
	struct request *request;
	struct answer *answer;
	/* The report that the request asks for. */
	const struct report_request *q;
	/*
	 * Whether a profile is an uploaded file, which may name any source file: only
	 * those who may store profiles see its text.
	 */
	bool is_uploaded;
};

/*
 * Write a report of the merged profiles to the answer. `base` is the merge that
 * is subtracted from `source`; NULL: nothing is subtracted. Both merges are
 * finished by this call. Returns ERR_* of the merge and the report, mostly
 * ERR_LIMIT, ERR_TIMEOUT and ERR_INVALID; the caller then writes the error to
 * the answer.
 */
NODISCARD int answer_report(const struct report_answer *to,
			    struct query_merge *source,
			    struct query_merge *base, struct err *err);

#endif
