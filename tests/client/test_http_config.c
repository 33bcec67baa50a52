/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client configurations in use: what is copied of the options, files that are
 * read when needed, and the choice of a proxy.
 */
#include <stddef.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "client/transfer/http_config.h"
#include "tests/check.h"
#include "tests/tempdir.h"

TestSuite(http_config, .timeout = 20);

static struct http_text text_of(const char *text)
{
	return (struct http_text){ .text = str_of(text) };
}

static struct http_text file_of(const char *path)
{
	return (struct http_text){ .file = str_of(path) };
}

static struct http_options default_options(void)
{
	struct http_options o;

	http_options_init(&o);
	return o;
}

/* Writes a file of a test. */
static void write_bytes(const char *path, const void *data, size_t len)
{
	FILE *f = fopen(path, "w");

	cr_assert(f);
	cr_assert(fwrite(data, 1, len, f) == len);
	cr_assert(!fclose(f));
}

static void write_text(const char *path, const char *text)
{
	write_bytes(path, text, strlen(text));
}

Test(http_config, everything_is_copied_from_the_options)
{
	struct http_options o = default_options();
	struct http_header h[] = { { str_of("A"), text_of("x") },
				   { str_of("A"), text_of("y") } };
	char name[] = "n.example";
	char key[] = "the key";
	struct http_config *c;

	o.auth = HTTP_AUTH_BASIC;
	o.username = text_of("u");
	o.password = text_of("p");
	o.tls.ca = text_of("ca");
	o.tls.cert = text_of("cert");
	o.tls.key = text_of("pk");
	o.tls.server_name = str_of(name);
	o.tls.insecure_skip_verify = true;
	o.tls.min_version = HTTP_TLS_12;
	o.tls.max_version = HTTP_TLS_13;
	o.proxy_url = str_of("http://p");
	o.no_proxy = str_of("a,b");
	o.headers = (struct http_header_list){ h, 2 };
	o.proxy_headers = (struct http_header_list){ h, 1 };
	o.follow_redirects = false;
	o.key = str_of(key);
	c = http_config_new(&o);
	/*
	 * The options and their texts may be gone now, because
	 * http_config_new() has copied them.
	 */
	memset(name, 'z', sizeof(name) - 1);
	memset(key, 'z', sizeof(key) - 1);
	cr_expect(!http_config_load(c, NULL));
	cr_expect(check_str(str_of(c->key), "the key"));
	cr_expect(check_str(str_of(c->server_name), "n.example"));
	cr_assert(c->auth == HTTP_AUTH_BASIC);
	cr_expect(!c->oauth2);
	cr_expect(check_str(str_of(c->username.text), "u"));
	cr_expect(check_str(str_of(c->password.text), "p"));
	cr_assert(!c->credentials.text);
	cr_expect(!c->credentials.file);
	cr_expect(check_str(str_of(c->auth_type), "Bearer"));
	cr_assert(check_str(str_of(c->ca.text), "ca"));
	cr_expect(c->ca.len == 2);
	cr_expect(check_str(str_of(c->cert.text), "cert"));
	cr_expect(check_str(str_of(c->cert_key.text), "pk"));
	cr_assert(c->insecure_skip_verify);
	cr_assert(c->min_version == HTTP_TLS_12);
	cr_expect(c->max_version == HTTP_TLS_13);
	cr_expect(check_str(str_of(c->proxy_url), "http://p"));
	cr_expect(check_str(str_of(c->no_proxy), "a,b"));
	cr_assert(!c->follow_redirects);
	cr_expect(c->enable_http2);
	cr_assert(c->headers.count == 2);
	cr_assert(c->proxy_headers.count == 1);
	cr_expect(check_str(str_of(c->headers.v[1].name), "A"));
	cr_expect(check_str(str_of(c->headers.v[1].value.text), "y"));
	http_config_unref(c);
	http_config_unref(NULL);
}

Test(http_config, what_is_not_configured_is_null)
{
	struct http_options o = default_options();
	struct http_config *c = http_config_new(&o);

	cr_expect(!http_config_load(c, NULL));
	cr_assert(!c->username.text);
	cr_assert(!c->password.text);
	cr_assert(!c->ca.text);
	cr_assert(!c->cert.text);
	cr_expect(!c->cert_key.text);
	cr_assert(!c->server_name);
	cr_assert(!c->proxy_url);
	cr_expect(!c->no_proxy);
	cr_assert(!c->headers.count);
	cr_expect(!c->proxy_headers.count);
	cr_expect(http_config_is(c, &o));
	o.key = str_of("x");
	cr_expect(!http_config_is(c, &o));
	http_config_unref(c);
}

