/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/targets and /api/v1/status: the state of scraping, and of everprof.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_STATUS_H
#define WEB_API_API_STATUS_H

#include "web/handler/context.h"

/* api_status.c */
void api_targets(void *ctx, struct request *r, struct answer *a);

void api_status_config(void *ctx, struct request *r, struct answer *a);

void api_status_flags(void *ctx, struct request *r, struct answer *a);

void api_status_buildinfo(void *ctx, struct request *r, struct answer *a);

void api_status_runtimeinfo(void *ctx, struct request *r, struct answer *a);

void api_status_tsdb(void *ctx, struct request *r, struct answer *a);

#endif
