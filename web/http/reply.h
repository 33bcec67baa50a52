/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reply: compress an answer and send it, whole or as a stream.
 *
 * Ownership: those of the exchange.
 * Threads: as noted at each function.
 */
#ifndef WEB_HTTP_REPLY_H
#define WEB_HTTP_REPLY_H

#include "web/http/exchange.h"

/* The answer's body is complete: pack it, if that is worth it. */
void reply_finish(struct exchange *x);

/* Streams that wait for memory try again; or break off, when we stop. */
void reply_wake_streams(struct server *s);

void reply_stop_streams(struct server *s);

enum MHD_Result reply_send(struct exchange *x);

#endif
