/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NO_PROXY is judged as Go's golang.org/x/net/http/httpproxy judges it. The
 * simple cases are in test_options.c.
 */
#include "base/mem.h"
#include "client/address/no_proxy.h"
#include "tests/check.h"

TestSuite(no_proxy, .timeout = 20);

/* A list, a URL, and whether the URL bypasses the proxy by the list. */
struct no_proxy_case {
	const char *list;
	const char *url;
	bool direct;
};

static void expect_cases(const struct no_proxy_case *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cr_expect(no_proxy_matches(v[i].list, v[i].url) == v[i].direct,
			  "\"%s\" for %s", v[i].list, v[i].url);
}

/* The cases are those of Go's TestUseProxy, with the same list. */
Test(no_proxy, the_table_of_go_comes_out_as_in_go)
{
	static const char list[] =
		"foobar.com, .barbaz.net, *.quux.dev, 192.168.1.1, "
		"192.168.1.2:81, 192.168.1.3:80, 10.0.0.0/30, 2001:db8::52:0:1, "
		"[2001:db8::52:0:2]:443, [2001:db8::52:0:3]:80, 2002:db8:a::45/64";
	static const struct {
		const char *host;
		bool proxied;
	} cases[] = {
		{ "localhost", false },
		{ "127.0.0.1", false },
		{ "127.0.0.2", false },
		{ "[::1]", false },
		{ "[::2]", true },
		{ "192.168.1.1", false },
		{ "192.168.1.2", true },
		{ "192.168.1.3", false },
		{ "192.168.1.4", true },
		{ "10.0.0.2", false },
		{ "[2001:db8::52:0:1]", false },
		{ "[2001:db8::52:0:2]", true },
		{ "[2001:db8::52:0:3]", false },
		{ "[2002:db8:a::123]", false },
		{ "[fe80::424b:c8be:1643:a1b6]", true },
		{ "barbaz.net", true },
		{ "www.barbaz.net", false },
		{ "foobar.com", false },
		{ "www.foobar.com", false },
		{ "foofoobar.com", true },
		{ "baz.com", true },
		{ "localhost.net", true },
		{ "local.localhost", true },
		{ "barbarbaz.net", true },
		{ "quux.dev", true },
		{ "a.quux.dev", false },
		{ "a.b.quux.dev", false },
		{ "wildcard.io", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char url[100];

		snprintf(url, sizeof(url), "http://%s", cases[i].host);
		cr_expect(no_proxy_matches(list, url) == !cases[i].proxied,
			  "%s", url);
	}
}

Test(no_proxy, names_match_whole_labels)
{
	static const struct no_proxy_case cases[] = {
		{ "example", "http://a.example/", true },
		{ "a.example", "http://x.y.a.example/", true },
		{ "a.example", "http://a.example.evil/", false },
		{ "a.example", "http://a.exampl/", false },
		{ "a.example", "http://evil/a.example", false },
		{ "a.example", "http://evil?a.example", false },
		{ "a.example", "http://evil#a.example", false },
		{ "a.example", "http://a.example@evil/", false },
		{ "a.example", "http://evil@a.example/", true },
		{ "a.example", "http://u:p@w@a.example/", true },
		{ "a.example", "http://a.example?x", true },
		{ "a.example", "http://a.example#x", true },
		{ "a.example.", "http://a.example/", false },
		{ "*example", "http://a.example/", false },
		{ "a.*", "http://a.example/", false },
		{ "localhost.a", "http://localhost.a/", true },
	};

	expect_cases(cases, ARRAY_SIZE(cases));
}

Test(no_proxy, a_star_alone_is_everything_wherever_it_stands)
{
	static const struct no_proxy_case cases[] = {
		{ "x,*", "http://a.example/", true },
		{ "x, * ,y", "https://[2001:db8::1]/", true },
		{ "*:80", "http://a.example/", false },
		{ "**", "http://a.example/", false },
		{ "x,,  ,y", "http://a.example/", false },
	};

	expect_cases(cases, ARRAY_SIZE(cases));
}

Test(no_proxy, ports_are_those_of_the_url_or_of_its_scheme)
{
	static const struct no_proxy_case cases[] = {
		{ "*.a.example:81", "http://b.a.example:81/", true },
		{ "*.a.example:81", "http://b.a.example/", false },
		{ ".a.example:443", "https://b.a.example/", true },
		{ "a.example:", "http://a.example:99/", true },
		{ ":80", "http://a.example/", false },
		{ "a.example:8", "http://a.example:80/", false },
		{ "a.example:080", "http://a.example/", false },
		{ "10.0.0.1:443", "https://10.0.0.1/", true },
		{ "10.0.0.1:80", "https://10.0.0.1/", false },
		{ "[fd12::1]:80", "http://[fd12::1]/", true },
		{ "[fd12::1]", "http://[fd12::1]:8080/", true },
		{ "a.example:80", "http://a.example:/", true },
	};

	expect_cases(cases, ARRAY_SIZE(cases));
}

Test(no_proxy, networks_end_at_any_bit)
{
	static const struct no_proxy_case cases[] = {
		{ "10.0.0.0/32", "http://10.0.0.0/", true },
		{ "10.0.0.0/32", "http://10.0.0.1/", false },
		{ "10.0.0.0/31", "http://10.0.0.1/", true },
		{ "10.0.0.0/31", "http://10.0.0.2/", false },
		{ "10.0.0.255/24", "http://10.0.0.1/", true },
		{ "128.0.0.0/1", "http://128.0.0.1/", true },
		{ "128.0.0.0/1", "http://126.0.0.1/", false },
		{ "10.0.0.0/-1", "http://10.0.0.0/", false },
		{ "10.0.0.0/", "http://10.0.0.0/", false },
		{ "10.0.0.0/8x", "http://10.0.0.0/", false },
		{ "10.0.0/8", "http://10.0.0.0/", false },
		{ "/8", "http://10.0.0.0/", false },
		{ "a.example/8", "http://a.example/", false },
		{ "10.0.0.0/8/8", "http://10.0.0.0/", false },
		{ "::/0", "http://[2001:db8::1]/", true },
		{ "::/0", "http://10.0.0.1/", false },
		{ "0.0.0.0/0", "http://[2001:db8::1]/", false },
		{ "2001:db8::/127", "http://[2001:db8::1]/", true },
		{ "2001:db8::/127", "http://[2001:db8::2]/", false },
		{ "2001:db8::/128", "http://[2001:db8::]/", true },
		{ "2001:db8::/129", "http://[2001:db8::]/", false },
		/*
		 * Networks and addresses match no names, even if a name looks
		 * like an address.
		 */
		{ "10.0.0.0/8", "http://10.0.0.1.example/", false },
		{ "10.0.0.1", "http://x.10.0.0.1/", false },
	};

	expect_cases(cases, ARRAY_SIZE(cases));
}

Test(no_proxy, the_local_machine_is_never_asked_through_a_proxy)
{
	static const struct no_proxy_case cases[] = {
		{ "", "http://localhost", true },
		{ "", "https://localhost:8443/x", true },
		{ "", "http://u:p@localhost/", true },
		{ "", "http://127.0.0.1", true },
		{ "", "http://127.255.255.255/", true },
		{ "", "http://126.255.255.255/", false },
		{ "", "http://128.0.0.1/", false },
		{ "", "http://[::1]", true },
		{ "", "http://[0:0:0:0:0:0:0:1]/", true },
		{ "", "http://[::]/", false },
		{ "", "http://localhost.example/", false },
		{ "", "http://127.0.0.1.example/", false },
	};

	expect_cases(cases, ARRAY_SIZE(cases));
}

Test(no_proxy, what_is_malformed_matches_nothing)
{
	static const struct no_proxy_case cases[] = {
		{ "a.example", "", false },
		{ "a.example", "http://", false },
		{ "a.example", "http:///x", false },
		{ "a.example", "http://[a.example", false },
		{ "[a.example", "http://a.example/", false },
		{ "[]", "http://a.example/", false },
		{ "[]:80", "http://a.example/", false },
		{ "a:b:c", "http://a.example/", false },
		{ "\xff\xfe", "http://a.example/", false },
	};

	expect_cases(cases, ARRAY_SIZE(cases));
}

/* Names of more than 255 bytes, which DNS does not have, match nothing. */
Test(no_proxy, longer_names_than_dns_has_are_no_names)
{
	for (int length = 254; length <= 257; length++) {
		char *name = mem_zalloc((size_t)length + 1, 1);
		char *url;

		memset(name, 'a', (size_t)length);
		url = mem_printf("http://%s/", name);
		cr_expect(no_proxy_matches(name, url) == (length < 256),
			  "%d bytes", length);
		mem_free(url);
		mem_free(name);
	}
}
