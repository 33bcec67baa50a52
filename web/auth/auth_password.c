/* SPDX-License-Identifier: Apache-2.0 */
#include "web/auth/auth_password.h"

#include <crypt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/mem.h"

bool auth_is_same(const void *a, const void *b, size_t n)
{
	const volatile uint8_t *x = a;
	const volatile uint8_t *y = b;
	uint8_t differ = 0;

	for (size_t i = 0; i < n; i++)
		differ |= x[i] ^ y[i];
	return !differ;
}

void auth_grant(struct identity *out, struct str name, unsigned scopes)
{
	snprintf(out->name, sizeof(out->name), "%.*s", STR_ARG(name));
	out->scopes = scopes;
}

enum auth_verdict auth_check_token(const struct auth *a, const char *token,
				   struct identity *out)
{
	enum auth_verdict v = AUTH_REFUSED;
	uint8_t have[DIGEST_SHA256_SIZE];
	uint8_t want[DIGEST_SHA256_SIZE];

	digest_sha256(bytes_of(str_of(token)), have);
	for (size_t i = 0; i < a->config.token_count; i++) {
		const struct web_token *t = &a->config.tokens[i];

		digest_sha256(bytes_of(t->token), want);
		if (auth_is_same(have, want, sizeof(have))) {
			auth_grant(out, t->name, t->scopes);
			out->is_token = true;
			v = AUTH_GRANTED;
		}
	}
	return v;
}

const struct web_user *auth_stand_in(const struct auth *a, const char *name)
{
	struct buf key = { 0 };
	uint64_t hash;

	buf_add(&key, a->secret, sizeof(a->secret));
	buf_str(&key, name);
	hash = hash_bytes(buf_bytes(&key));
	buf_forget(&key);
	return a->config.user_count ?
		       &a->config.users[hash % a->config.user_count] :
		       NULL;
}

/*
 * Append a text and its length, so that different lists of texts always give
 * different bytes.
 */
static void add_part(struct buf *b, struct str s)
{
	buf_printf(b, "%zu:", s.len);
	buf_add(b, s.ptr, s.len);
}

void auth_make_known(const struct auth *a, const struct credentials *c,
		     struct str hash, struct known *out)
{
	struct buf text = { 0 };

	buf_add(&text, a->secret, sizeof(a->secret));
	add_part(&text, str_of(c->user));
	add_part(&text, str_of(c->password));
	add_part(&text, hash);
	digest_sha256(buf_bytes(&text), out->digest);
	buf_forget(&text);
}

bool auth_is_known(const struct auth *a, const struct known *k)
{
	size_t n = a->known_count < KNOWN_MAX ? a->known_count : KNOWN_MAX;
	bool found = false;

	for (size_t i = 0; i < n; i++)
		found |= auth_is_same(a->known[i].digest, k->digest,
				      sizeof(k->digest));
	return found;
}

bool auth_hash_matches(const char *password, const char *hash)
{
	struct crypt_data *d = mem_zalloc(1, sizeof(*d));
	const char *made = crypt_r(password, hash, d);
	bool ok = made && strlen(made) == HASH_LEN &&
		  strlen(hash) == HASH_LEN &&
		  auth_is_same(made, hash, HASH_LEN);

	explicit_bzero(d, sizeof(*d));
	mem_free(d);
	return ok;
}
