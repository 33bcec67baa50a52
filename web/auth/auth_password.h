/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check passwords and tokens without a timing side channel, and recognise the
 * passwords that bcrypt has verified before.
 *
 * Ownership: borrows its inputs.
 * Threads: any; auth_is_known() with mu held.
 */
#ifndef WEB_AUTH_AUTH_PASSWORD_H
#define WEB_AUTH_AUTH_PASSWORD_H

#include "web/auth/auth_private.h"

/*
 * Compare n bytes. The time depends only on n, so timing does not reveal how
 * much of a guess is right.
 */
bool auth_is_same(const void *a, const void *b, size_t n);

/*
 * Check a bearer token against all configured tokens. Returns AUTH_GRANTED or
 * AUTH_REFUSED. Digests of the tokens are compared, so that timing does not
 * reveal lengths. The search continues after a match, so that timing does not
 * reveal which token matches.
 */
enum auth_verdict auth_check_token(const struct auth *a, const char *token,
				   struct identity *out);

/*
 * Choose a user in place of an unknown user `name`. The password of the request
 * is then checked against this user's hash, so that refusing an unknown name
 * takes as long as refusing a wrong password. The same name always gives the
 * same user. Returns NULL if there are no users.
 */
const struct web_user *auth_stand_in(const struct auth *a, const char *name);

/*
 * Compute the digest by which a verified password is recognised. `hash` is the
 * bcrypt hash of the password.
 */
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