Test(http_config, the_last_reference_frees_it)
{
	struct http_options o = default_options();
	struct http_config *c = http_config_new(&o);

	cr_assert(http_config_ref(c) == c);
	cr_expect(atomic_load(&c->refs) == 2);
	http_config_unref(c);
	cr_expect(atomic_load(&c->refs) == 1);
	http_config_unref(c);
}

/* The options that name a file, and the name that errors give them. */
static const struct {
	size_t offset; /* of the option, a struct http_text */
	const char *name;
} file_options[] = {
	{ offsetof(struct http_options, username), "username_file" },
	{ offsetof(struct http_options, password), "password_file" },
	{ offsetof(struct http_options, credentials), "credentials_file" },
	{ offsetof(struct http_options, tls.ca), "ca_file" },
	{ offsetof(struct http_options, tls.cert), "cert_file" },
	{ offsetof(struct http_options, tls.key), "key_file" },
};

static struct http_config *config_with_file(size_t option, const char *path)
{
	struct http_options o = default_options();
	struct http_text t = file_of(path);

	memcpy((char *)&o + file_options[option].offset, &t, sizeof(t));
	return http_config_new(&o);
}

Test(http_config, a_file_that_is_not_there_is_named_with_its_option)
{
	struct tempdir d = tempdir_make();
	char path[200];

	snprintf(path, sizeof(path), "%s/none", d.path);
	for (size_t i = 0; i < ARRAY_SIZE(file_options); i++) {
		struct http_config *c = config_with_file(i, path);
		struct err err = { 0 };

		cr_expect(http_config_load(c, &err) == ERR_NOTFOUND);
		cr_assert(strstr(err.msg, file_options[i].name), "%s: %s",
			  file_options[i].name, err.msg);
		cr_expect(strstr(err.msg, path), "%s: %s", file_options[i].name,
			  err.msg);
		http_config_unref(c);
	}
	tempdir_fini(&d);
}

Test(http_config, a_folder_is_no_file)
{
	struct tempdir d = tempdir_make();
	struct http_config *c = config_with_file(1, d.path);
	struct err err = { 0 };

	cr_expect(http_config_load(c, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, d.path) != NULL, "%s", err.msg);
	http_config_unref(c);
	tempdir_fini(&d);
}

Test(http_config, a_file_of_a_mebibyte_is_read_and_a_larger_one_is_not)
{
	struct tempdir d = tempdir_make();
	char *bytes = mem_alloc(MIB + 2);
	char path[200];

	snprintf(path, sizeof(path), "%s/f", d.path);
	memset(bytes, 'a', MIB + 2);
	for (size_t i = 0; i < ARRAY_SIZE(file_options); i++) {
		struct http_config *c = config_with_file(i, path);
		struct err err = { 0 };

		write_bytes(path, bytes, MIB);
		cr_expect(!http_config_load(c, &err), "%s", err.msg);
		write_bytes(path, bytes, MIB + 2);
		cr_expect(http_config_load(c, &err) == ERR_TOOBIG, "%s",
			  file_options[i].name);
		cr_assert(strstr(err.msg, "larger"), "%s", err.msg);
		cr_assert(strstr(err.msg, path), "%s", err.msg);
		cr_expect(strstr(err.msg, file_options[i].name), "%s", err.msg);
		http_config_unref(c);
	}
	mem_free(bytes);
	tempdir_fini(&d);
}

/*
 * While a file of credentials is being replaced, the credentials that were read
 * before stay in use.
 */
Test(http_config, what_was_read_stays_until_the_file_can_be_read_again)
{
	struct tempdir d = tempdir_make();
	struct http_config *c;
	struct err err = { 0 };
	char path[200];

	snprintf(path, sizeof(path), "%s/f", d.path);
	c = config_with_file(2, path);
	write_text(path, "first\n");
	cr_expect(!http_config_load(c, &err), "%s", err.msg);
	cr_expect(!http_config_load(c, &err), "loading twice is harmless");
	cr_expect(check_str(str_of(c->credentials.text), "first"));
	cr_assert(!unlink(path));
	cr_expect(http_config_load(c, &err) == ERR_NOTFOUND);
	cr_expect(check_str(str_of(c->credentials.text), "first"));
	write_text(path, "the second\n");
	cr_expect(!http_config_load(c, &err), "%s", err.msg);
	cr_expect(check_str(str_of(c->credentials.text), "the second"));
	cr_expect(c->credentials.len == strlen("the second"));
	http_config_unref(c);
	tempdir_fini(&d);
}

