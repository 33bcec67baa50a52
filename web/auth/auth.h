/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authentication: who asks, and what he may do. Users by name and bcrypt hash,
 * tokens by their text; the file is read again when it changes, and one with
 * mistakes changes nothing.
 *
 * Comparisons take the same time whatever they compare. A password costs its
 * hash once; then it is known by a keyed digest, as long as the file stays.
 *
 * Ownership: what is handed in is borrowed.
 * Threads: any.
 */
#ifndef WEB_AUTH_AUTH_H
#define WEB_AUTH_AUTH_H

#include "base/log.h"
#include "web/auth/tls.h"
#include "web/web_config.h"

enum {
	AUTH_NAME_MAX = 128
};

/* What a request brings; NULL for what it does not. */
struct credentials {
	const char *user;
	const char *password;
	const char *token;
};

struct identity {
	char name[AUTH_NAME_MAX]; /* "" for nobody in particular */
	unsigned scopes;
};

struct auth;

/* path NULL: everybody may do everything. Errors are web_config_load()'s. */
NODISCARD int auth_new(const char *path, const struct log *log,
		       struct auth **out, struct err *err);
void auth_free(struct auth *a); /* NULL is a no-op */

enum auth_verdict {
	AUTH_GRANTED, /* the identity is filled in; its scopes may be too few */
	AUTH_REFUSED, /* nobody, or wrong */
	AUTH_SLOW,    /* only auth_verify() can tell, which takes long */
	AUTH_BUSY,    /* too many passwords are being verified: later */
};

/*
 * Read the files again when one of them is another. It may wait for the disk,
 * while nobody else waits for it. One thread alone: the server's sweeper.
 */
void auth_refresh(struct auth *a);

/* Whether the last reading went well. */
bool auth_is_current(struct auth *a);

/* Whether anybody may ask: no users, tokens or client certificates are wanted. */
bool auth_is_open(struct auth *a);

/*
 * What strangers on the network could do, as a sentence: ask for everything,
 * or read passwords. NULL: neither.
 */
const char *auth_exposure(struct auth *a);

/* Quick: for the thread that must not wait. */
enum auth_verdict auth_check(struct auth *a, const struct credentials *c,
			     struct identity *out);

/* The rest of it: granted, refused or busy. Hashes, one at a time. */
enum auth_verdict auth_verify(struct auth *a, const struct credentials *c,
			      struct identity *out);

/* The schemes that there are, as WWW-Authenticate names them: a constant. */
const char *auth_challenge(struct auth *a);

/*
 * TLS. Whether there is any, and what the server is started with; certificates
 * come with each handshake (tls_serve()), and change with their files. The
 * caller owns the text.
 */
bool auth_has_tls(struct auth *a);
char *auth_tls_priorities(struct auth *a);
char *auth_client_ca(struct auth *a); /* NULL: clients are not asked */
void auth_tls_material(void *ctx, struct tls_material *out); /* an auth */

/* Judge a session's client certificate. ERR_DENIED: why it will not do. */
NODISCARD int auth_client(struct auth *a, void *session, struct err *err);

/* Call fn with each header that answers carry. */
void auth_headers(struct auth *a,
		  void (*fn)(void *ctx, const char *name, const char *value),
		  void *ctx);

#endif
