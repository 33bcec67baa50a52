/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch: runs the handler of a complete request, on the server's thread or
 * on a pool thread while the connection is suspended. A request that a pool
 * thread handles is listed as a running query.
 *
 * Ownership: the exchange belongs to the server.
 * Threads: the server's thread.
 */
#ifndef WEB_HTTP_DISPATCH_H
#define WEB_HTTP_DISPATCH_H

#include "web/http/exchange.h"

/*
 * Handle a complete request on this thread, or submit it to the worker threads.
 */
enum MHD_Result dispatch_request(struct exchange *x);

#endif
