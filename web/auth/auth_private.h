/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types and functions that the files of authentication share. No other file
 * includes this header.
 *
 * Ownership: auth_free() frees all of it.
 * Threads: any; `mu` and `hashing` of struct auth guard its members.
 */
#ifndef WEB_AUTH_AUTH_PRIVATE_H
#define WEB_AUTH_AUTH_PRIVATE_H

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

/* Find a user by name, or NULL; the caller holds the lock. */
const struct web_user *auth_find_user(const struct auth *a, const char *name);

/* Fill in the name and the scopes of a user or token. */
void auth_grant(struct identity *out, struct str name, unsigned scopes);

#endif
