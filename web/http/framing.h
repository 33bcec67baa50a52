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

struct MHD_Connection;

/*
 * Whether a request could be read in two ways. method and version are those of
 * libmicrohttpd's first call for the request, which point into its buffer;
 * behind_target is the byte after the target's NUL, noted before the target was
 * parsed.
 */
bool framing_is_ambiguous(struct MHD_Connection *c, const char *method,
			  const char *behind_target, const char *version);

#endif
