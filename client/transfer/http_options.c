/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transfer/http_options.h"

#include <stddef.h>
#include <strings.h>

#include "base/mem.h"
#include "base/url.h"
#include "base/yaml_dump.h"
#include "client/address/endpoint.h"

void http_options_init(struct http_options *o)
{
	*o = (struct http_options){ .auth_type = str_of("Bearer"),
				    .follow_redirects = true,
				    .enable_http2 = true,
				    .key = str_of("") };
}

/* Return whether a text is configured, either directly or as a file. */
static bool http_options_is_set(const struct http_text *t)
{
	return t->text.len || t->file.len;
}

/*
 * Decode the path of a file. A relative path is relative to the folder of the
 * configuration file.
 */
static void http_options_decode_file(struct yaml *y, const struct yaml_node *n,
				     void *field)
{
	struct str *file = field;

	yaml_text(y, n, file);
	*file = yaml_path(y, *file);
}

/*
 * Refuse a text that is given both directly and as a file. An empty text
 * becomes no text.
 */
static void http_options_check_one(struct yaml *y, const struct yaml_node *n,
				   struct http_text *t, const char *name)
{
	/* As in Prometheus, an empty text is no text. */
	if (!t->text.len)
		t->text.ptr = NULL;
	if (t->text.ptr && t->file.len)
		yaml_error(y, n, "at most one of %s and %s_file may be set",
			   name, name);
}

/*
 * Record how the client authenticates itself. Returns false and reports an
 * error if a way of authentication was recorded before.
 */
static bool http_options_set_auth(struct yaml *y, const struct yaml_node *n,
				  struct http_options *o, enum http_auth auth)
{
	/*
	 * A second way of authentication is an error, but the caller may decode
	 * it all the same, to report further mistakes.
	 */
	bool free = o->auth == HTTP_AUTH_NONE;

	if (!free)
		yaml_error(
			y, n,
			"at most one of basic_auth, authorization, bearer_token, bearer_token_file and oauth2 may be set");
	o->auth = auth;
	return free;
}

void http_decode_basic_auth(struct yaml *y, const struct yaml_node *n,
			    void *options)
{
	static const struct yaml_field fields[] = {
		{ "username", yaml_text,
		  offsetof(struct http_options, username.text), NULL },
		{ "username_file", http_options_decode_file,
		  offsetof(struct http_options, username.file), NULL },
		{ "password", yaml_secret,
		  offsetof(struct http_options, password.text), NULL },
		{ "password_file", http_options_decode_file,
		  offsetof(struct http_options, password.file), NULL },
		{ 0 },
	};
	struct http_options *o = options;

	http_options_set_auth(y, n, o, HTTP_AUTH_BASIC);
	yaml_decode(y, n, "basic_auth", fields, o);
	http_options_check_one(y, n, &o->username, "username");
	http_options_check_one(y, n, &o->password, "password");
}

void http_decode_authorization(struct yaml *y, const struct yaml_node *n,
			       void *options)
{
	static const struct yaml_field fields[] = {
		{ "type", yaml_text, offsetof(struct http_options, auth_type),
		  NULL },
		{ "credentials", yaml_secret,
		  offsetof(struct http_options, credentials.text), NULL },
		{ "credentials_file", http_options_decode_file,
		  offsetof(struct http_options, credentials.file), NULL },
		{ 0 },
	};
	struct http_options *o = options;

	http_options_set_auth(y, n, o, HTTP_AUTH_HEADER);
	yaml_decode(y, n, "authorization", fields, o);
	http_options_check_one(y, n, &o->credentials, "credentials");
	/*
	 * As in Prometheus, blanks around the type are ignored, and an empty
	 * type means Bearer.
	 */
	o->auth_type = str_trim(o->auth_type);
	if (!o->auth_type.len)
		o->auth_type = str_of("Bearer");
	for (size_t i = 0; i < o->auth_type.len; i++) {
		if ((unsigned char)o->auth_type.ptr[i] < ' ') {
			yaml_error(
				y, n,
				"the type of authorization contains a control character");
			break;
		}
	}
	if (str_is_nocase(o->auth_type, "basic"))
		yaml_error(
			y, n,
			"the type of authorization cannot be Basic: use basic_auth");
}

