/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/admin: delete profiles, make snapshots, confirm the clock.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_ADMIN_H
#define WEB_API_API_ADMIN_H

#include "web/handler/context.h"

/* api_admin.c */
void api_admin_delete(void *ctx, struct request *r, struct answer *a);

void api_admin_clean(void *ctx, struct request *r, struct answer *a);

void api_admin_confirm_clock(void *ctx, struct request *r, struct answer *a);

void api_admin_snapshot(void *ctx, struct request *r, struct answer *a);

#endif
