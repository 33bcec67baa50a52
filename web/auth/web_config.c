/* SPDX-License-Identifier: Apache-2.0 */
#include "web/auth/web_config.h"

#include <stddef.h>

#include "base/file.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "web/auth/tls.h"

/* Largest file that the configuration may name, in bytes. */
#define FILE_MAX MIB

/*
 * Decoder of tls_server_config, a section of the web configuration file.
 */

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
	yaml_error(
		y, n,
		"unknown client_auth_type \"%.*s\": expected NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert",
		STR_ARG(text));
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
 * Return a file's path and current stamp (modification time, size and inode).
 * This is called before the file is read, so that web_config_is_stale() detects
 * a change that happens during the read.
 */
static struct web_file web_config_look_at(const char *path)
{
	return (struct web_file){ path, file_stamp(path) };
}

/*
 * Record a file that the configuration depends on, for web_config_is_stale().
 */
static void note_file(struct web_config *c, struct web_file f)
{
	struct web_file *more =
		arena_array(&c->yaml.arena, struct web_file, c->file_count + 1);

	if (c->file_count)
		memcpy(more, c->files, c->file_count * sizeof(*more));
	c->files = more;
	c->files[c->file_count++] = f;
}

/*
 * Read a file that the configuration names, and record the file for
 * web_config_is_stale(). The returned text is in the arena. On failure an error
 * at node `n` is added to c->yaml, and the result is empty.
 */
static struct str web_config_read_file(struct web_config *c,
				       const struct yaml_node *n,
				       struct str file)
{
	struct buf text = buf_init(FILE_MAX);
	struct yaml *y = &c->yaml;
	struct str path = arena_str(&y->arena, yaml_path(y, file));
	struct str out = str_of("");
	struct err err;

	note_file(c, web_config_look_at(path.ptr));
	if (file_slurp(path.ptr, &text, &err))
		yaml_error(y, n, "%s", err.msg);
	else
		out = arena_str(&y->arena, str_from(buf_bytes(&text)));
	buf_forget(&text);
	return out;
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
	return file.len ? web_config_read_file(c, n, file) : text;
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
			"key_file (or key) is missing or empty: a certificate needs its private key");
	else if (!t->cert.len)
		yaml_error(
			y, n,
			"cert_file (or cert) is missing or empty: TLS needs a certificate");
	if (t->client_ca.len && t->client_auth == WEB_CLIENT_NONE)
		yaml_error(
			y, n,
			"client_ca_file (or client_ca) needs a client_auth_type that asks for client certificates, such as RequireAndVerifyClientCert");
	if (!t->client_ca.len && t->client_auth >= WEB_CLIENT_VERIFIED_IF_GIVEN)
		yaml_error(
			y, n,
			"client_ca_file (or client_ca) is missing or empty: client_auth_type needs it to verify certificates");
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
 * Decode the section into `field`, a struct web_config. Certificates and keys
 * are loaded and checked; mistakes are reported as errors of `y`.
 *
 * Prometheus' settings for ciphers and curves are accepted with a warning and
 * ignored: the server always offers only safe ciphers and curves.
 */
static void decode_tls(struct yaml *y, const struct yaml_node *n, void *field)
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

bool web_config_needs_certificate(const struct web_tls *t)
{
	return t->client_auth == WEB_CLIENT_ANY ||
	       t->client_auth == WEB_CLIENT_VERIFIED;
}

bool web_config_verifies(const struct web_tls *t)
{
	return t->client_auth == WEB_CLIENT_VERIFIED_IF_GIVEN ||
	       t->client_auth == WEB_CLIENT_VERIFIED;
}

/*
 * length of the shortest token in characters; shorter tokens are easy to guess
 */
#define TOKEN_MIN 16

/*
 * Whether a text is a bcrypt hash: $2b$ (or 2a, 2x, 2y), a cost of two digits,
 * $, and 53 characters of salt and hash.
 */