/* The type is Bearer, the default that http_options_init() sets. */
void http_decode_bearer(struct yaml *y, const struct yaml_node *n,
			void *options)
{
	struct http_options *o = options;
	struct str token = str_of("");

	yaml_secret(y, n, &token);
	if (token.len && http_options_set_auth(y, n, o, HTTP_AUTH_HEADER))
		o->credentials.text = token;
}

void http_decode_bearer_file(struct yaml *y, const struct yaml_node *n,
			     void *options)
{
	struct http_options *o = options;
	struct str file = str_of("");

	http_options_decode_file(y, n, &file);
	if (!file.len || !http_options_set_auth(y, n, o, HTTP_AUTH_HEADER))
		return;
	o->credentials.file = file;
	o->credentials_file_key = "bearer_token_file";
}

/* Decode a TLS version. */
static void http_options_decode_version(struct yaml *y,
					const struct yaml_node *n, void *field)
{
	static const char *const names[] = {
		[HTTP_TLS_10] = "TLS10",
		[HTTP_TLS_11] = "TLS11",
		[HTTP_TLS_12] = "TLS12",
		[HTTP_TLS_13] = "TLS13",
	};
	enum http_tls_version *v = field;
	struct str text = str_of("");

	yaml_text(y, n, &text);
	for (size_t i = HTTP_TLS_10; i < ARRAY_SIZE(names); i++) {
		if (str_is(text, names[i])) {
			*v = (enum http_tls_version)i;
			return;
		}
	}
	yaml_error(y, n, "expected TLS10, TLS11, TLS12 or TLS13");
}

void http_decode_tls(struct yaml *y, const struct yaml_node *n, void *options)
{
	static const struct yaml_field fields[] = {
		{ "ca", yaml_text, offsetof(struct http_tls, ca.text), NULL },
		{ "ca_file", http_options_decode_file,
		  offsetof(struct http_tls, ca.file), NULL },
		{ "cert", yaml_text, offsetof(struct http_tls, cert.text),
		  NULL },
		{ "cert_file", http_options_decode_file,
		  offsetof(struct http_tls, cert.file), NULL },
		{ "key", yaml_secret, offsetof(struct http_tls, key.text),
		  NULL },
		{ "key_file", http_options_decode_file,
		  offsetof(struct http_tls, key.file), NULL },
		{ "server_name", yaml_text,
		  offsetof(struct http_tls, server_name), NULL },
		{ "insecure_skip_verify", yaml_bool,
		  offsetof(struct http_tls, insecure_skip_verify), NULL },
		{ "min_version", http_options_decode_version,
		  offsetof(struct http_tls, min_version), NULL },
		{ "max_version", http_options_decode_version,
		  offsetof(struct http_tls, max_version), NULL },
		{ 0 },
	};
	struct http_tls *t = &((struct http_options *)options)->tls;

	yaml_decode(y, n, "tls_config", fields, t);
	http_options_check_one(y, n, &t->ca, "ca");
	http_options_check_one(y, n, &t->cert, "cert");
	http_options_check_one(y, n, &t->key, "key");
	if (http_options_is_set(&t->cert) != http_options_is_set(&t->key))
		yaml_error(
			y, n,
			"a certificate (cert or cert_file) and its key (key or key_file) must be set together");
	if (t->max_version && t->min_version > t->max_version)
		yaml_error(y, n, "min_version is above max_version");
}

/* Return whether a text starts with any text of a NULL-terminated list. */
static bool starts_with_any(struct str s, const char *const *starts)
{
	for (; *starts; starts++) {
		if (str_starts(s, str_of(*starts)))
			return true;
	}
	return false;
}

/* Return whether a URL has a host after "://". */
static bool has_host(struct str url)
{
	const char *host = memmem(url.ptr, url.len, "://", 3);

	return host && host + 3 < url.ptr + url.len && !strchr("/?#:", host[3]);
}

