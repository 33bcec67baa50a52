/* SPDX-License-Identifier: Apache-2.0 */
/* The names that a configured name stands for. */
#include "base/buf.h"
#include "base/mem.h"
#include "discovery/dns/dns_search.h"
#include "tests/check.h"

TestSuite(dns_search, .timeout = 20);

/* The attempts for a name, each followed by a space. */
static bool tries(const char *conf, const char *name, const char *want)
{
	struct buf text = { 0 };
	struct dns_search s;
	char *one;
	bool ok;

	dns_search_parse(str_of(conf), &s);
	for (size_t i = 0; (one = dns_search_name(&s, str_of(name), i)); i++) {
		buf_printf(&text, "%s ", one);
		mem_free(one);
	}
	ok = check_str(str_from(buf_bytes(&text)), want);
	buf_fini(&text);
	dns_search_fini(&s);
	return ok;
}

Test(dns_search, attempts_follow_ndots_and_the_search_list)
{
	static const struct {
		const char *conf;
		const char *name;
		const char *want;
	} cases[] = {
		{ "", "web", "web. " },
		{ "", "web.", "web. " },
		{ "nameserver 127.0.0.1\nsearch a b.c\n", "web",
		  "web.a. web.b.c. web. " },
		{ "search a b.c", "x.web", "x.web. x.web.a. x.web.b.c. " },
		{ "search a b.c", "x.web.", "x.web. " },
		{ "search a\noptions ndots:2\n", "x.y", "x.y.a. x.y. " },
		{ "search a\noptions timeout:1 ndots:2 rotate\n", "x.y.z",
		  "x.y.z. x.y.z.a. " },
		{ "search a\noptions ndots:0\n", "x", "x. x.a. " },
		{ "search a\noptions ndots:99\n",
		  "1.2.3.4.5.6.7.8.9.a.b.c.d.e.f.g",
		  "1.2.3.4.5.6.7.8.9.a.b.c.d.e.f.g. "
		  "1.2.3.4.5.6.7.8.9.a.b.c.d.e.f.g.a. " },
		{ "search a\noptions ndots:x\n", "x", "x. x.a. " },
		{ "domain d e\n", "x", "x.d. x. " },
		{ "search a b\ndomain d\n", "x", "x.d. x. " },
		{ "domain d\nsearch a b\n", "x", "x.a. x.b. x. " },
		{ "search a\nsearch\n", "x", "x. " },
		{ "\tsearch\ta\r\n", "x", "x.a. x. " },
		{ "# search a\n; search b\nsearching c\n", "x", "x. " },
		{ "search a.\n", "x", "x.a. x. " },
		{ "search .\n", "x", "x.. x. " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(tries(cases[i].conf, cases[i].name, cases[i].want),
			  "%s: %s", cases[i].conf, cases[i].name);
}

Test(dns_search, search_list_has_a_limit)
{
	struct dns_search s;
	struct buf text = { 0 };

	buf_str(&text, "search");
	for (int i = 0; i < 1000; i++)
		buf_printf(&text, " d%d", i);
	dns_search_parse(str_from(buf_bytes(&text)), &s);
	cr_expect(s.domains.count == 64, "%zu", s.domains.count);
	dns_search_fini(&s);
	buf_fini(&text);
}
