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
 * Check a bearer token against all configured tokens. Timing reveals neither
 * lengths, because digests are compared, nor which token matches, because the
 * search continues after a match.
 */
enum auth_verdict auth_check_token(const struct auth *a, const char *token,
				   struct identity *out);

/*
 * Choose the user whose hash is checked in place of an unknown name's, so that
 * refusing the name takes as long as refusing a wrong password. The same name
 * always gives the same user. NULL: there are no users.
 */
const struct web_user *auth_stand_in(const struct auth *a, const char *name);

/* Compute the digest by which a verified password is recognised. */
void auth_make_known(const struct auth *a, const struct credentials *c,
		     struct str hash, struct known *out);

/*
 * Whether a password was verified before. All remembered passwords are
 * compared, so that timing does not reveal which one matches.
 */
bool auth_is_known(const struct auth *a, const struct known *k);

/* Whether a password matches a bcrypt hash. bcrypt is slow on purpose. */
bool auth_hash_matches(const char *password, const char *hash);

#endif