/* A text, and the line that it becomes in a header; NULL: it is refused. */
struct line_case {
	const char *text;
	size_t len;
	const char *line;
};

#define LINE(text, line)                     \
	{                                    \
		text, sizeof(text) - 1, line \
	}

static const struct line_case line_cases[] = {
	LINE("plain", "plain"),
	LINE("", ""),
	LINE("  ", ""),
	LINE("\n", ""),
	LINE(" a b\t\r\n", "a b"),
	LINE("\n\n a\n\n", "a"),
	LINE("a\tb", "a\tb"),
	LINE("\xc3\xa4\xff", "\xc3\xa4\xff"),
	LINE("a\nb", NULL),
	LINE("a\rb", NULL),
	LINE("a\r\nHost: evil", NULL),
	LINE("a\0b", NULL),
	LINE("a\x7f", NULL),
	LINE("a\x1b[0m", NULL),
};

Test(http_config, a_value_of_a_header_is_one_line)
{
	struct tempdir d = tempdir_make();
	char path[200];

	snprintf(path, sizeof(path), "%s/f", d.path);
	for (size_t i = 0; i < ARRAY_SIZE(line_cases); i++) {
		const struct line_case *k = &line_cases[i];
		struct http_text direct = { .text = { k->text, k->len } };
		struct http_text file = file_of(path);
		struct http_loaded l[2];

		write_bytes(path, k->text, k->len);
		http_loaded_init(&l[0], &direct);
		http_loaded_init(&l[1], &file);
		for (size_t n = 0; n < 2; n++) {
			struct err err = { 0 };
			int rc = http_loaded_line(&l[n], "option",
						  "option_file", &err);

			cr_expect(rc == (k->line ? 0 : ERR_INVALID),
				  "case %zu, %zu: %s", i, n, err.msg);
			if (!rc) {
				cr_assert(check_str((struct str){ l[n].text,
								  l[n].len },
						    k->line),
					  "case %zu, %zu", i, n);
				cr_expect(!l[n].text[l[n].len], "case %zu, %zu",
					  i, n);
			} else {
				cr_assert(strstr(err.msg, "option"), "%s",
					  err.msg);
				cr_expect(!strstr(err.msg, "evil"), "%s",
					  err.msg);
			}
			http_loaded_fini(&l[n]);
		}
	}
	tempdir_fini(&d);
}

Test(http_config, lines_of_headers_are_checked_too)
{
	struct http_header h = { str_of("X-A"), text_of("a\r\nHost: evil") };
	struct err err = { 0 };

	for (int proxy = 0; proxy < 2; proxy++) {
		struct http_options o = default_options();
		struct http_config *c;

		if (proxy)
			o.proxy_headers = (struct http_header_list){ &h, 1 };
		else
			o.headers = (struct http_header_list){ &h, 1 };
		c = http_config_new(&o);
		cr_expect(http_config_load(c, &err) == ERR_INVALID);
		cr_expect(strstr(err.msg, "X-A") != NULL, "%s", err.msg);
		http_config_unref(c);
	}
}

/* Shows that certificates are used as they are, and not cut to one line. */
Test(http_config, certificates_keep_their_lines_and_blanks)
{
	static const char pem[] = "\n-----BEGIN-----\r\nx\n-----END-----\n\n";
	struct tempdir d = tempdir_make();
	char path[200];

	snprintf(path, sizeof(path), "%s/f", d.path);
	write_text(path, pem);
	for (size_t i = 3; i < ARRAY_SIZE(file_options); i++) {
		struct http_config *c = config_with_file(i, path);
		const struct http_loaded *l = i == 3 ? &c->ca :
					      i == 4 ? &c->cert :
						       &c->cert_key;
		struct err err = { 0 };

		cr_expect(!http_config_load(c, &err), "%s", err.msg);
		cr_assert(l->len == sizeof(pem) - 1);
		cr_expect(!strcmp(l->text, pem));
		http_config_unref(c);
	}
	tempdir_fini(&d);
}

