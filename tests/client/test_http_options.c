/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of HTTP clients in YAML: what each key sets, its default, and
 * with which messages wrong values are refused.
 */
#include <stddef.h>

#include "base/mem.h"
#include "base/yaml_dump.h"
#include "client/transfer/http_options.h"
#include "tests/check.h"

TestSuite(http_options, .timeout = 20);

/* Options as a section of the configuration holds them. */
struct section {
	struct yaml y;
	struct http_options http;
};

static const struct yaml_field section_fields[] = {
	HTTP_OPTION_FIELDS(struct section, http),
	{ 0 },
};

static void begin(struct section *s, const char *text)
{
	yaml_parse(&s->y, "/etc/everprof/c.yml", bytes_of(str_of(text)));
	cr_assert(s->y.root, "%s: %s", text, buf_cstr(&s->y.errors));
	http_options_init(&s->http);
	yaml_decode(&s->y, s->y.root, "scrape_config", section_fields, s);
	http_options_check(&s->y, s->y.root, &s->http);
}

static void begin_good(struct section *s, const char *text)
{
	begin(s, text);
	cr_assert(!s->y.error_count, "%s: %s", text, buf_cstr(&s->y.errors));
}

Test(http_options, without_keys_the_defaults_are_those_of_prometheus)
{
	struct section s;

	begin_good(&s, "{}");
	cr_assert(s.http.auth == HTTP_AUTH_NONE);
	cr_expect(!s.http.oauth2);
	cr_expect(check_str(s.http.auth_type, "Bearer"));
	cr_assert(s.http.follow_redirects);
	cr_expect(s.http.enable_http2);
	cr_assert(!s.http.proxy_from_environment);
	cr_expect(!s.http.proxy_url.len);
	cr_assert(!s.http.no_proxy.len);
	cr_expect(!s.http.tls.insecure_skip_verify);
	cr_expect(s.http.tls.min_version == HTTP_TLS_DEFAULT);
	cr_expect(s.http.tls.max_version == HTTP_TLS_DEFAULT);
	cr_assert(!s.http.headers.count);
	cr_expect(!s.http.proxy_headers.count);
	cr_expect(check_str(s.http.key, ""));
	yaml_fini(&s.y);
}

/*
 * A text with a key, the place of the key's value in the options, and that
 * value.
 */
struct place_of_text {
	const char *text;
	size_t offset;
	const char *want;
};

#define AT(member) offsetof(struct http_options, member)