/* Add the error that a URL has none of the given schemes. */
static void add_scheme_error(struct yaml *y, const struct yaml_node *n,
			     const char *const *schemes)
{
	struct buf list = { 0 };

	for (size_t i = 0; schemes[i]; i++)
		buf_printf(&list, "%s%s", i ? " or " : "", schemes[i]);
	yaml_error(y, n, "the URL must begin with %s", buf_cstr(&list));
	buf_fini(&list);
}

/*
 * Decode a URL with one of the given schemes. A URL with an "@" may hold a
 * password and is marked as a secret, so that it is not shown.
 */
static void http_options_decode_url(struct yaml *y, const struct yaml_node *n,
				    const char *const *schemes, struct str *url)
{
	/* A password or a token in a URL is hidden like any other secret. */
	if (n->kind == YAML_SCALAR && endpoint_url_has_secret(n->text))
		yaml_secret(y, n, url);
	else
		yaml_text(y, n, url);
	*url = url_lower_scheme(*url, &y->arena);
	if (url->len && !starts_with_any(*url, schemes))
		add_scheme_error(y, n, schemes);
	else if (url->len && !has_host(*url))
		yaml_error(y, n, "the URL has no host");
}

/*
 * The proxy is checked by endpoint_proxy(), the parser that requests use. A
 * malformed proxy is therefore reported when the configuration is loaded, not
 * only with each scrape.
 */
void http_decode_proxy_url(struct yaml *y, const struct yaml_node *n,
			   void *options)
{
	static const char *const schemes[] = { "http://", "https://",
					       "socks5://", "socks5h://",
					       NULL };

	struct http_options *o = options;
	char *url;
	char *proxy;
	struct err err;

	http_options_decode_url(y, n, schemes, &o->proxy_url);
	if (!o->proxy_url.len || !starts_with_any(o->proxy_url, schemes))
		return; /* already reported */
	url = mem_strndup(o->proxy_url);
	if (endpoint_proxy(url, &proxy, &err))
		yaml_error(y, n, "%s", err.msg);
	mem_forget(proxy);
	mem_forget(url);
}

/*
 * Return whether a header cannot be configured, because only the client itself
 * may set it. The list is the same as in Prometheus.
 */
static bool is_reserved(struct str name)
{
	static const char *const names[] = {
		"Accept-Encoding",
		"Authorization",
		"Connection",
		"Content-Encoding",
		"Content-Length",
		"Content-Type",
		"Host",
		"Keep-Alive",
		"Proxy-Authenticate",
		"Proxy-Authorization",
		"Transfer-Encoding",
		"User-Agent",
		"Www-Authenticate",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is_nocase(name, names[i]))
			return true;
	}
	return false;
}

/*
 * Return whether a text is a token by RFC 9110 5.6.2 and therefore safe as the
 * name of a header.
 */
static bool is_header_name(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c <= ' ' || c >= 0x7f || strchr("()<>@,;:\\\"/[]?={}", c))
			return false;
	}
	return s.len;
}

/*
 * Add a header to a list in the configuration's arena and return the header.
 * The array is copied each time, which is fast enough for the few headers in a
 * configuration.
 */
static struct http_header *http_options_add_header(struct yaml *y,
						   struct http_header_list *l,
						   struct str name)
{
	struct http_header *more =
		arena_array(&y->arena, struct http_header, l->count + 1);

	if (l->count)
		memcpy(more, l->v, l->count * sizeof(*more));
	l->v = more;
	l->v[l->count] = (struct http_header){ .name = name };
	return &l->v[l->count++];
}

/*
 * Decode a list of values into headers with the name `name`, one for each
 * value. An error message calls the list `what`.
 */
static void decode_values(struct yaml *y, const struct yaml_node *n,
			  const char *what, struct str name, yaml_fn decode,
			  struct http_header_list *out)
{
	if (!yaml_expect(y, n, YAML_LIST, what))
		return;
	for (size_t i = 0; i < n->count; i++)
		decode(y, n->items[i],
		       &http_options_add_header(y, out, name)->value.text);
}

