/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/yaml_dump.h"
#include "client/address/no_proxy.h"
#include "client/transfer/http_config.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(options, .timeout = 20);

Test(options, no_proxy_matches_as_in_go)
{
	static const struct {
		const char *list;
		const char *url;
		bool direct;
	} cases[] = {
		{ "", "http://a.example/", false },
		{ "*", "http://a.example/", true },
		{ "", "http://localhost:9/x", true },
		{ "", "http://127.3.2.1/x", true },
		{ "", "https://[::1]:1/", true },
		{ "a.example", "http://a.example:8080/x?y", true },
		{ "a.example", "http://b.a.example", true },
		{ "a.example", "http://ba.example", false },
		{ ".a.example", "http://a.example", false },
		{ ".a.example", "http://b.a.example", true },
		{ "*.a.example", "http://b.a.example", true },
		{ "A.Example", "http://a.eXAMPLE", true },
		{ "x, a.example ,y", "http://a.example", true },
		{ "a.example:80", "http://a.example/", true },
		{ "a.example:80", "https://a.example/", false },
		{ "a.example:443", "https://a.example/", true },
		{ "a.example:81", "http://u:p@a.example:81/", true },
		{ "10.0.0.0/8", "http://10.200.0.1/", true },
		{ "10.0.0.0/8", "http://11.0.0.1/", false },
		{ "10.1.2.128/25", "http://10.1.2.127/", false },
		{ "10.1.2.128/25", "http://10.1.2.128/", true },
		{ "0.0.0.0/0", "http://9.9.9.9/", true },
		{ "10.0.0.0/8", "http://ten.example/", false },
		{ "10.0.0.0/33", "http://10.0.0.0/", false },
		{ "10.0.0.1", "http://10.0.0.1:99/", true },
		{ "10.0.0.1:98", "http://10.0.0.1:99/", false },
		{ "fd00::/8", "http://[fd12::1]/", true },
		{ "fd00::/8", "http://[fe80::1]/", false },
		{ "fd12::1", "http://[FD12:0::1]/", true },
		{ "[fd12::1]:9", "http://[fd12::1]:9/", true },
		{ "[fd12::1]:9", "http://[fd12::1]:8/", false },
		{ "[", "http://a.example/", false },
		{ ",,", "http://a.example/", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(no_proxy_matches(cases[i].list, cases[i].url) ==
				  cases[i].direct,
			  "%s for %s", cases[i].list, cases[i].url);
}

struct holder {
	struct http_options http;
};

static const struct yaml_field fields[] = {
	HTTP_OPTION_FIELDS(struct holder, http),
	{ 0 },
};

static void decode(struct yaml *y, struct holder *h, const char *text)
{
	yaml_parse(y, "/etc/everprof/c.yml", bytes_of(str_of(text)));
	cr_assert(y->root, "%s", buf_cstr(&y->errors));
	http_options_init(&h->http);
	yaml_decode(y, y->root, "scrape_config", fields, h);
	http_options_check(y, y->root, &h->http);
}

static bool says(const char *text, const char *want)
{
	struct holder h;
	struct yaml y;
	bool ok;

	decode(&y, &h, text);
	ok = *want ? strstr(buf_cstr(&y.errors), want) != NULL : !y.error_count;
	if (!ok)
		fprintf(stderr, "%s\ngot %swant %s\n", text,
			buf_cstr(&y.errors), want);
	yaml_fini(&y);
	return ok;
}

Test(options, conflicting_options_are_refused)
{
	static const char *const cases[][2] = {
		{ "{basic_auth: {username: u, password: p}}", "" },
		{ "{basic_auth: {username_file: u, password_file: p}}", "" },
		{ "{basic_auth: {password: p, password_file: f}}",
		  "at most one of password and password_file" },
		{ "{basic_auth: {}, authorization: {}}",
		  "at most one of basic_auth" },
		{ "{bearer_token: x, bearer_token_file: y}",
		  "at most one of basic_auth" },
		{ "{authorization: {type: bAsic, credentials: x}}",
		  "authorization cannot be Basic" },
		{ "{authorization: {credentials: x}, oauth2: {client_id: a, "
		  "client_secret: b, token_url: 'http://x'}}",
		  "at most one of" },
		{ "{oauth2: {client_id: a, token_url: 'HTTP://x'}}", "" },
		/* An empty text is no text. */
		{ "{basic_auth: {password: '', password_file: f}}", "" },
		{ "{authorization: {credentials: '', credentials_file: f}}",
		  "" },
		{ "{tls_config: {ca: '', ca_file: f, cert: ''}}", "" },
		{ "{bearer_token: '', bearer_token_file: f}", "" },
		{ "{bearer_token: '', bearer_token_file: '', basic_auth: {}}",
		  "" },
		{ "{oauth2: {client_secret: a, token_url: 'http://x'}}",
		  "oauth2 requires client_id and token_url" },
		{ "{oauth2: {client_id: a, client_secret: s, token_url: "
		  "'ftp://x'}}",
		  "the URL must begin with http:// or https://" },
		{ "{oauth2: {client_id: a, client_secret: s, token_url: "
		  "'http://x', scopes: [a, b], endpoint_params: {c: d}, "
		  "tls_config: {insecure_skip_verify: true}, proxy_url: "
		  "'http://p'}}",
		  "" },
		{ "{oauth2: {tls_config: {ca: x, ca_file: y}, client_id: a}}",
		  "at most one of ca and ca_file" },
		{ "{tls_config: {cert_file: x}}", "must be set together" },
		{ "{tls_config: {min_version: TLS13, max_version: TLS12}}",
		  "min_version is above max_version" },
		{ "{tls_config: {min_version: SSL3}}",
		  "TLS10, TLS11, TLS12 or TLS13" },
		{ "{proxy_url: 'p:1'}",
		  "the URL must begin with http:// or https://" },
		{ "{proxy_url: 'http://p', proxy_from_environment: true}",
		  "at most one of proxy_url and proxy_from_environment" },
		{ "{no_proxy: x}", "no_proxy requires proxy_url" },
		{ "{proxy_connect_header: {a: [b]}}",
		  "proxy_connect_header requires proxy_url" },
		{ "{http_headers: {X-A: {values: [a], secrets: [b], files: "
		  "[c]}}}",
		  "" },
		{ "{http_headers: {HOST: {values: [a]}}}",
		  "http_headers cannot set HOST: this header is reserved for everprof" },
		{ "{http_headers: {'a b': {values: [a]}}}",
		  "invalid header name \"a b\"" },
		{ "{http_headers: {a: {value: [a]}}}",
		  "field value not found in a header of http_headers: use values" },
		{ "{http_headers: {a: [b]}}",
		  "a header (values, secrets or files) must be a map" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(says(cases[i][0], cases[i][1]), "case %zu", i);
}

Test(options, secrets_are_not_shown)
{
	static const char text[] =
		"basic_auth: {username: u, password: hidden1}\n"
		"proxy_url: http://me:hidden2@proxy:1\n"
		"proxy_connect_header: {a: [hidden3]}\n"
		"tls_config: {cert: c, key: hidden4}\n"
		"http_headers: {x: {values: [shown], secrets: [hidden5]}}\n";
	struct buf out = { 0 };
	struct buf all = { 0 };
	struct holder h;
	struct yaml y;

	decode(&y, &h, text);
	cr_assert(!y.error_count, "%s", buf_cstr(&y.errors));
	yaml_dump(y.root, false, &out);
	yaml_dump(y.root, true, &all);
	cr_expect(!strstr(buf_cstr(&out), "hidden"), "%s", buf_cstr(&out));
	cr_expect(strstr(buf_cstr(&out), "password: <secret>") != NULL);
	cr_expect(strstr(buf_cstr(&out), "- shown") != NULL);
	cr_expect(strstr(buf_cstr(&all), "hidden5") != NULL);
	buf_fini(&out);
	buf_fini(&all);
	yaml_fini(&y);
}

Test(options, clients_are_equal_only_if_all_options_are)
{
	static const char *const texts[] = {
		"{basic_auth: {username: u, password: p}}",
		"{basic_auth: {username: u, password: q}}",
		"{tls_config: {ca_file: x}}",
		"{}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct http_config *c;
		struct holder h;
		struct yaml y;

		decode(&y, &h, texts[i]);
		c = http_config_new(&h.http);
		yaml_fini(&y);
		for (size_t k = 0; k < ARRAY_SIZE(texts); k++) {
			decode(&y, &h, texts[k]);
			cr_expect(http_config_is(c, &h.http) == (i == k));
			yaml_fini(&y);
		}
		http_config_unref(c);
	}
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	cr_assert(f);
	cr_assert(fputs(text, f) >= 0);
	cr_assert(!fclose(f));
}

Test(options, changed_files_are_reloaded)
{
	struct tempdir d = tempdir_make();
	struct http_config *c;
	struct holder h;
	struct yaml y;
	struct err err;
	char path[200];
	char text[400];

	snprintf(path, sizeof(path), "%s/token", d.path);
	snprintf(text, sizeof(text), "{authorization: {credentials_file: %s}}",
		 path);
	decode(&y, &h, text);
	cr_assert(!y.error_count);
	c = http_config_new(&h.http);
	yaml_fini(&y);
	cr_expect(http_config_load(c, &err) == ERR_NOTFOUND);
	cr_assert(strstr(err.msg, "authorization.credentials_file: "));
	cr_expect(strstr(err.msg, path));
	put(path, "  one\n\n");
	cr_assert(!http_config_load(c, &err), "%s", err.msg);
	cr_expect(check_str(str_of(c->credentials.text), "one"));
	put(path, "two, longer\n");
	cr_assert(!http_config_load(c, &err), "%s", err.msg);
	cr_expect(check_str(str_of(c->credentials.text), "two, longer"));
	put(path, "two\r\nHost: evil\n");
	cr_expect(http_config_load(c, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "expected a single line of text") != NULL);
	http_config_unref(c);
	tempdir_fini(&d);
}

/*
 * A CA file with a NUL byte is read completely. A password with a NUL byte is
 * refused, because a header cannot have one.
 */
Test(options, files_with_nul_bytes_are_read_completely)
{
	struct tempdir d = tempdir_make();
	struct http_config *c;
	struct holder h;
	struct yaml y;
	struct err err;
	char path[200];
	char text[500];
	FILE *f;

	snprintf(path, sizeof(path), "%s/f", d.path);
	f = fopen(path, "w");
	cr_assert(f);
	cr_assert(fwrite("a\0bcdefgh", 1, 9, f) == 9);
	cr_assert(!fclose(f));
	snprintf(text, sizeof(text), "{tls_config: {ca_file: %s}}", path);
	decode(&y, &h, text);
	c = http_config_new(&h.http);
	yaml_fini(&y);
	cr_assert(!http_config_load(c, &err));
	cr_expect(c->ca.len == 9);
	cr_expect(!memcmp(c->ca.text, "a\0bcdefgh", 10));
	/*
	 * An empty ca_file is refused, because it would mean to trust nobody,
	 * or everybody.
	 */
	put(path, "");
	cr_expect(http_config_load(c, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "tls_config.ca_file: ") != NULL);
	http_config_unref(c);
	snprintf(text, sizeof(text), "{basic_auth: {password_file: %s}}", path);
	f = fopen(path, "w");
	cr_assert(f);
	cr_assert(fwrite("a\0b\n", 1, 4, f) == 4);
	cr_assert(!fclose(f));
	decode(&y, &h, text);
	c = http_config_new(&h.http);
	yaml_fini(&y);
	cr_expect(http_config_load(c, &err) == ERR_INVALID);
	http_config_unref(c);
	tempdir_fini(&d);
}

static char *environment(const char *name)
{
	static char http[] = "http://proxy:1";
	static char https[] = "http://proxy:2";
	static char except[] = "direct.example";

	return !strcmp(name, "http_proxy")  ? http :
	       !strcmp(name, "HTTPS_PROXY") ? https :
	       !strcmp(name, "NO_PROXY")    ? except :
					      NULL;
}

static bool goes_by(const char *options, const char *url, const char *want)
{
	struct http_config *c;
	struct holder h;
	struct yaml y;
	const char *proxy;
	bool ok;

	decode(&y, &h, options);
	cr_assert(!y.error_count, "%s", buf_cstr(&y.errors));
	c = http_config_new(&h.http);
	yaml_fini(&y);
	proxy = http_config_proxy(c, url, environment);
	ok = check_str(str_of(proxy ? proxy : "direct"), want);
	http_config_unref(c);
	return ok;
}

Test(options, proxies_are_selected_as_in_prometheus)
{
	cr_expect(goes_by("{}", "http://a/", "direct"));
	cr_expect(goes_by("{proxy_url: 'http://p'}", "http://localhost/",
			  "http://p"));
	cr_expect(goes_by("{proxy_url: 'http://p', no_proxy: a}",
			  "http://localhost/", "direct"));
	cr_expect(goes_by("{proxy_url: 'http://p', no_proxy: a}", "http://a/",
			  "direct"));
	cr_expect(goes_by("{proxy_from_environment: true}", "http://a/",
			  "http://proxy:1"));
	cr_expect(goes_by("{proxy_from_environment: true}", "https://a/",
			  "http://proxy:2"));
	cr_expect(goes_by("{proxy_from_environment: true}",
			  "https://x.direct.example/", "direct"));
}
