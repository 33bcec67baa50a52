/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers for the sessions of browsers: they show who is signed in, sign a
 * user in, and sign a user out.
 *
 * Ownership: nothing is kept.
 * Threads: any.
 */
#ifndef WEB_API_API_SESSION_H
#define WEB_API_API_SESSION_H

#include "web/http/route.h"

/* GET /api/v1/session: who sends the request, and whether by a session. */
void api_session(void *ctx, struct request *r, struct answer *a);

/*
 * POST /api/v1/session/begin: begin a session. The request carries valid
 * credentials; the answer sets a cookie that replaces them in later requests.
 */
void api_session_begin(void *ctx, struct request *r, struct answer *a);

/* POST /api/v1/session/end: end the session that the cookie names. */
void api_session_end(void *ctx, struct request *r, struct answer *a);

#endif
