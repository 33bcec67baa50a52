/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing: detect request smuggling. A proxy in front of the server must see
 * the same requests in a sequence of bytes as the server does (RFC 9112 2.2,
 * 5.1, 5.2, 6.3). libmicrohttpd 0.9 accepts most of what makes them differ.
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
 * Whether a request could be read in two ways. method and version are those of
 * libmicrohttpd's first call for the request, which point into its buffer;
 * target is what was noted before the target was parsed, or NULL. One case is
 * not seen: a NUL right before a bare LF, which libmicrohttpd makes the same
 * bytes as a CR LF.
 */
bool framing_is_ambiguous(struct MHD_Connection *c, const char *method,
			  const struct connection_target *target,
			  const char *version);

#endif
