/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reply: compress an answer and send it, whole or as a stream; count and log the
 * request.
 *
 * Ownership: everything belongs to the exchange.
 * Threads: as noted at each function.
 */
#ifndef WEB_HTTP_REPLY_H
#define WEB_HTTP_REPLY_H

#include "web/http/exchange.h"

/*
 * End the handling of a request: compress the body if that is worth it, and
 * return the query's memory, except for the memory of the body. Any thread may
 * call it.
 */
void reply_finish(struct exchange *x);

/*
 * Let the streams that wait for memory try again. Called by the sweeper thread.
 */
void reply_wake_streams(struct server *s);

/*
 * At shutdown: make the streams that wait for memory fail. Called by the thread
 * that stops the server.
 */
void reply_stop_streams(struct server *s);

/*
 * Send the answer. Returns MHD_NO, which closes the connection, when
 * libmicrohttpd lacks memory. Called by the server's thread.
 */
enum MHD_Result reply_send(struct exchange *x);

#endif
