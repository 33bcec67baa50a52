/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handler of /api/v1/history: the weight of functions over time.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_HISTORY_H
#define WEB_API_API_HISTORY_H

#include "web/api/context.h"

/* Answer with a history (query/history/history.h). */
void api_history(void *ctx, struct request *r, struct answer *a);

#endif
