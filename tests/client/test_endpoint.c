/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of URLs, same origins, proxies, and URLs without their password. */
#include "base/mem.h"
#include "client/address/endpoint.h"
#include "tests/check.h"

TestSuite(endpoint, .timeout = 20);

/* Compares a text with `want` (NULL: no text), and frees it. */
static bool is_text(char *got, const char *want)
{
	bool ok = got && want ? check_str(str_of(got), want) : !got && !want;

	if (!ok)
		fprintf(stderr, "got \"%s\", want \"%s\"\n", got ? got : "none",
			want ? want : "none");
	mem_free(got);
	return ok;
}

Test(endpoint, a_url_has_a_scheme_a_host_and_a_port)
{
	static const struct {
		const char *url;
		const char *scheme;
		const char *host;
		const char *port;
	} cases[] = {
		{ "http://a.example/x", "http", "a.example", "80" },
		{ "https://a.example", "https", "a.example", "443" },
		{ "http://a.example:8080/x?y=:1", "http", "a.example", "8080" },
		{ "http://u:p@a.example:1/", "http", "a.example", "1" },
		{ "http://u%40b:p%3A9@h:2/", "http", "h", "2" },
		{ "http://[::1]:9/", "http", "[::1]", "9" },
		{ "http://[2001:db8::1]/", "http", "[2001:db8::1]", "80" },
		{ "http://127.0.0.1", "http", "127.0.0.1", "80" },
		{ "http://h:65535/", "http", "h", "65535" },
		{ "socks5h://h:1080", "socks5h", "h", "1080" },
		{ "http://h:65536/", NULL, NULL, NULL },
		{ "http://h:x/", NULL, NULL, NULL },
		{ "http://a b/", NULL, NULL, NULL },
		{ "http://[::1/", NULL, NULL, NULL },
		{ "http://", NULL, NULL, NULL },
		{ "no url", NULL, NULL, NULL },
		{ "", NULL, NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *url = cases[i].url;

		cr_expect(is_text(endpoint_part(url, URL_SCHEME),
				  cases[i].scheme),
			  "scheme of \"%s\"", url);
		cr_expect(is_text(endpoint_part(url, URL_HOST), cases[i].host),
			  "host of \"%s\"", url);
		cr_expect(is_text(endpoint_part(url, URL_PORT), cases[i].port),
			  "port of \"%s\"", url);
	}
}

/* URLs of one origin may get the same credentials. */
Test(endpoint, an_origin_is_scheme_host_and_port)
{
	static const struct {
		const char *a;
		const char *b;
		bool same;
	} cases[] = {
		{ "http://h/", "http://h/other?q", true },
		{ "http://h/", "http://h:80/", true },
		{ "https://h/", "https://h:443/", true },
		{ "http://H.Example/", "HTTP://h.eXAMPLE/", true },
		{ "http://u:p@h/", "http://v:q@h/", true },
		{ "http://h/", "https://h/", false },
		{ "http://h:443/", "https://h/", false },
		{ "http://h/", "http://h:81/", false },
		{ "http://h/", "http://g/", false },
		{ "http://h.example/", "http://h.example.evil/", false },
		{ "http://h@evil/", "http://h/", false },
		{ "http://h/", "http://h./", false },
		{ "http://[::1]/", "http://[::2]/", false },
		{ "http://h:x/", "http://h:x/", false },
		{ "", "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cr_expect(endpoint_same_origin(cases[i].a, cases[i].b) ==
				  cases[i].same,
			  "\"%s\" and \"%s\"", cases[i].a, cases[i].b);
		cr_expect(endpoint_same_origin(cases[i].b, cases[i].a) ==
				  cases[i].same,
			  "\"%s\" and \"%s\"", cases[i].b, cases[i].a);
	}
}

Test(endpoint, parts_are_compared_one_by_one)
{
	const char *a = "http://h:8080/";
	const char *b = "https://H:8080/x";

	cr_expect(!endpoint_same_part(a, b, URL_SCHEME));
	cr_expect(endpoint_same_part(a, b, URL_HOST));
	cr_expect(endpoint_same_part(a, b, URL_PORT));
	/* A part that both URLs lack does not count as equal. */
	cr_expect(!endpoint_same_part("http://h:x", "http://h:x", URL_PORT));
	cr_expect(!endpoint_same_part(a, "http://h:x", URL_HOST));
}

Test(endpoint, a_host_is_replaced_and_nothing_else)
{
	static const struct {
		const char *url;
		const char *host;
		const char *want;
	} cases[] = {
		{ "http://a:1/x?y#z", "b", "http://b:1/x?y#z" },
		{ "https://a/", "192.0.2.1", "https://192.0.2.1/" },
		{ "https://a/", "[2001:db8::1]", "https://[2001:db8::1]/" },
		{ "https://u:p@a/", "b", "https://u:p@b/" },
		{ "http://a b/", "c", NULL },
		{ "", "c", NULL },
		{ "http://a/", "b c", NULL },
		{ "http://a/", "b/c", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(
			is_text(endpoint_with_host(cases[i].url, cases[i].host),
				cases[i].want),
			"\"%s\" in \"%s\"", cases[i].host, cases[i].url);
}

Test(endpoint, user_and_password_are_taken_out_of_a_url)
{
	static const struct {
		const char *url;
		const char *want; /* NULL: nothing is taken out */
		const char *user;
		const char *password;
	} cases[] = {
		{ "http://u:p@h:1/x?y", "http://h:1/x?y", "u", "p" },
		{ "http://u:p%40q%2f@h/", "http://h/", "u", "p@q/" },
		{ "http://a%3Ab:c@h/", "http://h/", "a:b", "c" },
		{ "http://u:@h/", "http://h/", "u", "" },
		{ "http://u@h/", "http://h/", "u", NULL },
		{ "http://u:a%0Ab@h/", "http://h/", "u", "a\nb" },
		{ "http://u:p:q@h/", "http://h/", "u", "p:q" },
		{ "http://u:%ff@h/", "http://h/", "u", "\xff" },
		{ "http://h/", NULL, NULL, NULL },
		{ "http://h/@x", NULL, NULL, NULL },
		{ "http://h/?mail=a@b", NULL, NULL, NULL },
		{ "http://u:p@h:x/", NULL, NULL, NULL },
		{ "", NULL, NULL, NULL },
		/*
		 * As a C string, the password would end at the zero byte, and a
		 * shorter password would be sent.
		 */
		{ "http://u:p%00q@h/", NULL, NULL, NULL },
		{ "http://u%00v:p@h/", NULL, NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *user;
		char *password;
		char *url = endpoint_split_user(cases[i].url, &user, &password);

		cr_expect(is_text(url, cases[i].want), "\"%s\"", cases[i].url);
		cr_expect(is_text(user, cases[i].user), "user of \"%s\"",
			  cases[i].url);
		cr_expect(is_text(password, cases[i].password),
			  "password of \"%s\"", cases[i].url);
	}
}

Test(endpoint, a_shown_url_has_no_secret)
{
	static const char *const cases[][2] = {
		{ "http://u:hidden@h/x?hidden=1#hidden", "http://h/x?…" },
		{ "http://h/x?hidden", "http://h/x?…" },
		{ "http://h?hidden", "http://h/?…" },
		{ "http://h/x#hidden", "http://h/x" },
		{ "https://[::1]:1/%3Fx?a=hidden&b=hidden",
		  "https://[::1]:1/%3Fx?…" },
		{ "http://u@h/", "http://h/" },
		{ "http://h:1/x", "http://h:1/x" },
		{ "http://h", "http://h/" },
		/*
		 * These URLs cannot be parsed, so it is not known where a
		 * password is.
		 */
		{ "http://u:hid/den@h/", "a URL" },
		{ "http://u:hidden@h:x/", "a URL" },
		{ "u:hidden@", "a URL" },
		{ "http://h:x/?hidden", "a URL" },
		{ "no url", "no url" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(is_text(endpoint_url_shown(cases[i][0]), cases[i][1]),
			  "\"%s\"", cases[i][0]);
}

Test(endpoint, a_url_without_its_user_keeps_its_query)
{
	static const char *const cases[][2] = {
		{ "http://u:hidden@h/x?y=1", "http://h/x?y=1" },
		{ "http://h/x?y=1", "http://h/x?y=1" },
		{ "http://u:hid/den@h/", "a URL" },
		{ "no url?x", "no url?x" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(is_text(endpoint_without_user(cases[i][0]),
				  cases[i][1]),
			  "\"%s\"", cases[i][0]);
}

Test(endpoint, the_url_of_a_proxy_is_completed_as_by_go)
{
	static const char *const cases[][2] = {
		{ "http://p:3128", "http://p:3128/" },
		{ "http://p", "http://p:80/" },
		{ "https://p", "https://p:443/" },
		{ "p", "http://p:80/" },
		{ "p:3128", "http://p:3128/" },
		{ "192.0.2.1:1", "http://192.0.2.1:1/" },
		{ "http://[2001:db8::1]", "http://[2001:db8::1]:80/" },
		/* With the scheme socks5h, the proxy looks up the names. */
		{ "socks5://p", "socks5h://p:1080/" },
		{ "socks5h://p", "socks5h://p:1080/" },
		{ "socks5://p:9", "socks5h://p:9/" },
		{ "http://u:p%2F@p:1", "http://u:p%2F@p:1/" },
		{ "u:s@p:1", "http://u:s@p:1/" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = { 0 };
		char *out;

		cr_expect(!endpoint_proxy(cases[i][0], &out, &err),
			  "\"%s\": %s", cases[i][0], err.msg);
		cr_expect(is_text(out, cases[i][1]), "\"%s\"", cases[i][0]);
	}
}

Test(endpoint, what_is_no_proxy_is_refused_without_its_password)
{
	static const char *const cases[] = {
		"",
		"http://",
		"ftp://hidden:hidden@p",
		"socks4://p",
		"file:///hidden",
		"http://p:x",
		"http://p:70000",
		"http://u:hid/den@p:1",
		"http://u:hid#den@p:1",
		"http://u:hid?den@p:1",
		"u:hid/den@p",
		"http://u:hid den@p",
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char none;
		struct err err = { 0 };
		char *out = &none;

		cr_expect(endpoint_proxy(cases[i], &out, &err) == ERR_INVALID,
			  "\"%s\"", cases[i]);
		cr_expect(!out, "\"%s\" gives %s", cases[i], out);
		cr_assert(!strstr(err.msg, "hid"), "%s", err.msg);
		cr_expect(!strstr(err.msg, "den"), "%s", err.msg);
	}
}
