/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handler of /api/v1/changes: when programs changed in a time range.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_CHANGES_H
#define WEB_API_API_CHANGES_H

#include "web/api/context.h"

/* Answer with changes (query/history/changes.h). */
void api_changes(void *ctx, struct request *r, struct answer *a);

#endif
