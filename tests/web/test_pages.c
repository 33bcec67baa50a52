/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain page of profiles: its form, its links, and text of users that stays
 * text.
 */
#include "tests/web/site.h"
#include "web/pages/page.h"

TestSuite(pages, .timeout = 60);

#define RANGE "&from=1700000000000&to=1700000060000"

/* How often a text is in the body. */
static size_t count_in(struct call *c, const char *text)
{
	size_t n = 0;

	for (const char *p = buf_cstr(&c->a.body); (p = strstr(p, text)); p++)
		n++;
	return n;
}

/* Whether the body has the first text before the second. */
static bool has_in_order(struct call *c, const char *first, const char *second)
{
	const char *p = strstr(buf_cstr(&c->a.body), first);

	return p && strstr(p, second);
}

#define LINK_P1 \
	"/api/v1/query?query=cpu%7Bjob%3D%22app%22%2Cpod%3D%22p1%22%7D&amp;"

Test(pages, the_start_page_lists_series_with_their_newest_profiles_first)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, page_index, "query=cpu" RANGE);
	cr_expect(c.a.status == 200);
	cr_expect(!strcmp(c.a.content_type, "text/html; charset=utf-8"));
	cr_expect(count_in(&c, "<section><code>") == 2);
	cr_expect(call_has(&c, "<code>cpu{job=&quot;app&quot;,pod=&quot;p1"
			       "&quot;}</code>") ||
			  call_has(&c, "<code>cpu{job=&#34;app&#34;,pod=&#34;"
				       "p1&#34;}</code>"),
		  "%s", buf_cstr(&c.a.body));
	cr_expect(call_has(&c, ">3 profiles</span>"));
	cr_expect(call_has(&c, LINK_P1 "from=1700000000000&amp;"
				       "to=1700000060000&amp;report=flamegraph"
				       "&amp;format=text\">"));
	cr_expect(call_has(&c, LINK_P1 "from=1700000000000&amp;"
				       "to=1700000060000&amp;report=top&amp;"
				       "format=text\">"));
	cr_expect(has_in_order(&c, LINK_P1 "time=1700000045000&amp;match=exact",
			       LINK_P1 "time=1700000015000&amp;match=exact"));
	cr_expect(has_in_order(&c, LINK_P1 "time=1700000015000&amp;match=exact",
			       LINK_P1 "time=1700000000000&amp;match=exact"));
	cr_expect(call_has(&c, LINK_P1 "time=1700000000000&amp;match=exact"
				       "&amp;report=raw\">download</a>"));
	cr_expect(call_has(&c, ">2023-11-14 22:14:05.000</a>"), "%s",
		  buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "</html>"));
	call_end(&c);
	site_stop(f);
}

Test(pages, the_form_of_the_start_page_keeps_what_was_asked)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, page_index, "type=heap&query={pod=\"p1\"}" RANGE);
	cr_expect(call_has(&c, "<option>cpu</option>"
			       "<option selected>heap</option>"));
	cr_expect(call_has(&c, "name=from value=\"1700000000000\""));
	cr_expect(count_in(&c, "<section><code>") == 1, "the type counts, too");
	call_end(&c);
	/* Without parameters, the page shows the last hour of all profiles. */
	call_begin(f, &c, page_index, "");
	cr_expect(call_has(&c, "name=from value=\"now-1h\""));
	cr_expect(call_has(&c, "name=to value=\"now\""));
	cr_expect(count_in(&c, "<section><code>") == 3);
	call_end(&c);
	call_begin(f, &c, page_index, "type=&query=%20{}%20");
	cr_assert(c.a.status == 200);
	cr_expect(count_in(&c, "<section><code>") == 3);
	call_end(&c);
	site_stop(f);
}

Test(pages, the_start_page_says_when_there_is_nothing_or_too_much)
{
	struct site_profile p = site_profiles[0];
	struct site *f = site_start();
	struct call c = { 0 };
	char pod[16];

	call_begin(f, &c, page_index, "");
	cr_assert(c.a.status == 200);
	cr_expect(call_has(&c, "No profiles"));
	call_end(&c);
	p.pod = pod;
	for (int i = 0; i < 203; i++) {
		snprintf(pod, sizeof(pod), "pod%d", i);
		site_put(f, &p);
	}
	call_begin(f, &c, page_index, "");
	cr_expect(count_in(&c, "<section><code>") == 200);
	cr_expect(call_has(&c, "<p class=note>3 further series"));
	call_end(&c);
	/* Of a series with more than 120 times, only the newest are shown. */
	p.pod = "many";
	for (p.k = 0; p.k > -120; p.k--)
		site_put(f, &p);
	call_begin(f, &c, page_index, "query=cpu{pod=\"many\"}");
	cr_expect(count_in(&c, "report=raw") == 120);
	cr_expect(!call_has(&c, "only the newest are shown"));
	call_end(&c);
	site_put(f, &p);
	call_begin(f, &c, page_index, "query=cpu{pod=\"many\"}");
	cr_expect(count_in(&c, "report=raw") == 120);
	cr_expect(call_has(&c, "121 profiles, only the newest are shown"));
	cr_assert(call_has(&c, "&amp;time=1700000000000&"));
	cr_expect(!call_has(&c, "&amp;time=1699998200000&"));
	call_end(&c);
	site_stop(f);
}

Test(pages, a_mistake_is_shown_below_the_form)
{
	static const char *const queries[] = { "query=cpu{", "from=x",
					       "from=2&to=1", "query={" };
	struct site *f = site_start();

	site_fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct call c = { 0 };

		call_begin(f, &c, page_index, queries[i]);
		cr_expect(c.a.status == 400, "%s: %u", queries[i], c.a.status);
		cr_expect(has_in_order(&c, "<form", "<section class=error>"),
			  "%s: %s", queries[i], buf_cstr(&c.a.body));
		cr_expect(count_in(&c, "<form") == 1, "%s", queries[i]);
		cr_expect(count_in(&c, "</html>") == 1, "%s", queries[i]);
		call_end(&c);
	}
	site_stop(f);
}

Test(pages, what_is_asked_and_stored_cannot_become_markup)
{
#define EVIL "\" onclick=\"x\"><script>alert(1)</script>'"
	static const char *const queries[] = {
		"type=" EVIL "&query=" EVIL "&from=" EVIL "&to=" EVIL,
		"query={job!=\"\"}&from=" EVIL,
		"query={job!=\"\"}" RANGE,
		"",
	};
	static const struct site_profile evil = { EVIL, EVIL, EVIL, 0,
						  EVIL, EVIL, EVIL, 9 };
	struct site *f = site_start();

	site_put(f, &evil);
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct call c = { 0 };

		call_begin(f, &c, page_index, queries[i]);
		cr_expect(!call_has(&c, "<script"), "%s: %s", queries[i],
			  buf_cstr(&c.a.body));
		cr_expect(!call_has(&c, "\" onclick=\""), "%s: %s", queries[i],
			  buf_cstr(&c.a.body));
		call_end(&c);
	}
	site_stop(f);
}

Test(pages, limits_of_memory_and_time_end_a_page_with_its_form)
{
	struct site *f = site_start();
	struct call c = { .patience_ns = -1 };

	site_fill(f);
	call_begin(f, &c, page_index, "query=cpu" RANGE);
	cr_expect(c.a.status == 503, "%u", c.a.status);
	cr_expect(has_in_order(&c, "<form", "--query.timeout"));
	cr_expect(count_in(&c, "</html>") == 1);
	call_end(&c);
	site_stop(f);
}