static bool is_bcrypt(struct str h)
{
	static const char alphabet[] = "./ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "abcdefghijklmnopqrstuvwxyz0123456789";
	int64_t cost;

	if (h.len != 60 || h.ptr[0] != '$' || h.ptr[1] != '2' ||
	    !strchr("abxy", h.ptr[2]) || h.ptr[3] != '$' || h.ptr[6] != '$' ||
	    !str_to_i64((struct str){ h.ptr + 4, 2 }, &cost) || cost < 4 ||
	    cost > 31)
		return false;
	for (size_t i = 7; i < h.len; i++) {
		if (!memchr(alphabet, h.ptr[i], sizeof(alphabet) - 1))
			return false;
	}
	return true;
}

/*
 * Decode {name: hash}. Users have all scopes unless basic_auth_scopes limits
 * them.
 */
static void decode_users(struct yaml *y, const struct yaml_node *n, void *field)
{
	struct web_config *c = field;

	if (!yaml_expect(y, n, YAML_MAP, "basic_auth_users"))
		return;
	yaml_unique_keys(y, n);
	c->users = arena_array(&y->arena, struct web_user, n->count / 2);
	for (size_t i = 0; i < n->count; i += 2) {
		struct web_user *u = &c->users[c->user_count++];

		*u = (struct web_user){ .name = n->items[i]->text,
					.hash = str_of(""),
					.scopes = SCOPE_ALL };
		yaml_secret(y, n->items[i + 1], &u->hash);
		if (!u->name.len || memchr(u->name.ptr, ':', u->name.len))
			yaml_error(
				y, n->items[i],
				"a user name must not be empty or contain a colon");
		if (!is_bcrypt(u->hash))
			yaml_error(
				y, n->items[i + 1],
				"the password must be a bcrypt hash, which htpasswd -nB prints after the user name and a colon");
	}
}

/* The scope with this name, or 0. */
static unsigned scope_of(struct str s)
{
	return str_is(s, "read")  ? SCOPE_READ :
	       str_is(s, "write") ? SCOPE_WRITE :
	       str_is(s, "admin") ? SCOPE_ADMIN :
				    0;
}

/* Decode a list of scopes: [read, write, admin]. */
static void web_config_decode_scopes(struct yaml *y, const struct yaml_node *n,
				     void *field)
{
	unsigned *scopes = field;

	if (!yaml_expect(y, n, YAML_LIST, "scopes"))
		return;
	*scopes = 0;
	for (size_t i = 0; i < n->count; i++) {
		struct str s = str_of("");

		yaml_text(y, n->items[i], &s);
		*scopes |= scope_of(s);
		if (!scope_of(s))
			yaml_error(y, n->items[i],
				   "a scope must be read, write or admin");
	}
}

/*
 * Apply basic_auth_scopes, {name: [scope, …]}, to the users. This runs after
 * everything else is decoded, because basic_auth_users may come later in the
 * file.
 */
static void check_user_scopes(struct yaml *y, const struct yaml_node *n,
			      struct web_config *c)
{
	if (!n || !yaml_expect(y, n, YAML_MAP, "basic_auth_scopes"))
		return;
	yaml_unique_keys(y, n);
	for (size_t i = 0; i < n->count; i += 2) {
		size_t k = 0;

		while (k < c->user_count &&
		       !str_eq(c->users[k].name, n->items[i]->text))
			k++;
		if (k == c->user_count) {
			yaml_error(y, n->items[i],
				   "basic_auth_users has no user of this name");
			continue;
		}
		web_config_decode_scopes(y, n->items[i + 1],
					 &c->users[k].scopes);
		/*
		 * Recorded, so that a changed file cannot remove the limit; see
		 * note_limited().
		 */
		c->users[k].limited = true;
	}
}

/*
 * Accept the key basic_auth_scopes without decoding it; check_user_scopes()
 * does that later.
 */
static void web_config_delay_error(struct yaml *y UNUSED,
				   const struct yaml_node *n UNUSED,
				   void *field UNUSED)
{
}

/* A token as decoded, before its file is read. */
struct token_entry {
	struct web_token token;
	struct str file;
};

/*
 * Decode one token. A token without a list of scopes has only the scope read.
 */
static void decode_token(struct yaml *y, const struct yaml_node *n,
			 struct web_config *c, struct web_token *out)
{
	static const struct yaml_field fields[] = {
		{ "name", yaml_text, offsetof(struct token_entry, token.name),
		  NULL },
		{ "token", yaml_secret,
		  offsetof(struct token_entry, token.token), NULL },
		{ "token_file", yaml_text, offsetof(struct token_entry, file),
		  NULL },
		{ "scopes", web_config_decode_scopes,
		  offsetof(struct token_entry, token.scopes), NULL },
		{ 0 },
	};
	struct token_entry e = { .token = { .name = str_of(""),
					    .token = str_of(""),
					    .scopes = SCOPE_READ } };
	size_t errors;