/* Decode a map {name: [value, …]} into headers. */
static void decode_lists(struct yaml *y, const struct yaml_node *n,
			 const char *what, yaml_fn decode,
			 struct http_header_list *out)
{
	if (!yaml_expect(y, n, YAML_MAP, what))
		return;
	yaml_unique_keys(y, n);
	for (size_t i = 0; i < n->count; i += 2) {
		if (!is_header_name(n->items[i]->text))
			yaml_error(y, n->items[i], "invalid header name");
		decode_values(y, n->items[i + 1], "the values of a header",
			      n->items[i]->text, decode, out);
	}
}

void http_decode_proxy_headers(struct yaml *y, const struct yaml_node *n,
			       void *options)
{
	struct http_options *o = options;

	decode_lists(y, n, "proxy_connect_header", yaml_secret,
		     &o->proxy_headers);
}

/*
 * Decode one entry of http_headers. The value of the header is given in the
 * keys values, secrets and files, each a list. Values from files come last in
 * the result, independent of the order of the keys.
 */
static void http_options_decode_header(struct yaml *y,
				       const struct yaml_node *key,
				       const struct yaml_node *n,
				       struct http_header_list *out)
{
	const struct yaml_node *files;

	if (!is_header_name(key->text))
		yaml_error(y, key, "invalid header name \"%.*s\"",
			   STR_ARG(key->text));
	else if (is_reserved(key->text))
		yaml_error(
			y, key,
			"http_headers cannot set %.*s: this header is reserved for everprof itself (for Authorization, use basic_auth, authorization or oauth2)",
			STR_ARG(key->text));
	if (!yaml_expect(y, n, YAML_MAP, "a header (values, secrets or files)"))
		return;
	yaml_unique_keys(y, n);
	for (size_t i = 0; i < n->count; i += 2) {
		struct str k = n->items[i]->text;
		const struct yaml_node *v = n->items[i + 1];

		if (str_is(k, "values"))
			decode_values(y, v, "values", key->text, yaml_text,
				      out);
		else if (str_is(k, "secrets"))
			decode_values(y, v, "secrets", key->text, yaml_secret,
				      out);
		else if (!str_is(k, "files"))
			yaml_error(
				y, n->items[i],
				"field %.*s not found in a header of http_headers: use values, secrets or files",
				STR_ARG(k));
	}
	files = yaml_child(n, "files");
	if (!files || !yaml_expect(y, files, YAML_LIST, "files"))
		return;
	for (size_t i = 0; i < files->count; i++)
		http_options_decode_file(
			y, files->items[i],
			&http_options_add_header(y, out, key->text)
				 ->value.file);
}

void http_decode_headers(struct yaml *y, const struct yaml_node *n,
			 void *options)
{
	struct http_options *o = options;

	if (!yaml_expect(y, n, YAML_MAP, "http_headers"))
		return;
	yaml_unique_keys(y, n);
	for (size_t i = 0; i < n->count; i += 2)
		http_options_decode_header(y, n->items[i], n->items[i + 1],
					   &o->headers);
}

/*
 * Set o->key to the text of all options of the client in the section `map`, in
 * a fixed order, so that the order in the configuration file does not matter.
 */
static void http_options_make_key(struct yaml *y, const struct yaml_node *map,
				  struct http_options *o)
{
	static const struct yaml_field fields[] = {
		/*
		 * Only the names of the keys are used from this table, not the
		 * offsets.
		 */
		HTTP_OPTION_FIELDS(struct http_oauth2, http),
	};
	struct buf key = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct yaml_node *n = yaml_child(map, fields[i].key);

		if (!n)
			continue;
		buf_printf(&key, "%s: ", fields[i].key);
		yaml_dump(n, true, &key);
	}
	o->key = arena_str(&y->arena, str_from(buf_bytes(&key)));
	buf_fini(&key);
}

