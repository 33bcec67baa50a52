/* SPDX-License-Identifier: Apache-2.0 */
#include "web/auth/tls_config.h"

#include <stddef.h>

#include "base/mem.h"
#include "web/auth/tls.h"

#define CHOSEN "everprof offers only secure ciphers and curves"

/* The section tls_server_config as decoded, before its files are read. */
struct tls_section {
	struct str cert;
	struct str cert_file;
	struct str key;
	struct str key_file;
	struct str client_ca;
	struct str client_ca_file;
	struct web_tls tls;
};

/* Decode client_auth_type. Its values are Go's names, as in Prometheus. */
static void decode_client_auth(struct yaml *y, const struct yaml_node *n,
			       void *field)
{
	static const struct {
		const char *name;
		enum web_client_auth auth;
	} names[] = {
		{ "", WEB_CLIENT_NONE },
		{ "NoClientCert", WEB_CLIENT_NONE },
		{ "RequestClientCert", WEB_CLIENT_REQUESTED },
		{ "RequireAnyClientCert", WEB_CLIENT_ANY },
		{ "RequireClientCert", WEB_CLIENT_ANY },
		{ "VerifyClientCertIfGiven", WEB_CLIENT_VERIFIED_IF_GIVEN },
		{ "RequireAndVerifyClientCert", WEB_CLIENT_VERIFIED },
	};
	enum web_client_auth *auth = field;
	struct str text = str_of("");

	yaml_text(y, n, &text);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(text, names[i].name)) {
			*auth = names[i].auth;
			return;
		}
	}
	yaml_error(y, n, "unknown client_auth_type \"%.*s\"", STR_ARG(text));
}

/* Decode a TLS version. Only 1.2 and 1.3 are offered. */
static void tls_config_decode_version(struct yaml *y, const struct yaml_node *n,
				      void *field)
{
	enum web_tls_version *v = field;
	struct str text = str_of("");

	yaml_text(y, n, &text);
	/* After a mistake, go on with TLS 1.2, to find further mistakes. */
	*v = str_is(text, "TLS13") ? WEB_TLS_13 : WEB_TLS_12;
	if (!str_is(text, "TLS12") && !str_is(text, "TLS13"))
		yaml_error(y, n, "the TLS version must be TLS12 or TLS13");
}

/* Decode the list of allowed names of client certificates. */
static void decode_sans(struct yaml *y, const struct yaml_node *n, void *field)
{
	struct web_tls *t = field;

	if (!yaml_expect(y, n, YAML_LIST, "client_allowed_sans"))
		return;
	t->sans = arena_array(&y->arena, struct str, n->count);
	for (size_t i = 0; i < n->count; i++) {
		t->sans[t->san_count] = str_of("");
		yaml_text(y, n->items[i], &t->sans[t->san_count++]);
	}
}

/*
 * Return the text of a setting that is given either in the configuration or as
 * a file; empty if neither is given.
 */
static struct str tls_config_take(struct web_config *c,
				  const struct yaml_node *n, struct str text,
				  struct str file, const char *name)
{
	if (text.len && file.len)
		yaml_error(&c->yaml, n, "set either %s or %s_file, not both",
			   name, name);
	return file.len ? read_file(c, n, file) : text;
}

/* Check that the settings are consistent, and that gnutls accepts them. */
static void check_tls(struct web_config *c, const struct yaml_node *n)
{
	struct web_tls *t = &c->tls;
	struct yaml *y = &c->yaml;
	struct err err;

	if (t->cert.len && !t->key.len)
		yaml_error(
			y, n,
			"key_file is missing: a certificate needs its private key");
	else if (!t->cert.len)
		yaml_error(y, n,
			   "cert_file is missing: TLS needs a certificate");
	if (t->client_ca.len && t->client_auth == WEB_CLIENT_NONE)
		yaml_error(
			y, n,
			"client_ca_file has no effect without client_auth_type");
	if (!t->client_ca.len && t->client_auth >= WEB_CLIENT_VERIFIED_IF_GIVEN)
		yaml_error(
			y, n,
			"client_ca_file is missing: client_auth_type requires it to verify certificates");
	if (t->max_version == WEB_TLS_12 && t->min_version == WEB_TLS_13)
		yaml_error(y, n, "min_version is above max_version");
	/*
	 * Let gnutls check the files only if the settings are right, so that
	 * each mistake is reported once.
	 */
	if (!y->error_count && tls_check(t, &err))
		yaml_error(y, n, "%s", err.msg);
	else if (!y->error_count && t->client_ca.len)
		t->trust = tls_trust_new(t->client_ca);
}

/*
 * Prometheus' settings for ciphers and curves are accepted with a warning and
 * ignored: the server always offers only safe ciphers and curves.
 */
void decode_tls(struct yaml *y, const struct yaml_node *n, void *field)
{
	static const struct yaml_field fields[] = {
		{ "cert", yaml_text, offsetof(struct tls_section, cert), NULL },
		{ "cert_file", yaml_text,
		  offsetof(struct tls_section, cert_file), NULL },
		{ "key", yaml_secret, offsetof(struct tls_section, key), NULL },
		{ "key_file", yaml_text, offsetof(struct tls_section, key_file),
		  NULL },
		{ "client_ca", yaml_text,
		  offsetof(struct tls_section, client_ca), NULL },
		{ "client_ca_file", yaml_text,
		  offsetof(struct tls_section, client_ca_file), NULL },
		{ "client_auth_type", decode_client_auth,
		  offsetof(struct tls_section, tls.client_auth), NULL },
		{ "client_allowed_sans", decode_sans,
		  offsetof(struct tls_section, tls), NULL },
		{ "min_version", tls_config_decode_version,
		  offsetof(struct tls_section, tls.min_version), NULL },
		{ "max_version", tls_config_decode_version,
		  offsetof(struct tls_section, tls.max_version), NULL },
		{ "cipher_suites", NULL, 0, CHOSEN },
		{ "prefer_server_cipher_suites", NULL, 0, CHOSEN },
		{ "curve_preferences", NULL, 0, CHOSEN },
		{ 0 },
	};
	struct web_config *c = field;
	struct tls_section s = { .cert = str_of(""),
				 .key = str_of(""),
				 .client_ca = str_of("") };
	size_t errors;

	yaml_decode(y, n, "tls_server_config", fields, &s);
	/*
	 * An empty section means no TLS. A section that is not a map is treated
	 * in the same way; yaml_decode() has reported the mistake.
	 */
	if (n->kind != YAML_MAP || !n->count)
		return;
	errors = c->yaml.error_count;
	c->tls = s.tls;
	c->tls.cert = tls_config_take(c, n, s.cert, s.cert_file, "cert");
	c->tls.key = tls_config_take(c, n, s.key, s.key_file, "key");
	c->tls.client_ca = tls_config_take(c, n, s.client_ca, s.client_ca_file,
					   "client_ca");
	/*
	 * If a file could not be read, the mistake is already reported. Do not
	 * report its text as missing, too.
	 */
	if (c->yaml.error_count == errors)
		check_tls(c, n);
}

bool needs_certificate(const struct web_tls *t)
{
	return t->client_auth == WEB_CLIENT_ANY ||
	       t->client_auth == WEB_CLIENT_VERIFIED;
}

bool verifies_certificate(const struct web_tls *t)
{
	return t->client_auth == WEB_CLIENT_VERIFIED_IF_GIVEN ||
	       t->client_auth == WEB_CLIENT_VERIFIED;
}
