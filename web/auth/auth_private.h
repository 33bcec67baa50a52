/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types and functions that the files of authentication share. No other file
 * includes this header.
 *
 * Ownership: auth_free() frees all of it.
 * Threads: see struct auth.
 */
#ifndef WEB_AUTH_AUTH_PRIVATE_H
#define WEB_AUTH_AUTH_PRIVATE_H

#include <stdatomic.h>

#include "base/digest.h"
#include "base/mutex.h"
#include "base/vec.h"
#include "web/auth/auth.h"
#include "web/web_config.h"

#define KNOWN_MAX 256 /* number of verified passwords remembered */

#define SECRET_SIZE 32
#define HASH_LEN    60 /* length of a bcrypt hash in bytes */

/*
 * A verified password, as a digest of the server's secret, the user name, the
 * password and its bcrypt hash.
 */
struct known {
	uint8_t digest[DIGEST_SHA256_SIZE];
};

/*
 * The state of authentication. `mu` guards the configuration and the known
 * passwords.
 */
struct auth {
	const struct log *log;
	char *path; /* NULL: no authentication */
	struct mutex mu;
	struct web_config config; /* written by auth_refresh() alone */
	struct err failed;        /* the error of the last load, or empty */
	VEC(char *) limited;      /* users who ever had limited scopes */
	struct known known[KNOWN_MAX];
	/*
	 * number of passwords ever remembered; a new password overwrites the
	 * oldest
	 */
	size_t known_count;
	/* key of digests, random in each process */
	uint8_t secret[SECRET_SIZE];
	struct mutex hashing; /* held while a password is hashed */
	_Atomic int waiting;  /* requests that hold or await `hashing` */
};

/* Fill in the name and the scopes of a user or token. */
void auth_grant(struct identity *out, struct str name, unsigned scopes);

#endif