	yaml_decode(y, n, "bearer_tokens", fields, &e);
	errors = y->error_count;
	if (e.file.len && e.token.token.len)
		yaml_error(y, n, "set either token or token_file, not both");
	else if (e.file.len)
		e.token.token = str_trim(web_config_read_file(c, n, e.file));
	else if (!e.token.token.len)
		yaml_error(y, n, "set token or token_file");
	if (e.token.token.len < TOKEN_MIN && y->error_count == errors)
		yaml_error(y, n,
			   "a bearer token must have at least %d characters",
			   TOKEN_MIN);
	if (!e.token.name.len)
		yaml_error(
			y, n,
			"a bearer token needs a name, which identifies it in the log");
	*out = e.token;
}

/* Decode the list of bearer tokens. */
static void decode_tokens(struct yaml *y, const struct yaml_node *n,
			  void *field)
{
	struct web_config *c = field;

	if (!yaml_expect(y, n, YAML_LIST, "bearer_tokens"))
		return;
	c->tokens = arena_array(&y->arena, struct web_token, n->count);
	for (size_t i = 0; i < n->count; i++)
		decode_token(y, n->items[i], c, &c->tokens[c->token_count++]);
}

/*
 * The headers that may be configured, and their allowed values, as in
 * Prometheus.
 */
static const struct {
	const char *name;
	const char *values[4]; /* allowed values; empty: any value is allowed */
} allowed[] = {
	{ "Content-Security-Policy", { NULL } },
	{ "Strict-Transport-Security", { NULL } },
	{ "X-Frame-Options", { "deny", "sameorigin", "" } },
	{ "X-Content-Type-Options", { "nosniff", "" } },
	{ "X-XSS-Protection", { NULL } },
};

/* Whether header number `at` of the list may have this value. */
static bool is_allowed(size_t at, struct str value)
{
	const char *const *v = allowed[at].values;

	if (!*v)
		return true;
	for (; *v; v++) {
		if (str_is_nocase(value, *v))
			return true;
	}
	return false;
}

/*
 * Decode one header. A line break in a value is refused, because it would begin
 * another header in the answer.
 */
static void web_config_decode_header(struct yaml *y,
				     const struct yaml_node *key,
				     const struct yaml_node *n,
				     struct web_config *c)
{
	struct str value = str_of("");
	size_t i = 0;

	yaml_text(y, n, &value);
	while (i < ARRAY_SIZE(allowed) &&
	       !str_is_nocase(key->text, allowed[i].name))
		i++;
	if (i == ARRAY_SIZE(allowed))
		yaml_error(
			y, key,
			"the HTTP header \"%.*s\" cannot be configured, only Content-Security-Policy, Strict-Transport-Security, X-Frame-Options, X-Content-Type-Options and X-XSS-Protection",
			STR_ARG(key->text));
	else if (!is_allowed(i, value))
		yaml_error(y, n,
			   "invalid value of the HTTP header %s: use %s%s%s",
			   allowed[i].name, allowed[i].values[0],
			   allowed[i].values[2] ? " or " : "",
			   allowed[i].values[2] ? allowed[i].values[1] : "");
	else if (memchr(value.ptr, '\n', value.len))
		yaml_error(y, n,
			   "the value of the HTTP header %s has a line break",
			   allowed[i].name);
	else
		c->headers[c->header_count++] =
			(struct web_header){ allowed[i].name, value };
}

/* Decode the headers that every answer carries. */
static void decode_headers(struct yaml *y, const struct yaml_node *n,
			   void *field)
{
	struct web_config *c = field;

	if (!yaml_expect(y, n, YAML_MAP, "headers"))
		return;
	yaml_unique_keys(y, n);
	c->headers = arena_array(&y->arena, struct web_header, n->count / 2);
	for (size_t i = 0; i < n->count; i += 2)
		web_config_decode_header(y, n->items[i], n->items[i + 1], c);
}

