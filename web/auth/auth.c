/* SPDX-License-Identifier: Apache-2.0 */
#include "web/auth/auth.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "base/vec.h"
#include "web/auth/auth_password.h"

/*
 * Sessions of users who signed in with a browser: begin, check, end. The
 * list of sessions is in sessions.h; docs/security.md says when they end.
 */

enum {
	SESSION_BYTES = AUTH_SESSION_LEN / 2
};

/* The clock of sessions. */
static int64_t session_seconds(void)
{
	return clock_mono_ns() / 1000000000;
}

/* Find a user by name, or NULL; the caller holds the lock. */
static const struct web_user *auth_find_user(const struct auth *a,
					     const char *name)
{
	for (size_t i = 0; i < a->config.user_count; i++) {
		if (str_is(a->config.users[i].name, name))
			return &a->config.users[i];
	}
	return NULL;
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

/*
 * Check the session of a request. Returns AUTH_GRANTED, with the scopes of the
 * current configuration, or AUTH_REFUSED. The caller holds the lock.
 */
static enum auth_verdict auth_check_session(struct auth *a, const char *text,
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
			"a session needs a user or token of --web.config.file; a server without users and tokens needs no session");
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

/*
 * limit on requests that verify a password at the same time; it keeps clients
 * that guess passwords from occupying all worker threads
 */
#define WAITING_MAX 4

/*
 * Whether the scopes of a user were limited at any time since the server
 * started.
 */
static bool was_limited(const struct auth *a, struct str name)
{
	for (size_t i = 0; i < a->limited.count; i++) {
		if (str_is(name, a->limited.v[i]))
			return true;
	}
	return false;
}

/*
 * Remember the users with limited scopes, so that find_unlimited() detects a
 * changed file that no longer limits them.
 */
static void note_limited(struct auth *a)
{
	for (size_t i = 0; i < a->config.user_count; i++) {
		const struct web_user *u = &a->config.users[i];

		if (u->limited && !was_limited(a, u->name))
			*vec_add(&a->limited) = mem_strndup(u->name);
	}
}

int auth_new(const char *path, const struct log *log, struct auth **out,
	     struct err *err)
{
	struct auth *a = mem_new(struct auth);
	int rc = 0;

	a->log = log;
	mutex_init(&a->mu);
	mutex_init(&a->hashing);
	if (getrandom(a->secret, sizeof(a->secret), 0) != sizeof(a->secret))
		abort(); /* without randomness nothing here would be safe */
	if (path) {
		a->path = mem_strdup(path);
		rc = web_config_load(&a->config, path, err);
	}
	if (rc) {
		auth_free(a);
		return rc;
	}
	note_limited(a);
	*out = a;
	return 0;
}

void auth_free(struct auth *a)
{
	if (!a)
		return;
	web_config_fini(&a->config);
	for (size_t i = 0; i < a->limited.count; i++)
		mem_free(a->limited.v[i]);
	vec_fini(&a->limited);
	mutex_destroy(&a->mu);
	mutex_destroy(&a->hashing);
	explicit_bzero(a->known, sizeof(a->known));
	sessions_fini(&a->sessions);
	mem_free(a->path);
	mem_free(a);
}

/*
 * Log why the configuration could not be loaded, but only if the reason has
 * changed: loading is tried again every second.
 */
static void tell_failure(const struct auth *a, const struct err *err)
{
	if (strcmp(a->failed.msg, err->msg) != 0)
		log_event(
			a->log, LOG_ERROR,
			"cannot load the web configuration; the previous one stays in effect",
			LOG_FIELDS(log_text("path", a->path), log_err(err)));
}

/*
 * Return a user whose scopes were limited before, and who has all scopes in the
 * new configuration, or NULL.
 */
static const struct web_user *find_unlimited(const struct auth *a,
					     const struct web_config *next)
{
	for (size_t i = 0; i < next->user_count; i++) {
		if (!next->users[i].limited &&
		    was_limited(a, next->users[i].name))
			return &next->users[i];
	}
	return NULL;
}

/*
 * Return ERR_DENIED when the new file would admit requests that the old file
 * refused: the file may be empty or incomplete because it is still being
 * written. If the change is intended, a restart makes it take effect.
 */
static int refuse_opening(const struct auth *a, const struct web_config *next,
			  struct err *err)
{
	const char *what = web_config_opens(&a->config, next);
	const struct web_user *u = find_unlimited(a, next);

	/*
	 * The TLS server was started without asking for certificates, so that
	 * no client would send one, and all of them would be refused.
	 */
	if (a->config.tls.cert.len &&
	    a->config.tls.client_auth == WEB_CLIENT_NONE &&
	    next->tls.client_auth != WEB_CLIENT_NONE)
		what = "the new file begins to ask clients for certificates, which needs a restart";
	if (what)
		return err_set(err, ERR_DENIED,
			       "%s; if this is intended, restart everprof",
			       what);
	if (u)
		return err_set(
			err, ERR_DENIED,
			"basic_auth_scopes of the new file lacks the user %.*s, who would then have all scopes; if this is intended, restart everprof",
			STR_ARG(u->name));
	return 0;
}

/*
 * Load the configuration into `next` if one of its files has changed. If no
 * file has changed, `next` stays empty.
 */
static int auth_reload(const struct auth *a, struct web_config *next,
		       struct err *err)
{
	int rc;

	if (!web_config_is_stale(&a->config))
		return 0;
	rc = web_config_load(next, a->path, err);
	if (!rc)
		rc = refuse_opening(a, next, err);
	if (rc)
		tell_failure(a, err);
	return rc;
}

void auth_refresh(struct auth *a)
{
	struct web_config next = { 0 };
	struct web_config old = { 0 };
	struct err err = { 0 };
	int rc = a->path ? auth_reload(a, &next, &err) : 0;

	mutex_lock(&a->mu);
	a->failed = err;
	/*
	 * No lock was needed to read the configuration above, because only this
	 * thread changes it. To replace it, the lock is needed, because other
	 * threads read it.
	 */
	if (!rc && next.file_count) {
		old = a->config;
		a->config = next;
		next = (struct web_config){ 0 };
		a->known_count = 0; /* passwords may have changed */
		log_event(a->log, LOG_INFO, "web configuration loaded",
			  LOG_FIELDS(log_text("path", a->path)));
	}
	mutex_unlock(&a->mu);
	note_limited(a);
	web_config_fini(&old);
	web_config_fini(&next);
}

bool auth_is_current(struct auth *a)
{
	bool ok;

	mutex_lock(&a->mu);
	ok = !*a->failed.msg;
	mutex_unlock(&a->mu);
	return ok;
}

/* Does the same as auth_is_open(), but the caller holds the lock. */
static bool is_open_locked(const struct auth *a) REQUIRES(a->mu)
{
	return !web_config_has_auth(&a->config) &&
	       a->config.tls.client_auth != WEB_CLIENT_VERIFIED;
}

bool auth_is_open(struct auth *a)
{
	bool open;

	mutex_lock(&a->mu);
	open = is_open_locked(a);
	mutex_unlock(&a->mu);
	return open;
}

const char *auth_exposure(struct auth *a)
{
	const char *what = NULL;
	const struct web_config *c = &a->config;

	mutex_lock(&a->mu);
	if (is_open_locked(a))
		what = "there is no authentication: everyone who can reach this address can read all profiles; set users or tokens in --web.config.file";
	else if (!c->tls.cert.len)
		what = "passwords and tokens are sent without encryption: "
		       "--web.config.file has no tls_server_config";
	mutex_unlock(&a->mu);
	return what;
}

/*
 * Check a user's password without hashing. A password that was verified before
 * is accepted; for any other password, auth_verify() decides later
 * (docs/decisions.md, 66).
 */
static enum auth_verdict check_user(const struct auth *a,
				    const struct credentials *c,
				    struct identity *out)
{
	const struct web_user *u = auth_find_user(a, c->user);
	struct known k;

	if (!a->config.user_count)
		return AUTH_REFUSED;
	/*
	 * An unknown name is not refused here: that would be faster than
	 * refusing a wrong password and so reveal that the name is unknown.
	 * auth_verify() refuses it, after hashing the password.
	 */
	if (!u)
		return AUTH_SLOW;
	auth_make_known(a, c, u->hash, &k);
	if (!auth_is_known(a, &k))
		return AUTH_SLOW;
	auth_grant(out, u->name, u->scopes);
	return AUTH_GRANTED;
}

enum auth_verdict auth_check(struct auth *a, const struct credentials *c,
			     struct identity *out)
{
	enum auth_verdict v = AUTH_REFUSED;

	*out = (struct identity){ 0 };
	mutex_lock(&a->mu);
	if (!web_config_has_auth(&a->config)) {
		out->scopes = SCOPE_ALL;
		v = AUTH_GRANTED;
	} else if (c->token) {
		v = auth_check_token(a, c->token, out);
	} else if (c->user && c->password) {
		v = check_user(a, c, out);
	} else if (c->session) {
		v = auth_check_session(a, c->session, out);
	}
	mutex_unlock(&a->mu);
	return v;
}

/*
 * Remember a verified password and grant access. The password was hashed
 * without the lock, so the user may have been changed or removed meanwhile;
 * access is then refused.
 */
static enum auth_verdict auth_remember(struct auth *a,
				       const struct credentials *c,
				       const char *hash, struct identity *out)
{
	const struct web_user *u;
	enum auth_verdict v = AUTH_REFUSED;

	mutex_lock(&a->mu);
	u = auth_find_user(a, c->user);
	if (u && str_is(u->hash, hash)) {
		auth_make_known(a, c, u->hash,
				&a->known[a->known_count++ % KNOWN_MAX]);
		auth_grant(out, u->name, u->scopes);
		v = AUTH_GRANTED;
	}
	mutex_unlock(&a->mu);
	return v;
}

enum auth_verdict auth_verify(struct auth *a, const struct credentials *c,
			      struct identity *out)
{
	char hash[HASH_LEN + 1] = "";
	const struct web_user *u;
	bool known;
	bool ok;

	*out = (struct identity){ 0 };
	mutex_lock(&a->mu);
	u = auth_find_user(a, c->user);
	known = u;
	if (!u)
		u = auth_stand_in(a, c->user);
	/*
	 * Copy the hash, because the configuration may be replaced while the
	 * password is hashed.
	 */
	snprintf(hash, sizeof(hash), "%.*s", u ? HASH_LEN : 0,
		 u ? u->hash.ptr : "");
	mutex_unlock(&a->mu);
	if (atomic_fetch_add(&a->waiting, 1) >= WAITING_MAX) {
		atomic_fetch_sub(&a->waiting, 1);
		return AUTH_BUSY;
	}
	mutex_lock(&a->hashing);
	ok = auth_hash_matches(c->password, hash) && known;
	mutex_unlock(&a->hashing);
	atomic_fetch_sub(&a->waiting, 1);
	return ok ? auth_remember(a, c, hash, out) : AUTH_REFUSED;
}

const char *auth_challenge(struct auth *a)
{
	const char *challenge;

	mutex_lock(&a->mu);
	if (a->config.user_count && a->config.token_count)
		challenge =
			"Basic realm=\"everprof\", Bearer realm=\"everprof\"";
	else if (a->config.user_count)
		challenge = "Basic realm=\"everprof\"";
	else
		challenge = "Bearer realm=\"everprof\"";
	mutex_unlock(&a->mu);
	return challenge;
}

bool auth_has_tls(struct auth *a)
{
	bool has;

	mutex_lock(&a->mu);
	has = a->config.tls.cert.len;
	mutex_unlock(&a->mu);
	return has;
}

char *auth_tls_priorities(struct auth *a)
{
	char *p;

	mutex_lock(&a->mu);
	p = mem_strdup(tls_priorities(&a->config.tls));
	mutex_unlock(&a->mu);
	return p;
}

char *auth_client_ca(struct auth *a)
{
	char *ca = NULL;

	mutex_lock(&a->mu);
	/*
	 * libmicrohttpd asks clients for certificates only if it has a CA. It
	 * does not matter which CA, because tls_verify_client() checks the
	 * certificates (docs/decisions.md, 78).
	 */
	if (a->config.tls.client_auth != WEB_CLIENT_NONE)
		ca = mem_strndup(a->config.tls.client_ca.len ?
					 a->config.tls.client_ca :
					 a->config.tls.cert);
	mutex_unlock(&a->mu);
	return ca;
}

void auth_tls_material(void *ctx, struct tls_material *out)
{
	struct auth *a = ctx;

	mutex_lock(&a->mu);
	if (a->config.tls.cert.len) {
		out->cert = mem_strndup(a->config.tls.cert);
		out->key = mem_strndup(a->config.tls.key);
	}
	mutex_unlock(&a->mu);
}

int auth_client(struct auth *a, void *session, struct err *err)
{
	int rc = 0;

	mutex_lock(&a->mu);
	if (a->config.tls.client_auth != WEB_CLIENT_NONE)
		rc = tls_verify_client(&a->config.tls, session, err);
	mutex_unlock(&a->mu);
	return rc;
}

void auth_headers(struct auth *a,
		  void (*fn)(void *ctx, const char *name, const char *value),
		  void *ctx)
{
	mutex_lock(&a->mu);
	for (size_t i = 0; i < a->config.header_count; i++)
		fn(ctx, a->config.headers[i].name,
		   a->config.headers[i].value.ptr);
	mutex_unlock(&a->mu);
}
