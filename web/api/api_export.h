/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handler of /api/v1/export: many profiles as a tar archive, streamed.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_EXPORT_H
#define WEB_API_API_EXPORT_H

#include "web/api/context.h"

/*
 * Start an export; its body is streamed after the handler has returned. If the
 * export cannot start, the answer is the error as JSON. A later error closes
 * the connection.
 */
void api_export(void *ctx, struct request *r, struct answer *a);

#endif