void http_options_check(struct yaml *y, const struct yaml_node *map,
			struct http_options *o)
{
	if (map->kind != YAML_MAP)
		return;
	if (o->proxy_url.len && o->proxy_from_environment)
		yaml_error(
			y, map,
			"at most one of proxy_url and proxy_from_environment may be set");
	if (o->no_proxy.len && !o->proxy_url.len)
		yaml_error(y, yaml_place(map, "no_proxy"),
			   "no_proxy requires proxy_url");
	if (o->proxy_headers.count && !o->proxy_url.len &&
	    !o->proxy_from_environment)
		yaml_error(
			y, map,
			"proxy_connect_header requires proxy_url or proxy_from_environment");
	http_options_make_key(y, map, o);
}

bool http_options_are_default(const struct http_options *o)
{
	const struct http_tls *t = &o->tls;

	return o->auth == HTTP_AUTH_NONE && !http_options_is_set(&t->ca) &&
	       !http_options_is_set(&t->cert) && !t->server_name.len &&
	       !t->insecure_skip_verify && !t->min_version && !t->max_version &&
	       !o->proxy_url.len && !o->no_proxy.len &&
	       !o->proxy_from_environment && !o->proxy_headers.count &&
	       !o->headers.count && o->follow_redirects && o->enable_http2;
}

/*
 * The configuration of OAuth 2 from YAML.
 */

/* Decode the list of OAuth 2 scopes. */
static void http_options_decode_scopes(struct yaml *y,
				       const struct yaml_node *n, void *field)
{
	struct http_oauth2 *a = field;

	if (!yaml_expect(y, n, YAML_LIST, "scopes"))
		return;
	a->scopes = arena_array(&y->arena, struct str, n->count);
	for (size_t i = 0; i < n->count; i++) {
		struct str *s = &a->scopes[a->scope_count++];

		*s = str_of("");
		yaml_text(y, n->items[i], s);
	}
}

void http_decode_url(struct yaml *y, const struct yaml_node *n, void *url)
{
	static const char *const schemes[] = { "http://", "https://", NULL };

	http_options_decode_url(y, n, schemes, url);
}

/*
 * Decode a map {name: value} of additional form fields. All of them are
 * treated as secrets, because some servers expect credentials in them.
 */
static void decode_endpoint_params(struct yaml *y, const struct yaml_node *n,
				   void *field)
{
	struct http_oauth2 *a = field;

	if (!yaml_expect(y, n, YAML_MAP, "endpoint_params"))
		return;
	yaml_unique_keys(y, n);
	for (size_t i = 0; i < n->count; i += 2)
		yaml_secret(y, n->items[i + 1],
			    &http_options_add_header(y, &a->params,
						     n->items[i]->text)
				     ->value.text);
}

/* Request for tokens have their own options for TLS and proxies. */
void http_decode_oauth2(struct yaml *y, const struct yaml_node *n,
			void *options)
{
	static const struct yaml_field fields[] = {
		{ "client_id", yaml_text,
		  offsetof(struct http_oauth2, client_id), NULL },
		{ "client_secret", yaml_secret,
		  offsetof(struct http_oauth2, client_secret.text), NULL },
		{ "client_secret_file", http_options_decode_file,
		  offsetof(struct http_oauth2, client_secret.file), NULL },
		{ "scopes", http_options_decode_scopes, 0, NULL },
		{ "token_url", http_decode_url,
		  offsetof(struct http_oauth2, token_url), NULL },
		{ "endpoint_params", decode_endpoint_params, 0, NULL },
		HTTP_TRANSPORT_FIELDS(struct http_oauth2, http),
		{ 0 },
	};
	struct http_options *o = options;
	struct http_oauth2 *a = arena_new(&y->arena, struct http_oauth2);

	http_options_set_auth(y, n, o, HTTP_AUTH_OAUTH2);
	http_options_init(&a->http);
	o->oauth2 = a;
	yaml_decode(y, n, "oauth2", fields, a);
	http_options_check_one(y, n, &a->client_secret, "client_secret");
	if (n->kind == YAML_MAP && (!a->client_id.len || !a->token_url.len))
		yaml_error(y, n, "oauth2 requires client_id and token_url");
	http_options_check(y, n, &a->http);
}
