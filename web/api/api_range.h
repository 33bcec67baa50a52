/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handler of /api/v1/query_range: the times and totals of profiles in a range.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_RANGE_H
#define WEB_API_API_RANGE_H

#include "web/api/context.h"

/*
 * GET /api/v1/query_range: list the times of profiles. With totals=1, the
 * totals of each profile are listed as well. With function=…, only profiles
 * that contain the function are listed. With step=…, the answer is a timeline
 * (one total per time step) instead.
 */
void api_query_range(void *ctx, struct request *r, struct answer *a);

#endif
