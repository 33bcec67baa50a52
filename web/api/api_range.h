/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/query_range: which profiles are there, and what do they add up to?
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_RANGE_H
#define WEB_API_API_RANGE_H

#include "web/handler/context.h"

/* Handlers, by file: api_range.c */
void api_query_range(void *ctx, struct request *r, struct answer *a);

#endif
