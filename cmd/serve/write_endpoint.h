/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects the web server with the receiver and the sender of remote write.
 *
 * Ownership: borrows the receiver and the sender.
 * Threads: one thread makes the struct; its functions may be called by any.
 */
#ifndef CMD_SERVE_WRITE_ENDPOINT_H
#define CMD_SERVE_WRITE_ENDPOINT_H

#include "remotewrite/receive/receiver.h"
#include "remotewrite/send/sender.h"
#include "web/web.h"

/*
 * Return what the web server needs of the receiver. `enabled` is false when
 * clients must not use it.
 */
struct web_writer write_endpoint(struct receiver *r, bool enabled,
				 struct ingest_limiter *limiter);

/* Return what the web server shows of the sender. */
struct web_sender sender_endpoint(struct sender *s);

#endif
