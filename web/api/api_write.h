/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API of remote write: POST /api/v1/write, which passes the requests of
 * senders to the receiver (docs/format/remote-write.md), and the status of
 * remote write.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_WRITE_H
#define WEB_API_API_WRITE_H

#include "web/http/route.h"

/*
 * POST /api/v1/write: stores the profiles of the body. Status 204 when all are
 * durable.
 */
void api_write(void *ctx, struct request *r, struct answer *a);

/*
 * GET /api/v1/status/remote_write: how far sending to each receiver has got,
 * and what this server has received.
 */
void api_status_remote_write(void *ctx, struct request *r, struct answer *a);

#endif
