/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access: who may ask for what. Authentication, scopes, origins, hosts and rate
 * limits of a request.
 *
 * Ownership: those of the exchange.
 * Threads: the server's thread, but access_verify(): any pool thread.
 */
#ifndef WEB_HTTP_ACCESS_H
#define WEB_HTTP_ACCESS_H

#include "web/http/exchange.h"

/* Headers for pages of other origins that may read the answer. */
void entry_add_cors(struct exchange *x, struct MHD_Response *r);

/* The request can be read in two ways: 400, and the connection ends. */
void entry_refuse_framing(struct exchange *x);

/* Before a body is read: whoever is refused anyway need not send it. */
bool entry_refuse_body(struct exchange *x);

/*
 * Judge a request: one that is not to be handled has its answer; one whose
 * password is to be hashed first is unverified.
 */
void entry_check(struct exchange *x);

/* The same when a worker has taken over: hashes, if need be. */
void entry_verify(struct exchange *x);

#endif
