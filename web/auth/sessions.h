/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of users who signed in with a browser. A session is a random text
 * that the browser keeps in a cookie. The server keeps a digest of this text,
 * the name of the user or token, and a digest of the secret used to sign in.
 * Sessions are not stored: after a restart, users sign in again.
 *
 * Ownership: a struct sessions belongs to its struct auth.
 * Threads: struct auth.mu is held for every call.
 */
#ifndef WEB_AUTH_SESSIONS_H
#define WEB_AUTH_SESSIONS_H

#include "base/digest.h"
#include "web/auth/auth.h"

enum {
	/*
	 * Largest number of sessions at a time, and of one user or token; a new
	 * session beyond one of these numbers ends the session that was idle
	 * longest, among all or among those of the user or token.
	 */
	SESSIONS_MAX = 1024,
	SESSIONS_MAX_EACH = 64,
	/*
	 * A session ends when it was not used for SESSION_IDLE_SECONDS, or when
	 * it began more than SESSION_AGE_SECONDS ago.
	 */
	SESSION_IDLE_SECONDS = 7 * 24 * 3600,
	SESSION_AGE_SECONDS = 30 * 24 * 3600,
};

/* A session. */
struct session {
	uint8_t digest[DIGEST_SHA256_SIZE]; /* of the text in the cookie */
	/*
	 * Digest of the secret with which the user signed in. When the secret
	 * changes, the session ends.
	 */
	uint8_t proof[DIGEST_SHA256_SIZE];
	char name[AUTH_NAME_MAX];
	bool is_token;
	int64_t began_s; /* seconds on the monotonic clock */
	int64_t used_s;
};

/* All sessions. */
struct sessions {
	struct session *v; /* NULL before the first sign-in */
	size_t count;
};

/*
 * Add a session of a user or token and return it; the caller sets its digests.
 * If there are too many sessions, a session ends: one of the same user or token
 * if it has too many, so that nobody can sign others out by signing in often.
 */
struct session *sessions_add(struct sessions *s, const char *name,
			     bool is_token, int64_t now_s);

/*
 * Find the session with this text, and record that it was used now. NULL: there
 * is no such session, or it has ended. All sessions are compared, so that
 * timing reveals nothing.
 */
struct session *sessions_find(struct sessions *s, const char *text,
			      int64_t now_s);

/* End a session. */
void sessions_remove(struct sessions *s, struct session *x);

/* Free all sessions. */
void sessions_fini(struct sessions *s);

#endif
