/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handler of /api/v1/query: one profile as it was stored, or a report.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_QUERY_H
#define WEB_API_API_QUERY_H

#include "web/api/context.h"

/*
 * Answer a query. Errors are answered as JSON, but as plain text to go tool
 * pprof, because it shows the body of an error to its user.
 */
void api_query(void *ctx, struct request *r, struct answer *a);

#endif
