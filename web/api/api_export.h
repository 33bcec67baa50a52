/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handler of /api/v1/export: many profiles as a tar archive, streamed.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_EXPORT_H
#define WEB_API_API_EXPORT_H

#include "web/handler/context.h"

/*
 * Start an export; its body is streamed after the handler returns. An error
 * before that is answered as JSON; a later error ends the connection.
 */
void api_export(void *ctx, struct request *r, struct answer *a);

#endif