Test(http_options, each_key_with_a_text_sets_its_member)
{
	static const struct place_of_text cases[] = {
		{ "{basic_auth: {username: u, password: p}}", AT(username.text),
		  "u" },
		{ "{basic_auth: {username: u, password: p}}", AT(password.text),
		  "p" },
		{ "{basic_auth: {username_file: f}}", AT(username.file),
		  "/etc/everprof/f" },
		{ "{basic_auth: {password_file: ../f}}", AT(password.file),
		  "/etc/everprof/../f" },
		{ "{basic_auth: {password_file: /abs/f}}", AT(password.file),
		  "/abs/f" },
		{ "{authorization: {type: Token, credentials: c}}",
		  AT(auth_type), "Token" },
		{ "{authorization: {credentials: c}}", AT(credentials.text),
		  "c" },
		{ "{authorization: {credentials_file: d/f}}",
		  AT(credentials.file), "/etc/everprof/d/f" },
		{ "{bearer_token: c}", AT(credentials.text), "c" },
		{ "{bearer_token: c}", AT(auth_type), "Bearer" },
		{ "{bearer_token_file: f}", AT(credentials.file),
		  "/etc/everprof/f" },
		{ "{tls_config: {ca: c}}", AT(tls.ca.text), "c" },
		{ "{tls_config: {ca_file: c}}", AT(tls.ca.file),
		  "/etc/everprof/c" },
		{ "{tls_config: {cert: c, key: k}}", AT(tls.cert.text), "c" },
		{ "{tls_config: {cert: c, key: k}}", AT(tls.key.text), "k" },
		{ "{tls_config: {cert_file: c, key: k}}", AT(tls.cert.file),
		  "/etc/everprof/c" },
		{ "{tls_config: {cert: c, key_file: k}}", AT(tls.key.file),
		  "/etc/everprof/k" },
		{ "{tls_config: {server_name: n}}", AT(tls.server_name), "n" },
		{ "{proxy_url: 'http://p:1'}", AT(proxy_url), "http://p:1" },
		{ "{proxy_url: 'socks5://p'}", AT(proxy_url), "socks5://p" },
		{ "{proxy_url: 'http://u:p@p'}", AT(proxy_url),
		  "http://u:p@p" },
		{ "{proxy_url: 'https://p', no_proxy: 'a,b'}", AT(no_proxy),
		  "a,b" },
		/* A key whose value is null counts as absent. */
		{ "{authorization: {type: , credentials: c}}", AT(auth_type),
		  "Bearer" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct section s;
		const struct str *got =
			(const void *)((const char *)&s.http + cases[i].offset);

		begin_good(&s, cases[i].text);
		cr_expect(check_str(*got, cases[i].want), "%s", cases[i].text);
		yaml_fini(&s.y);
	}
}

Test(http_options, an_empty_text_is_no_text)
{
	struct section s;

	begin_good(&s, "{basic_auth: {username: u, password: ''}}");
	cr_assert(!s.http.password.text.ptr);
	cr_expect(!s.http.password.file.len);
	yaml_fini(&s.y);
	begin_good(&s, "{basic_auth: {username: u}}");
	cr_assert(!s.http.password.text.ptr);
	cr_expect(!s.http.password.file.len);
	yaml_fini(&s.y);
}

Test(http_options, flags_and_versions_are_decoded)
{
	struct section s;

	begin_good(&s, "{follow_redirects: no, enable_http2: false, "
		       "proxy_from_environment: true, tls_config: "
		       "{insecure_skip_verify: on, min_version: TLS10, "
		       "max_version: TLS13}}");
	cr_assert(!s.http.follow_redirects);
	cr_expect(!s.http.enable_http2);
	cr_expect(s.http.proxy_from_environment);
	cr_expect(s.http.tls.insecure_skip_verify);
	cr_expect(s.http.tls.min_version == HTTP_TLS_10);
	cr_expect(s.http.tls.max_version == HTTP_TLS_13);
	yaml_fini(&s.y);
	/* The lower and the upper bound may be equal. */
	begin_good(&s,
		   "{tls_config: {min_version: TLS11, max_version: TLS11}}");
	cr_expect(s.http.tls.min_version == HTTP_TLS_11);
	yaml_fini(&s.y);
	/* A lower bound without an upper one is valid. */
	begin_good(&s, "{tls_config: {min_version: TLS12}}");
	cr_expect(s.http.tls.min_version == HTTP_TLS_12);
	yaml_fini(&s.y);
}

Test(http_options, ways_to_authenticate_are_told_apart)
{
	static const struct {
		const char *text;
		enum http_auth auth;
	} cases[] = {
		{ "{}", HTTP_AUTH_NONE },
		{ "{basic_auth: {}}", HTTP_AUTH_BASIC },
		{ "{authorization: {}}", HTTP_AUTH_HEADER },
		{ "{bearer_token: x}", HTTP_AUTH_HEADER },
		{ "{bearer_token_file: x}", HTTP_AUTH_HEADER },
		{ "{oauth2: {client_id: a, client_secret: b, token_url: "
		  "'http://t'}}",
		  HTTP_AUTH_OAUTH2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct section s;

		begin_good(&s, cases[i].text);
		cr_expect(s.http.auth == cases[i].auth, "%s", cases[i].text);
		yaml_fini(&s.y);
	}
}

Test(http_options, headers_are_a_list_with_files_last)
{
	static const char *const want[][3] = {
		{ "X-A", "v1", "" }, { "X-A", "v2", "" },
		{ "X-A", "s", "" },  { "X-A", NULL, "/etc/everprof/f" },
		{ "X-B", "w", "" },
	};
	struct section s;

	begin_good(&s, "http_headers:\n"
		       "  X-A: {files: [f], values: [v1, v2], secrets: [s]}\n"
		       "  X-B: {values: [w]}\n"
		       "  X-C: {}\n");
	cr_assert(s.http.headers.count == ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct http_header *h = &s.http.headers.v[i];

		cr_expect(check_str(h->name, want[i][0]), "header %zu", i);
		cr_expect(want[i][1] ? check_str(h->value.text, want[i][1]) :
				       !h->value.text.ptr,
			  "header %zu", i);
		cr_expect(check_str(h->value.file.len ? h->value.file :
							str_of(""),
				    want[i][2]),
			  "header %zu", i);
	}
	yaml_fini(&s.y);
}

Test(http_options, headers_of_a_proxy_are_lists_of_secrets)
{
	struct section s;
	struct buf shown = { 0 };

	begin_good(&s, "proxy_url: http://p\n"
		       "proxy_connect_header: {A: [x, y], B: [z]}\n");
	cr_assert(s.http.proxy_headers.count == 3);
	cr_expect(check_str(s.http.proxy_headers.v[1].name, "A"));
	cr_expect(check_str(s.http.proxy_headers.v[1].value.text, "y"));
	cr_expect(check_str(s.http.proxy_headers.v[2].name, "B"));
	yaml_dump(s.y.root, false, &shown);
	cr_expect(!strstr(buf_cstr(&shown), "- x"), "%s", buf_cstr(&shown));
	buf_fini(&shown);
	yaml_fini(&s.y);
}

Test(http_options, headers_that_are_the_clients_own_are_refused)
{
	static const char *const names[] = {
		"Accept-Encoding",
		"authorization",
		"CONNECTION",
		"Content-Encoding",
		"content-length",
		"Content-Type",
		"Host",
		"Keep-Alive",
		"Proxy-Authenticate",
		"proxy-authorization",
		"Transfer-Encoding",
		"User-Agent",
		"Www-Authenticate",
		"",
		"a b",
		"a:b",
		"a\tb",
		"\xc3\xa4",
		("a\x7f"
		 "b"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char text[100];
		struct section s;

		/*
		 * YAML does not allow the character 0x7f, so it is written as
		 * an escape.
		 */
		snprintf(text, sizeof(text),
			 "{http_headers: {\"%s\": {values: [x]}}}",
			 strchr(names[i], 0x7f) ? "a\\x7fb" : names[i]);
		begin(&s, text);
		cr_expect(s.y.error_count == 1, "%s: %zu errors", text,
			  s.y.error_count);
		yaml_fini(&s.y);
	}
}

/*
 * A text with a mistake, the place of the mistake, and a part of its message.
 */
struct mistake {
	const char *text;
	const char *at; /* line and column */
	const char *says;
};

static void expect_mistakes(const struct mistake *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct section s;
		char at[64];

		begin(&s, v[i].text);
		snprintf(at, sizeof(at), "/etc/everprof/c.yml:%s: ", v[i].at);
		cr_expect(s.y.error_count >= 1, "%s", v[i].text);
		cr_assert(str_starts(yaml_first_error(&s.y), str_of(at)),
			  "%s\ngot %swant %s%s", v[i].text,
			  buf_cstr(&s.y.errors), at, v[i].says);
		cr_expect(strstr(buf_cstr(&s.y.errors), v[i].says),
			  "%s\ngot %swant %s%s", v[i].text,
			  buf_cstr(&s.y.errors), at, v[i].says);
		yaml_fini(&s.y);
	}
}

Test(http_options, values_of_other_types_are_named_with_their_place)
{
	static const struct mistake cases[] = {
		{ "basic_auth: x", "1:13", "basic_auth" },
		{ "basic_auth: {username: [u]}", "1:24", "scalar" },
		{ "basic_auth: {user: u}", "1:14", "user" },
		{ "authorization: []", "1:16", "authorization" },
		{ "authorization: {credentials: {a: b}}", "1:30", "scalar" },
		{ "bearer_token: [a]", "1:15", "" },
		{ "bearer_token_file: {a: b}", "1:20", "" },
		{ "tls_config: x", "1:13", "tls_config" },
		{ "tls_config: {insecure_skip_verify: 2}", "1:36", "" },
		{ "tls_config:\n  min_version: TLS14\n", "2:16", "TLS13" },
		{ "tls_config:\n  max_version: [TLS12]\n", "2:16", "" },
		{ "tls_config: {ciphers: x}", "1:14", "ciphers" },
		{ "follow_redirects: maybe", "1:19", "" },
		{ "enable_http2: [true]", "1:15", "" },
		{ "proxy_from_environment: x", "1:25", "" },
		{ "proxy_url: {a: b}", "1:12", "" },
		{ "no_proxy: [a]\nproxy_url: http://p", "1:11", "" },
		{ "proxy_url: http://p\nproxy_connect_header: [a]", "2:23",
		  "proxy_connect_header" },
		{ "proxy_url: http://p\nproxy_connect_header: {a: b}", "2:27",
		  "values" },
		{ "proxy_url: http://p\nproxy_connect_header: {'a b': [c]}",
		  "2:24", "name" },
		{ "http_headers: [a]", "1:15", "http_headers" },
		{ "http_headers: {a: {values: b}}", "1:28", "values" },
		{ "http_headers: {a: {files: b}}", "1:27", "files" },
		{ "http_headers: {a: {values: [[b]]}}", "1:29", "" },
		{ "http_headers: {a: {values: [b], values: [c]}}", "1:33",
		  "values" },
		{ "http_headers: {a: {values: [b]}, a: {values: [c]}}", "1:34",
		  "a" },
		{ "basic_auth: {username: \"a\\0b\"}", "1:24", "" },
	};

	expect_mistakes(cases, ARRAY_SIZE(cases));
}

Test(http_options, proxies_are_urls_that_the_client_can_use)
{
	static const struct mistake cases[] = {
		{ "proxy_url: ftp://p", "1:12", "http://" },
		{ "proxy_url: socks4://p", "1:12", "http://" },
		{ "proxy_url: 'http://'", "1:12", "host" },
		{ "proxy_url: 'http:///x'", "1:12", "host" },
		{ "proxy_url: 'http://:80'", "1:12", "host" },
		{ "proxy_url: http://p:99999", "1:12", "HOST:PORT" },
		{ "proxy_url: http://u:a/b@p", "1:12", "%2F" },
		{ "{proxy_url: 'http://p', proxy_from_environment: true}",
		  "1:1", "proxy_from_environment" },
		{ "{proxy_from_environment: true, no_proxy: x}", "1:42",
		  "no_proxy" },
	};

	expect_mistakes(cases, ARRAY_SIZE(cases));
}

/* oauth2. */

#define OAUTH2(more)                                            \
	"oauth2: {client_id: id, client_secret: s, token_url: " \
	"'https://t/x'" more "}"

Test(http_options, oauth2_has_all_its_keys)
{
	const struct http_oauth2 *a;
	struct section s;

	begin_good(
		&s,
		OAUTH2(", scopes: [one, two], endpoint_params: {k: v, l: w}, "
		       "tls_config: {server_name: n}, proxy_url: "
		       "'http://p', no_proxy: x"));
	a = s.http.oauth2;
	cr_assert(a);
	cr_assert(s.http.auth == HTTP_AUTH_OAUTH2);
	cr_expect(check_str(a->client_id, "id"));
	cr_expect(check_str(a->client_secret.text, "s"));
	cr_expect(check_str(a->token_url, "https://t/x"));
	cr_assert(a->scope_count == 2);
	cr_assert(a->params.count == 2);
	cr_expect(check_str(a->scopes[0], "one"));
	cr_expect(check_str(a->scopes[1], "two"));
	cr_expect(check_str(a->params.v[0].name, "k"));
	cr_expect(check_str(a->params.v[1].value.text, "w"));
	/* The requests for a token have options of their own. */
	cr_expect(check_str(a->http.tls.server_name, "n"));
	cr_expect(check_str(a->http.proxy_url, "http://p"));
	cr_expect(check_str(a->http.no_proxy, "x"));
	cr_assert(!s.http.proxy_url.len);
	cr_expect(!s.http.tls.server_name.len);
	cr_expect(a->http.follow_redirects);
	yaml_fini(&s.y);
	begin_good(&s, "oauth2: {client_id: id, token_url: 'HTTPS://t/X'}");
	cr_expect(check_str(s.http.oauth2->token_url, "https://t/X"));
	cr_expect(!s.http.oauth2->client_secret.text.ptr);
	yaml_fini(&s.y);
	begin_good(&s, "oauth2: {client_id: id, client_secret_file: f, "
		       "token_url: 'http://t'}");
	cr_expect(check_str(s.http.oauth2->client_secret.file,
			    "/etc/everprof/f"));
	cr_assert(!s.http.oauth2->scope_count);
	cr_expect(!s.http.oauth2->params.count);
	yaml_fini(&s.y);
}

Test(http_options, mistakes_in_oauth2_are_named)
{
	static const struct mistake cases[] = {
		{ "oauth2: x", "1:9", "oauth2" },
		{ "oauth2: {client_secret: s, token_url: 'http://t'}", "1:9",
		  "client_id" },
		{ "oauth2: {client_id: i, client_secret: s}", "1:9",
		  "token_url" },
		{ OAUTH2(", client_secret_file: f"), "1:9",
		  "client_secret_file" },
		{ OAUTH2(", scopes: one"), "1:77", "scopes" },
		{ OAUTH2(", scopes: [[]]"), "1:78", "" },
		{ OAUTH2(", endpoint_params: [a]"), "1:86", "endpoint_params" },
		{ OAUTH2(", endpoint_params: {a: b, a: c}"), "1:93", "a" },
		{ OAUTH2(", basic_auth: {}"), "1:69", "basic_auth" },
		{ OAUTH2(", no_proxy: x"), "1:79", "proxy_url" },
		{ OAUTH2(", tls_config: {key: k}"), "1:81", "certificate" },
		{ "oauth2: {client_id: i, client_secret: s, token_url: "
		  "'socks5://t'}",
		  "1:53", "http://" },
		{ "oauth2: {client_id: i, client_secret: s, token_url: "
		  "'http://?x'}",
		  "1:53", "host" },
	};

	expect_mistakes(cases, ARRAY_SIZE(cases));
}

Test(http_options, secrets_of_oauth2_are_not_shown)
{
	struct buf out = { 0 };
	struct section s;

	begin_good(&s, "oauth2: {client_id: id, client_secret: hidden1, "
		       "token_url: 'http://u:hidden2@t', endpoint_params: {k: "
		       "hidden3}}");
	yaml_dump(s.y.root, false, &out);
	cr_expect(!strstr(buf_cstr(&out), "hidden"), "%s", buf_cstr(&out));
	cr_expect(strstr(buf_cstr(&out), "client_id: id") != NULL);
	buf_fini(&out);
	yaml_fini(&s.y);
}

/*
 * Clients are shared by options whose `key` is equal, so the keys of options
 * that differ must differ.
 */
Test(http_options, the_key_tells_options_apart)
{
	static const struct {
		const char *a;
		const char *b;
		bool same;
	} cases[] = {
		{ "{}", "{}", true },
		{ "{bearer_token: x, proxy_url: 'http://p'}",
		  "{proxy_url: 'http://p', bearer_token: x}", true },
		{ "{bearer_token: x}", "{bearer_token: y}", false },
		{ "{bearer_token: x}", "{bearer_token_file: x}", false },
		{ "{follow_redirects: false}", "{enable_http2: false}", false },
		{ "{tls_config: {ca_file: a}}", "{tls_config: {ca_file: b}}",
		  false },
		{ "{http_headers: {a: {values: [b]}}}",
		  "{http_headers: {a: {secrets: [b]}}}", false },
		{ OAUTH2(""), OAUTH2(", scopes: [a]"), false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct section a;
		struct section b;

		begin_good(&a, cases[i].a);
		begin_good(&b, cases[i].b);
		cr_expect(str_eq(a.http.key, b.http.key) == cases[i].same,
			  "%s and %s", cases[i].a, cases[i].b);
		yaml_fini(&a.y);
		yaml_fini(&b.y);
	}
}
