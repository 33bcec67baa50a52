/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a server's message about an error: the first line of a plain text, or
 * the member `error` of a JSON object, as everprof and Prometheus answer.
 *
 * Threads: pure functions.
 */
#ifndef CLIENT_TRANSFER_SAID_H
#define CLIENT_TRANSFER_SAID_H

#include "base/buf.h"

/*
 * Copy the error text of a response body to `out`, which has `size` bytes; ""
 * if the body has none. The copy ends before the first byte that is not
 * printable ASCII, because it is shown in logs and on pages.
 */
void said_copy(const char *content_type, struct bytes body, char *out,
	       size_t size);

#endif
