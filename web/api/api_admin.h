/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of /api/v1/admin: delete profiles, clean tombstones, make snapshots,
 * confirm the clock. All answer 403 when the admin API is not enabled. They
 * end, with 503, after --query.timeout, or after the parameter timeout.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_ADMIN_H
#define WEB_API_API_ADMIN_H

#include "web/api/context.h"

/*
 * POST …/delete_series: hide the profiles that match any of the match[]
 * selectors within a time range. Their space is freed later. Answers 204, or
 * 400 for a bad parameter.
 */
void api_admin_delete(void *ctx, struct request *r, struct answer *a);

/*
 * POST …/clean_tombstones: rewrite blocks to free the space of deleted
 * profiles. Answers 204 when all blocks are rewritten.
 */
void api_admin_clean(void *ctx, struct request *r, struct answer *a);

/*
 * POST …/confirm_clock: the user confirms that the system clock is right
 * although it jumped, so that retention by time follows it again. Answers 204.
 */
void api_admin_confirm_clock(void *ctx, struct request *r, struct answer *a);

/*
 * POST …/snapshot: make a snapshot and answer with its name. skip_head=true
 * leaves out head blocks.
 */
void api_admin_snapshot(void *ctx, struct request *r, struct answer *a);

#endif
