/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check passwords and tokens without a timing side channel, and remember the
 * passwords that bcrypt has verified.
 *
 * Ownership: borrows its inputs.
 * Threads: any; auth_is_known() with mu held.
 */
#ifndef WEB_AUTH_AUTH_PASSWORD_H
#define WEB_AUTH_AUTH_PASSWORD_H

#include "web/auth/auth_private.h"

/*
 * Check a bearer token. Digests are compared, so that timing does not reveal
 * lengths, and every token is compared, even after a match.
 */
enum auth_verdict auth_check_token(const struct auth *a, const char *token,
				   struct identity *out);

/*
 * Choose a user whose hash is checked in place of an unknown name's, so that
 * refusing the name takes as long as refusing a wrong password. A name always
 * gets the same user. NULL: there are no users.
 */
const struct web_user *auth_stand_in(const struct auth *a, const char *name);

/* Compute the digest by which a verified password is recognised. */
void auth_make_known(const struct auth *a, const struct credentials *c,
		     struct str hash, struct known *out);

/*
 * Whether a password was verified before. All entries are compared, so that
 * timing does not reveal which one matches.
 */
bool auth_is_known(const struct auth *a, const struct known *k);

/* Verify a password by bcrypt, which is slow on purpose. */
bool auth_hash_matches(const char *password, const char *hash);

#endif
