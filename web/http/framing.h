/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing: decides whether the headers of a request delimit its body in one way
 * only, so that requests cannot be smuggled. A proxy in front of the server and
 * the server itself must see the same requests in the same bytes (RFC 9112 2.2,
 * 5.1, 5.2, 6.3). libmicrohttpd 0.9 accepts many malformed requests that a
 * proxy could read differently.
 *
 * Ownership: keeps nothing.
 * Threads: the server's thread.
 */
#ifndef WEB_HTTP_FRAMING_H
#define WEB_HTTP_FRAMING_H

#include <stdbool.h>

#include "web/guard/connections.h"

struct MHD_Connection;

/*
 * Whether a proxy could read a request differently than this server. `method`
 * and `version` are pointers into libmicrohttpd's buffer, as passed to the
 * first callback for the request. `target` is what was recorded before
 * libmicrohttpd parsed the target, or NULL. One case is not detected: a NUL
 * right before a bare LF, because libmicrohttpd turns a CR LF into the same
 * bytes.
 */
bool framing_is_ambiguous(struct MHD_Connection *c, const char *method,
			  const struct connection_target *target,
			  const char *version);

#endif