/* Decode http_server_config. */
static void decode_server(struct yaml *y, const struct yaml_node *n,
			  void *field)
{
	static const struct yaml_field fields[] = {
		{ "http2", NULL, 0, "everprof serves HTTP/1.1 only" },
		{ "headers", decode_headers, 0, NULL },
		{ 0 },
	};

	yaml_decode(y, n, "http_server_config", fields, field);
}

/* Decode the parsed file; mistakes become errors of c->yaml. */
static void web_config_decode(struct web_config *c)
{
	static const struct yaml_field fields[] = {
		{ "tls_server_config", decode_tls, 0, NULL },
		{ "http_server_config", decode_server, 0, NULL },
		{ "basic_auth_users", decode_users, 0, NULL },
		{ "basic_auth_scopes", web_config_delay_error, 0, NULL },
		{ "bearer_tokens", decode_tokens, 0, NULL },
		{ 0 },
	};
	const struct yaml_node *root = c->yaml.root;

	if (!root)
		/* The file is empty, or its error is already reported. */
		return;
	yaml_decode(&c->yaml, root, "the web configuration", fields, c);
	check_user_scopes(&c->yaml, yaml_child(root, "basic_auth_scopes"), c);
}

/* Parse and decode c->text. The returned error is the first mistake. */
static int web_config_parse_text(struct web_config *c, const char *path,
				 struct web_file file, struct err *err)
{
	struct str first;

	yaml_parse(&c->yaml, path, buf_bytes(&c->text));
	note_file(c, file);
	web_config_decode(c);
	if (!c->yaml.error_count)
		return 0;
	first = yaml_first_error(&c->yaml);
	return err_set(
		err, ERR_INVALID, "%.*s%s", STR_ARG(first),
		c->yaml.error_count > 1 ?
			" (and more errors; everprof check web-config FILE lists them)" :
			"");
}

int web_config_load(struct web_config *c, const char *path, struct err *err)
{
	struct web_file file = web_config_look_at(path);
	int rc;

	*c = (struct web_config){ .text = buf_init(FILE_MAX + 1) };
	rc = file_slurp(path, &c->text, err);
	return rc ? rc : web_config_parse_text(c, path, file, err);
}

int web_config_parse(struct web_config *c, const char *path, struct bytes text,
		     struct err *err)
{
	*c = (struct web_config){ 0 };
	buf_add(&c->text, text.ptr, text.len);
	return web_config_parse_text(c, path, (struct web_file){ .path = path },
				     err);
}

void web_config_fini(struct web_config *c)
{
	tls_trust_free(c->tls.trust);
	yaml_fini(&c->yaml);
	buf_forget(&c->text);
	*c = (struct web_config){ 0 };
}

bool web_config_is_stale(const struct web_config *c)
{
	for (size_t i = 0; i < c->file_count; i++) {
		const struct web_file *was = &c->files[i];

		if (!file_stamp_eq(file_stamp(was->path), was->stamp))
			return true;
	}
	return false;
}

const char *web_config_scope_text(unsigned scope)
{
	return !scope                              ? "none" :
	       scope == SCOPE_ADMIN                ? "admin" :
	       scope == (SCOPE_READ | SCOPE_WRITE) ? "read+write" :
	       scope == SCOPE_WRITE                ? "write" :
						     "read";
}

bool web_config_has_auth(const struct web_config *c)
{
	return c->user_count || c->token_count;
}

/*
 * Return by what the new settings accept client connections that the old
 * settings refused, or NULL if they do not.
 */
static const char *tls_opens(const struct web_tls *old,
			     const struct web_tls *next)
{
	if (old->cert.len && !next->cert.len)
		return "the new file removes TLS";
	if (web_config_needs_certificate(old) &&
	    !web_config_needs_certificate(next))
		return "the new file does not require client certificates any more";
	if (web_config_verifies(old) && !web_config_verifies(next))
		return "the new file does not verify client certificates any more";
	if (old->san_count && !next->san_count)
		return "the new file removes client_allowed_sans";
	return NULL;
}

const char *web_config_opens(const struct web_config *old,
			     const struct web_config *next)
{
	if (web_config_has_auth(old) && !web_config_has_auth(next))
		return "the new file removes all users and tokens";
	return tls_opens(&old->tls, &next->tls);
}