Test(http_config, an_empty_list_of_authorities_is_refused)
{
	struct http_options o = default_options();
	struct http_config *c;
	struct err err = { 0 };

	o.tls.ca = text_of("");
	c = http_config_new(&o);
	cr_expect(http_config_load(c, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "tls_config.ca ") != NULL, "%s", err.msg);
	http_config_unref(c);
}

/* Proxies. */

/* The environment of a case: NAME=VALUE, … */
static const char *const *variables;

static char *get_variable(const char *name)
{
	static char value[64];
	size_t n = strlen(name);

	for (const char *const *v = variables; *v; v++) {
		if (!strncmp(*v, name, n) && (*v)[n] == '=') {
			/*
			 * The caller uses two values at once: that of a
			 * variable with "no" in its name, and that of another
			 * variable.
			 */
			static char other[64];
			char *out = strstr(name, "NO") || strstr(name, "no") ?
					    other :
					    value;

			snprintf(out, sizeof(value), "%s", *v + n + 1);
			return out;
		}
	}
	return NULL;
}

Test(http_config, the_environment_names_a_proxy_by_scheme)
{
	static const struct {
		const char *variables[4];
		const char *url;
		const char *want; /* NULL: no proxy */
	} cases[] = {
		{ { "HTTP_PROXY=p1" }, "http://a/", "p1" },
		{ { "http_proxy=p2" }, "http://a/", "p2" },
		{ { "HTTP_PROXY=p1", "http_proxy=p2" }, "http://a/", "p1" },
		{ { "HTTP_PROXY=", "http_proxy=p2" }, "http://a/", "p2" },
		{ { "http_proxy=" }, "http://a/", NULL },
		{ { NULL }, "http://a/", NULL },
		{ { "HTTP_PROXY=p1" }, "https://a/", NULL },
		{ { "HTTPS_PROXY=p3" }, "http://a/", NULL },
		{ { "HTTPS_PROXY=p3" }, "https://a/", "p3" },
		{ { "https_proxy=p4" }, "https://a/", "p4" },
		{ { "HTTPS_PROXY=p3", "https_proxy=p4" }, "https://a/", "p3" },
		{ { "ALL_PROXY=p5" }, "http://a/", NULL },
		{ { "HTTP_PROXY=p1", "NO_PROXY=a" }, "http://a/", NULL },
		{ { "HTTP_PROXY=p1", "no_proxy=a" }, "http://a/", NULL },
		{ { "HTTP_PROXY=p1", "NO_PROXY=b" }, "http://a/", "p1" },
		{ { "HTTP_PROXY=p1", "NO_PROXY=", "no_proxy=a" },
		  "http://a/",
		  NULL },
		{ { "HTTP_PROXY=p1", "NO_PROXY=*" }, "http://a/", NULL },
		/* The local machine is exempt even without a list. */
		{ { "HTTP_PROXY=p1" }, "http://localhost/", NULL },
		{ { "HTTP_PROXY=p1" }, "http://127.0.0.1/", NULL },
	};
	struct http_options o = default_options();
	struct http_config *c;

	o.proxy_from_environment = true;
	c = http_config_new(&o);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *got;

		variables = cases[i].variables;
		got = http_config_proxy(c, cases[i].url, get_variable);
		cr_expect(check_str(str_of(got ? got : "none"),
				    cases[i].want ? cases[i].want : "none"),
			  "case %zu", i);
	}
	http_config_unref(c);
}

Test(http_config, a_configured_proxy_does_not_ask_the_environment)
{
	static const char *const set[] = { "HTTP_PROXY=p1", "NO_PROXY=a",
					   NULL };
	struct http_options o = default_options();
	struct http_config *c = http_config_new(&o);

	variables = set;
	cr_expect(!http_config_proxy(c, "http://b/", get_variable));
	http_config_unref(c);
	o.proxy_url = str_of("http://p");
	c = http_config_new(&o);
	cr_expect(check_str(
		str_of(http_config_proxy(c, "http://a/", get_variable)),
		"http://p"));
	cr_expect(check_str(
		str_of(http_config_proxy(c, "https://a/", get_variable)),
		"http://p"));
	http_config_unref(c);
}
