/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects the web server with the receiver of pushed profiles.
 *
 * Ownership: borrows the receiver.
 * Threads: one thread makes the struct; its functions may be called by any.
 */
#ifndef CMD_SERVE_PUSH_ENDPOINT_H
#define CMD_SERVE_PUSH_ENDPOINT_H

#include "push/receive/push_receiver.h"
#include "web/web.h"

/*
 * Return what the web server needs of the receiver. `enabled` is false when
 * clients must not push.
 */
struct web_pusher push_endpoint(struct push_receiver *r, bool enabled);

#endif
