/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of browsers: who is signed in, signing in, signing out.
 *
 * Ownership: nothing is kept.
 * Threads: any.
 */
#ifndef WEB_STATUS_API_SESSION_H
#define WEB_STATUS_API_SESSION_H

#include "web/route/route.h"

/* GET /api/v1/session: who sends the request, and whether a session is used. */
void api_session(void *ctx, struct request *r, struct answer *a);

/*
 * POST /api/v1/session/begin: the sender, who has sent valid credentials, gets
 * a cookie that takes their place.
 */
void api_session_begin(void *ctx, struct request *r, struct answer *a);

/* POST /api/v1/session/end: the session of the cookie ends. */
void api_session_end(void *ctx, struct request *r, struct answer *a);

#endif
