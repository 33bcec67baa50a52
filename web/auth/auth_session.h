/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Begin, check and end the sessions of users who signed in with a browser. The
 * list of sessions is in sessions.h; docs/security.md says when they end.
 *
 * Ownership: arguments are borrowed.
 * Threads: any; auth_check_session() with the lock of struct auth held.
 */
#ifndef WEB_AUTH_AUTH_SESSION_H
#define WEB_AUTH_AUTH_SESSION_H

#include "web/auth/auth.h"

/*
 * Begin a session of a sender who was granted access, and write its text. The
 * session has the scopes that the user or token has in the configuration at any
 * time; it ends when their secret changes. ERR_INVALID: nobody has to sign in,
 * or the sender is in a session already.
 */
NODISCARD int auth_begin_session(struct auth *a, const struct identity *who,
				 char out[AUTH_SESSION_LEN + 1],
				 struct err *err);

/* End the session of this text, if there is one. */
void auth_end_session(struct auth *a, const char *text);

/*
 * Check the session of a request. Returns AUTH_GRANTED, with the scopes of the
 * current configuration, or AUTH_REFUSED. The caller holds the lock.
 */
enum auth_verdict auth_check_session(struct auth *a, const char *text,
				     struct identity *out);

#endif
