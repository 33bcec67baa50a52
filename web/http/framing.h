/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing: decides how the headers of a request delimit its body, and whether
 * they do so in one way only, so that requests cannot be smuggled. A proxy in
 * front of the server and the server itself must see the same requests in the
 * same bytes (RFC 9112 2.2, 5.1, 5.2, 6.3). libmicrohttpd 0.9 accepts many malformed requests that a
 * proxy could read differently; version 1.0 does so unless it is told to be
 * strict.
 *
 * Threads: the server's thread.
 */
#ifndef WEB_HTTP_FRAMING_H
#define WEB_HTTP_FRAMING_H

#include <stdbool.h>

#include "web/guard/connections.h"

struct MHD_Connection;

/* How a body is delimited. */
enum framing {
	FRAMING_LENGTH,  /* by Content-Length, or there is no body */
	FRAMING_CHUNKED, /* by its chunks */
	/* A proxy could read the request differently than this server. */
	FRAMING_AMBIGUOUS,
};

/*
 * The value of MHD_OPTION_STRICT_FOR_CLIENT with which a server must be started
 * for framing_of() to be right: libmicrohttpd 1.0 then refuses bare
 * LF, folded lines and blanks in names itself. Version 0.9 keeps its default.
 */
int framing_strictness(void);

/*
 * Return how the body of a request is delimited. `method` and `version` are
 * pointers into libmicrohttpd's buffer, as passed to the first callback for the
 * request. `target` is what was recorded before
 * libmicrohttpd parsed the target, or NULL. One case is not detected: a NUL
 * right before a bare LF, because libmicrohttpd turns a CR LF into the same
 * bytes.
 */
enum framing framing_of(struct MHD_Connection *c, const char *method,
			const struct connection_target *target,
			const char *version);

#endif
