/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authentication: find out who sends a request and what the sender may do. A
 * user has a name and a password, of which the configuration contains the
 * bcrypt hash; a token is a secret text. The web configuration file is loaded
 * again when it changes; a file with mistakes is ignored.
 *
 * Secrets are compared in a time that does not depend on their contents, so
 * that timing reveals nothing about them. bcrypt is slow, so a password is
 * hashed only once; until the file changes, it is then recognised by a keyed
 * digest (docs/decisions.md, 66).
 *
 * Ownership: arguments are borrowed.
 * Threads: any.
 */
#ifndef WEB_AUTH_AUTH_H
#define WEB_AUTH_AUTH_H

#include "base/log.h"
#include "web/auth/credentials.h"
#include "web/auth/tls.h"
#include "web/auth/web_config.h"

enum {
	AUTH_NAME_MAX = 128,
	AUTH_SESSION_LEN = 64, /* length of the text of a session */
};

/* The sender of a request, and what the sender may do. */
struct identity {
	/* name of the user or token; "" when no login is required */
	char name[AUTH_NAME_MAX];
	unsigned scopes; /* what the sender may do: a set of enum scope */
	bool is_token;   /* whether the name is that of a token */
	bool in_session; /* whether the sender signed in before */
};

/* What clients are told for a verdict. */
#define AUTH_BUSY_REFUSAL  "too many passwords are being verified; retry later"
#define AUTH_SPLIT_REFUSAL "the request has more than one Authorization header"

struct auth;

/*
 * Load the web configuration from the file `path`. If `path` is NULL, there is
 * no authentication, and every request is allowed. Returns the errors of
 * web_config_load(). The caller owns the result.
 */
NODISCARD int auth_new(const char *path, const struct log *log,
		       struct auth **out, struct err *err);

/* Free an auth; NULL is a no-op. */
void auth_free(struct auth *a);

/* Results of checking credentials. */
enum auth_verdict {
	AUTH_GRANTED, /* the identity is set; its scopes are not checked yet */
	AUTH_REFUSED, /* credentials are missing or wrong */
	/* not decided yet: auth_verify() has to hash the password */
	AUTH_SLOW,
	/* too many passwords are being verified; the client may retry */
	AUTH_BUSY,
};

/*
 * Load the configuration again when one of its files has changed. This may wait
 * for the disk, but holds no lock meanwhile. Only the server's sweeper thread
 * may call it.
 */
void auth_refresh(struct auth *a);

/* Whether the last attempt to load the configuration succeeded. */
bool auth_is_current(struct auth *a);

/*
 * Whether everybody has access: the configuration has no users and no tokens,
 * and does not require a verified client certificate.
 */
bool auth_is_open(struct auth *a);

/*
 * Return what strangers in the network could do, as a sentence for a warning:
 * read all profiles, or intercept passwords. NULL if they can do neither.
 */
const char *auth_exposure(struct auth *a);

/*
 * Check credentials without hashing, because the caller is the server's thread,
 * which must not wait. Returns AUTH_GRANTED, AUTH_REFUSED or AUTH_SLOW.
 */
enum auth_verdict auth_check(struct auth *a, const struct credentials *c,
			     struct identity *out);

/*
 * Decide on credentials for which auth_check() returned AUTH_SLOW. This hashes
 * the password; the process hashes only one password at a time. Returns
 * AUTH_GRANTED, AUTH_REFUSED or AUTH_BUSY.
 */
enum auth_verdict auth_verify(struct auth *a, const struct credentials *c,
			      struct identity *out);

/*
 * The accepted authentication schemes, as the value of a WWW-Authenticate
 * header. The text is a constant.
 */
const char *auth_challenge(struct auth *a);

/*
 * Whether the server uses TLS. This function and the next two are called only
 * when the server starts. The certificate is fetched at each handshake, see
 * tls_serve(), so changed files take effect without a restart.
 */
bool auth_has_tls(struct auth *a);

/*
 * The TLS versions and ciphers as a gnutls priority string, which the caller
 * owns.
 */
char *auth_tls_priorities(struct auth *a);

/*
 * A CA, as PEM, to start libmicrohttpd with, so that it asks clients for
 * certificates; the caller owns the text. NULL: do not ask clients.
 */
char *auth_client_ca(struct auth *a);

/*
 * Callback for tls_serve(): copy the certificate and the key to `out`. `ctx` is
 * the struct auth.
 */
void auth_tls_material(void *ctx, struct tls_material *out);

/*
 * Check the client certificate of a TLS session (a gnutls_session_t). Returns
 * ERR_DENIED, with the reason, when the certificate is not accepted.
 */
NODISCARD int auth_client(struct auth *a, void *session, struct err *err);

/*
 * Call `fn` with each header that the web configuration adds to every answer.
 * `fn` runs while the lock is held, so it must not call a function of this
 * file.
 */
void auth_headers(struct auth *a,
		  void (*fn)(void *ctx, const char *name, const char *value),
		  void *ctx);

/*
 * Begin a session of a sender who was granted access, and write its text. The
 * session has the scopes that the user or token has in the configuration at any
 * time; it ends when their secret changes. ERR_INVALID: nobody has to sign in,
 * or the sender is in a session already.
 */
NODISCARD int auth_begin_session(struct auth *a, const struct identity *who,
				 char out[AUTH_SESSION_LEN + 1],
				 struct err *err);

/* End the session of this text, if there is one. */
void auth_end_session(struct auth *a, const char *text);

#endif
