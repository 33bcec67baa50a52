/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upload: the large body of a request to a route of kind ROUTE_BODY. Its memory
 * is taken from the ingest limiter before the first byte is read, and the
 * sender is authenticated before that.
 *
 * Ownership: everything belongs to the exchange.
 * Threads: the server's thread.
 */
#ifndef WEB_HTTP_UPLOAD_H
#define WEB_HTTP_UPLOAD_H

#include "web/http/exchange.h"

/* Why the body of such a request is refused. */
#define UPLOAD_LARGE \
	"the request body is larger than --scrape.max-profile-size allows"
#define UPLOAD_CROWDED \
	"no memory for the request body within --ingest.memory; retry later"

/* Whether the request is for a route that takes large bodies. */
bool upload_is(const struct exchange *x);

/*
 * Take memory for the body, and give the client more time to send it. Returns
 * whether the request is refused; in this case the answer is set, and the
 * connection is closed after it. If there is no memory for a small body, the
 * body is read and dropped instead, so that the client can read the answer.
 */
bool upload_refuse(struct exchange *x);

/* Append a piece to the body. */
void upload_add(struct exchange *x, const char *data, size_t len);

/* Free the body and return its memory to the limiter. */
void upload_free(struct exchange *x);

#endif
