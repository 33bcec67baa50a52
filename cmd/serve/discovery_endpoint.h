/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects the web server with the discovery manager.
 *
 * Ownership: borrows the manager.
 * Threads: one thread makes the struct; its functions may be called by any.
 */
#ifndef CMD_SERVE_DISCOVERY_ENDPOINT_H
#define CMD_SERVE_DISCOVERY_ENDPOINT_H

#include "discovery/manager.h"
#include "web/web.h"

/* Return what the web server shows of service discoveries. */
struct web_discoveries discovery_endpoint(struct discovery *d);

#endif
