/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1/export: many profiles as a tar archive, streamed.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_EXPORT_H
#define WEB_API_API_EXPORT_H

#include "web/handler/context.h"

/* api_export.c */
void api_export(void *ctx, struct request *r, struct answer *a);

#endif
