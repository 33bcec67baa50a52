/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handler of /api/v1/query_range: the times of profiles in a range, and their
 * totals.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_RANGE_H
#define WEB_API_API_RANGE_H

#include "web/handler/context.h"

/*
 * GET /api/v1/query_range: list times, with totals=1 the totals as well, with
 * function=… only profiles that have it; or with step=… a timeline.
 */
void api_query_range(void *ctx, struct request *r, struct answer *a);

#endif
