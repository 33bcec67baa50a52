/* SPDX-License-Identifier: Apache-2.0 */
#include "web/auth/auth_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "web/auth/auth_password.h"
#include "web/auth/auth_private.h"

enum {
	SESSION_BYTES = AUTH_SESSION_LEN / 2
};

static int64_t session_seconds(void)
{
	return clock_mono_ns() / 1000000000;
}

/* Find a token by name, or NULL. */
static const struct web_token *find_token(const struct auth *a,
					  const char *name)
{
	for (size_t i = 0; i < a->config.token_count; i++) {
		if (str_is(a->config.tokens[i].name, name))
			return &a->config.tokens[i];
	}
	return NULL;
}

/*
 * Get the scopes of a user or token, and a digest of the user's or token's
 * secret. Returns false if the configuration does not contain this user or
 * token any more.
 */
static bool session_proof(const struct auth *a, const char *name, bool is_token,
			  uint8_t proof[DIGEST_SHA256_SIZE], unsigned *scopes)
{
	const struct web_token *t = is_token ? find_token(a, name) : NULL;
	const struct web_user *u = is_token ? NULL : auth_find_user(a, name);

	if (!t && !u)
		return false;
	digest_sha256(bytes_of(t ? t->token : u->hash), proof);
	*scopes = t ? t->scopes : u->scopes;
	return true;
}

enum auth_verdict auth_check_session(struct auth *a, const char *text,
				     struct identity *out)
{
	struct session *x =
		sessions_find(&a->sessions, text, session_seconds());
	uint8_t proof[DIGEST_SHA256_SIZE];
	unsigned scopes;

	if (!x)
		return AUTH_REFUSED;
	if (!session_proof(a, x->name, x->is_token, proof, &scopes) ||
	    !auth_is_same(proof, x->proof, sizeof(proof))) {
		sessions_remove(&a->sessions, x);
		return AUTH_REFUSED;
	}
	auth_grant(out, str_of(x->name), scopes);
	out->is_token = x->is_token;
	out->in_session = true;
	return AUTH_GRANTED;
}

/* Write random bytes as hexadecimal digits. */
static void session_make_text(char out[AUTH_SESSION_LEN + 1])
{
	uint8_t bytes[SESSION_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		abort(); /* without randomness a session would be no secret */
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	explicit_bzero(bytes, sizeof(bytes));
}

int auth_begin_session(struct auth *a, const struct identity *who,
		       char out[AUTH_SESSION_LEN + 1], struct err *err)
{
	uint8_t proof[DIGEST_SHA256_SIZE];
	struct session *x;
	unsigned scopes;
	int rc = 0;

	if (who->in_session)
		return err_set(err, ERR_INVALID, "you are signed in already");
	mutex_lock(&a->mu);
	if (!session_proof(a, who->name, who->is_token, proof, &scopes)) {
		rc = err_set(
			err, ERR_INVALID,
			"this server does not require authentication, so there is no session to begin");
	} else {
		session_make_text(out);
		x = sessions_add(&a->sessions, who->name, who->is_token,
				 session_seconds());
		digest_sha256(bytes_of(str_of(out)), x->digest);
		memcpy(x->proof, proof, sizeof(proof));
	}
	mutex_unlock(&a->mu);
	return rc;
}

void auth_end_session(struct auth *a, const char *text)
{
	struct session *x;

	mutex_lock(&a->mu);
	x = sessions_find(&a->sessions, text, session_seconds());
	if (x)
		sessions_remove(&a->sessions, x);
	mutex_unlock(&a->mu);
}
