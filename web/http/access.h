/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access: decide whether a request may be handled, by its rate, host,
 * credentials, scopes and origin.
 *
 * Ownership: everything belongs to the exchange.
 * Threads: the server's thread, except access_verify() and
 * access_verify_early(): any pool thread.
 */
#ifndef WEB_HTTP_ACCESS_H
#define WEB_HTTP_ACCESS_H

#include "web/http/exchange.h"

/* Add the CORS headers that let pages of an allowed origin read the answer. */
void access_add_cors(struct exchange *x, struct MHD_Response *r);

/*
 * Refuse a request whose length is ambiguous (request smuggling): answer 400
 * and close the connection.
 */
void access_refuse_framing(struct exchange *x);

/*
 * Check a request with a body before the body is read, so that a client that is
 * refused need not send the body. Returns whether the request is refused; in
 * this case the answer is set.
 */
bool access_refuse_body(struct exchange *x);

/*
 * Check a complete request. If the request is refused, its answer is set. If
 * its password has to be hashed, the request is marked as unverified, and
 * access_verify() decides later.
 */
void access_check(struct exchange *x);

/*
 * Decide on an unverified request by hashing its password, on a pool thread.
 * Does nothing for any other request.
 */
void access_verify(struct exchange *x);

/*
 * Hash the password of an unverified request, on a pool thread, before the body
 * is read. If the request is refused, its answer is set; else access_check()
 * checks the rest later.
 */
void access_verify_early(struct exchange *x);

#endif
