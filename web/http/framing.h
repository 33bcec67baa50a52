/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing: whether a proxy before us could see other requests in the bytes of
 * a request than we do (RFC 9112 2.2, 5.1, 5.2, 6.3). libmicrohttpd 0.9 lets
 * most of that pass.
 *
 * Ownership: keeps nothing.
 * Threads: the server's thread.
 */
#ifndef WEB_HTTP_FRAMING_H
#define WEB_HTTP_FRAMING_H

#include <stdbool.h>

struct MHD_Connection;

/*
 * method and version as the request's first call brings them; behind_target:
 * the byte behind the one that ended the target, when it was still whole.
 */
bool framing_is_ambiguous(struct MHD_Connection *c, const char *method,
			  const char *behind_target, const char *version);

#endif
