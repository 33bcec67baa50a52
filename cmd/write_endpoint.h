/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects the web server's /api/v1/write with the receiver of remote write.
 *
 * Ownership: borrows the receiver.
 * Threads: one thread makes the struct; its functions may be called by any.
 */
#ifndef CMD_WRITE_ENDPOINT_H
#define CMD_WRITE_ENDPOINT_H

#include "remotewrite/receiver.h"
#include "web/web.h"

/*
 * Returns what the web server needs of the receiver. `enabled` is false when
 * clients must not use it.
 */
struct web_writer write_endpoint(struct receiver *r, bool enabled,
				 struct ingest_limiter *limiter);

#endif
