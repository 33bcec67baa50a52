/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials: what a request says about its sender.
 *
 * Ownership: texts are borrowed from the header and from the arena.
 * Threads: plain values.
 */
#ifndef WEB_AUTH_CREDENTIALS_H
#define WEB_AUTH_CREDENTIALS_H

#include "base/arena.h"

/* The credentials of a request. A member is NULL if the request lacks it. */
struct credentials {
	const char *user;
	const char *password;
	const char *token;
	/* the text of a session, from a cookie */
	const char *session;
};

/*
 * Read the value of a header Authorization: user and password (RFC 7617) or a bearer
 * token (RFC 6750). Malformed credentials are none. The user and the password are in the
 * arena; the token is a part of the value.
 */
struct credentials credentials_read(const char *authorization,
				    struct arena *arena);

#endif
