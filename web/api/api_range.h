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
 * GET /api/v1/query_range: list the times of profiles; with totals=1 their
 * totals as well; with function=… only profiles that contain the function. With
 * step=… the answer is a timeline instead.
 */
void api_query_range(void *ctx, struct request *r, struct answer *a);

#endif
