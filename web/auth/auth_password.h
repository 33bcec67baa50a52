/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of authentication, and the comparison of passwords and tokens without a timing side channel. Passwords that bcrypt has verified are
 * recognised by a keyed digest. Only the files of authentication use this.
 *
 * Ownership: auth_free() frees struct auth; arguments are borrowed.
 * Threads: any; `mu` and `hashing` of struct auth guard its members.
 */
#ifndef WEB_AUTH_AUTH_PASSWORD_H
#define WEB_AUTH_AUTH_PASSWORD_H

#include <stdatomic.h>

#include "base/digest.h"
#include "base/mutex.h"
#include "base/vec.h"
#include "web/auth/auth.h"
#include "web/auth/sessions.h"
#include "web/auth/web_config.h"

#define KNOWN_MAX 256 /* how many verified passwords are remembered */

#define SECRET_SIZE 32
#define HASH_LEN    60 /* length of a bcrypt hash in bytes */

/*
 * A verified password, represented by a digest of the server's secret, the user
 * name, the password and the password's bcrypt hash.
 */
struct known {
	uint8_t digest[DIGEST_SHA256_SIZE];
};

/*
 * The state of authentication. `mu` guards the configuration and the verified
 * passwords.
 */
struct auth {
	const struct log *log;
	char *path; /* web configuration file; NULL: no authentication */
	struct mutex mu;
	struct web_config config; /* written by auth_refresh() alone */
	/* error of the last attempt to load the configuration; empty: none */
	struct err failed;
	VEC(char *) limited; /* users whose scopes were ever limited */
	struct known known[KNOWN_MAX];
	/*
	 * number of passwords remembered since the configuration was loaded;
	 * when `known` is full, a new password overwrites the oldest
	 */
	size_t known_count;
	struct sessions sessions; /* of users who signed in */
	/* key of the digests, chosen at random by each process */
	uint8_t secret[SECRET_SIZE];
	struct mutex hashing; /* held while a password is hashed */
	/* number of requests that hold or wait for `hashing` */
	_Atomic int waiting;
};

/* Fill in the name and the scopes of a user or token. */
void auth_grant(struct identity *out, struct str name, unsigned scopes);

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
