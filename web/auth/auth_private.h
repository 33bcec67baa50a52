/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of authentication share. No file outside of them includes it.
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

#define KNOWN_MAX 256 /* passwords remembered */

#define SECRET_SIZE 32
#define HASH_LEN    60 /* bytes of a bcrypt hash */

/*
 * A password that was verified: the digest of the server's secret, the user,
 * the password and its hash.
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
	size_t known_count;          /* ever; the oldest one is overwritten */
	uint8_t secret[SECRET_SIZE]; /* key of digests, new at each start */
	struct mutex hashing;        /* held during one bcrypt */
	_Atomic int waiting;         /* requests that wait for `hashing` */
};

/* Fill in who is asking. */
void auth_grant(struct identity *out, struct str name, unsigned scopes);

#endif
