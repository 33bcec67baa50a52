/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access: decide whether a request may be handled, by its rate, host,
 * credentials, scopes and origin.
 *
 * Ownership: everything belongs to the exchange.
 * Threads: the server's thread, except access_verify(): any pool thread.
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
 * Judge a request that announces a body before the body is read, so that a
 * client that is refused anyway need not send it. Returns whether the request
 * is refused; the answer is then set.
 */
bool access_refuse_body(struct exchange *x);

/*
 * Judge a complete request. A request that must not be handled gets its answer
 * set. A request whose password has to be hashed is marked as unverified;
 * access_verify() then decides.
 */
void access_check(struct exchange *x);

/*
 * Decide an unverified request on a pool thread, which hashes the password.
 * Does nothing for any other request.
 */
void access_verify(struct exchange *x);

#endif
