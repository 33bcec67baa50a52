/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing: detect request smuggling. A proxy in front of the server must see
 * the same requests in a sequence of bytes as the server does (RFC 9112 2.2,
 * 5.1, 5.2, 6.3). libmicrohttpd 0.9 accepts most of the malformed requests that
 * a proxy could read differently.
 *
 * Ownership: keeps nothing.
 * Threads: the server's thread.
 */
#ifndef WEB_HTTP_FRAMING_H
#define WEB_HTTP_FRAMING_H

#include <stdbool.h>

#include "web/http/connections.h"

struct MHD_Connection;

/*
 * Whether a request could be read in two ways. `method` and `version` are the
 * pointers into libmicrohttpd's buffer that its first call for the request
 * passes. `target` is what was noted before the target was parsed, or NULL. One
 * case is not detected: a NUL right before a bare LF, because libmicrohttpd
 * turns a CR LF into the same bytes.
 */
bool framing_is_ambiguous(struct MHD_Connection *c, const char *method,
			  const struct connection_target *target,
			  const char *version);

#endif
