/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start page and the page of reports: forms, links, and text of users that
 * stays text.
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

#define LINK_P1 "/report?query=cpu%7Bjob%3D%22app%22%2Cpod%3D%22p1%22%7D&amp;"

Test(pages, the_start_page_lists_series_with_their_newest_profiles_first)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, page_index, "selector=cpu" RANGE);
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
				       "to=1700000060000\">"));
	cr_expect(has_in_order(&c, LINK_P1 "time=1700000045000\"",
			       LINK_P1 "time=1700000015000\""));
	cr_expect(has_in_order(&c, LINK_P1 "time=1700000015000\"",
			       LINK_P1 "time=1700000000000\""));
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
	call_begin(f, &c, page_index, "type=heap&selector={pod=\"p1\"}" RANGE);
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
	call_begin(f, &c, page_index, "type=&selector=%20{}%20");
	cr_expect(c.a.status == 200 && count_in(&c, "<section><code>") == 3);
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
	cr_expect(c.a.status == 200 && call_has(&c, "No profiles"));
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
	call_begin(f, &c, page_index, "selector=cpu{pod=\"many\"}");
	cr_expect(count_in(&c, "&amp;time=") == 120);
	cr_expect(!call_has(&c, "only the newest are shown"));
	call_end(&c);
	site_put(f, &p);
	call_begin(f, &c, page_index, "selector=cpu{pod=\"many\"}");
	cr_expect(count_in(&c, "&amp;time=") == 120);
	cr_expect(call_has(&c, "121 profiles, only the newest are shown"));
	cr_expect(call_has(&c, "&amp;time=1700000000000\"") &&
		  !call_has(&c, "&amp;time=1699998200000\""));
	call_end(&c);
	site_stop(f);
}

Test(pages, a_mistake_is_shown_below_the_form)
{
	static const struct {
		handler_fn page;
		const char *query;
		unsigned status;
	} cases[] = {
		{ page_index, "selector=cpu{", 400 },
		{ page_index, "from=x", 400 },
		{ page_index, "from=2&to=1", 400 },
		{ page_report, "query=cpu{", 400 },
		{ page_report, "query=", 400 },
		{ page_report, "query=cpu&from=x", 400 },
		{ page_report, "query=cpu&time=x", 400 },
		{ page_report, "query=cpu&aggregate=x" RANGE, 400 },
		{ page_report, "query=cpu&focus=(" RANGE, 400 },
		{ page_report, "query=cpu&granularity=x" RANGE, 400 },
		{ page_report, "query=cpu&sample_index=x" RANGE, 400 },
		{ page_report, "query=cpu&base_to=1" RANGE, 400 },
		{ page_report, "query=cpu&base_query=cpu{" RANGE, 400 },
		{ page_report, "query=none" RANGE, 404 },
		{ page_report, "query=cpu&base_query=none" RANGE, 404 },
	};
	struct site *f = site_start();

	site_fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call c = { 0 };

		call_begin(f, &c, cases[i].page, cases[i].query);
		cr_expect(c.a.status == cases[i].status, "%s: %u",
			  cases[i].query, c.a.status);
		cr_expect(has_in_order(&c, "<form", "<section class=error>"),
			  "%s: %s", cases[i].query, buf_cstr(&c.a.body));
		cr_expect(count_in(&c, "<form") == 1 &&
				  count_in(&c, "</html>") == 1,
			  "%s", cases[i].query);
		call_end(&c);
	}
	site_stop(f);
}

Test(pages, what_is_asked_and_stored_cannot_become_markup)
{
#define EVIL "\" onclick=\"x\"><script>alert(1)</script>'"
	static const char *const queries[] = {
		"type=" EVIL "&selector=" EVIL "&from=" EVIL "&to=" EVIL,
		"query=" EVIL "&time=" EVIL "&focus=" EVIL "&base_from=" EVIL
		"&base_to=" EVIL "&ignore=" EVIL "&granularity=" EVIL
		"&base_query=" EVIL "&sample_index=" EVIL "&aggregate=" EVIL,
		"query={job!=\"\"}&focus=" EVIL RANGE,
		"query={job!=\"\"}" RANGE,
		"selector={job!=\"\"}" RANGE,
		"",
	};
	static const struct site_profile evil = { EVIL, EVIL, EVIL, 0,
						  EVIL, EVIL, EVIL, 9 };
	struct site *f = site_start();

	site_put(f, &evil);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(queries); i++) {
		struct call c = { 0 };

		call_begin(f, &c, i % 2 ? page_report : page_index,
			   queries[i / 2]);
		cr_expect(!call_has(&c, "<script>"), "%s: %s", queries[i / 2],
			  buf_cstr(&c.a.body));
		cr_expect(!call_has(&c, "\" onclick=\""), "%s: %s",
			  queries[i / 2], buf_cstr(&c.a.body));
		call_end(&c);
	}
	site_stop(f);
}

Test(pages, the_empty_form_of_reports_is_no_error)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, page_report, "");
	cr_expect(c.a.status == 200 && call_has(&c, "<form"));
	cr_expect(!call_has(&c, "class=error") && !call_has(&c, "<svg"));
	cr_expect(!call_has(&c, "<script"));
	call_end(&c);
	site_stop(f);
}

Test(pages, a_report_has_a_flame_graph_and_a_table_of_functions)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, page_report, "query=cpu" RANGE);
	cr_expect(c.a.status == 200);
	cr_expect(has_in_order(&c, "<form", "<svg"));
	cr_expect(has_in_order(&c, "<svg", "<table class=top>"));
	cr_expect(call_has(&c, "4 profiles of 2 series"));
	/* spin has 1000 of 1640 ns. */
	cr_expect(has_in_order(&c, "60.98%", ">spin</code>"), "%s",
		  buf_cstr(&c.a.body));
	cr_expect(has_in_order(&c, ">spin</code>", ">work</code>"));
	cr_expect(call_has(&c, "<code title=\"main.go\">work</code>"));
	cr_expect(call_has(&c, "<option selected>cpu</option>"),
		  "the sample type");
	cr_expect(call_has(&c, "<option selected>auto</option>"),
		  "the aggregation");
	cr_expect(!call_has(&c, "class=error"));
	call_end(&c);
	site_stop(f);
}

Test(pages, the_script_of_a_report_has_the_nonce_of_its_policy)
{
	struct site *f = site_start();
	char nonces[2][64];

	site_fill(f);
	for (size_t i = 0; i < 2; i++) {
		struct call c = { 0 };
		const char *policy;
		const char *at;

		call_begin(f, &c, page_report, "query=cpu" RANGE);
		policy = call_header(&c, "Content-Security-Policy");
		at = strstr(policy, "script-src 'nonce-");
		cr_assert(at, "%s", policy);
		snprintf(nonces[i], 64, "<script nonce='%.32s'>",
			 at + strlen("script-src 'nonce-"));
		cr_expect(strspn(nonces[i] + 15, "0123456789abcdef") == 32,
			  "%s", nonces[i]);
		cr_expect(call_has(&c, nonces[i]));
		cr_expect(count_in(&c, "<script") == 1);
		call_end(&c);
	}
	cr_expect(strcmp(nonces[0], nonces[1]) != 0, "each has its own");
	site_stop(f);
}

Test(pages, a_report_of_one_profile_is_downloaded_as_that_profile)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	/* The nearest profile is 4 s before the time that is asked for. */
	call_begin(f, &c, page_report,
		   "query=cpu{pod=\"p1\"}&time=1700000019000&focus=a%26b|work");
	cr_expect(c.a.status == 200 && call_has(&c, "1 profiles of 1 series"));
	cr_expect(call_has(&c, "&amp;mode=single&amp;"));
	cr_expect(count_in(&c, "&amp;time=1700000015000&amp;match=exact"
			       "&amp;query=cpu%7Bpod%3D%22p1%22%7D"
			       "&amp;focus=a%26b%7Cwork\">") == 5,
		  "%s", strstr(buf_cstr(&c.a.body), "<p class=note><a"));
	cr_expect(call_has(&c, "name=time") && !call_has(&c, "name=from"));
	cr_expect(!call_has(&c, "name=aggregate"));
	call_end(&c);
	call_begin(f, &c, page_report, "query=cpu" RANGE);
	cr_expect(count_in(&c, "&amp;mode=merge&amp;from=1700000000000&amp;"
			       "to=1700000060000&amp;") == 5);
	call_end(&c);
	site_stop(f);
}

Test(pages, a_comparison_may_differ_by_range_or_selector)
{
	static const struct {
		const char *query;
		const char *kept; /* in the form */
	} cases[] = {
		{ "query=cpu&from=1700000030000&to=1700000060000"
		  "&base_from=1700000000000&base_to=1700000029999",
		  "name=base_from value=\"1700000000000\"" },
		{ "query=cpu{pod=\"p2\"}&base_query=cpu{pod=\"p1\"}" RANGE,
		  "type=hidden name=base_query" },
		{ "query=cpu{pod=\"p1\"}&base_query=cpu{pod=\"p2\"}"
		  "&base_from=1700000000000" RANGE,
		  "type=hidden name=base_query" },
		{ "query=cpu&base_query=&base_from=1700000000000" RANGE,
		  "name=base_from value=\"1700000000000\"" },
	};
	struct site *f = site_start();

	site_fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call c = { 0 };

		call_begin(f, &c, page_report, cases[i].query);
		cr_expect(c.a.status == 200 && call_has(&c, "<svg"), "%s: %s",
			  cases[i].query, buf_cstr(&c.a.body));
		cr_expect(call_has(&c, cases[i].kept), "%s", cases[i].query);
		cr_expect(!call_has(&c, "/api/v1/query?"), "no downloads: %s",
			  cases[i].query);
		call_end(&c);
	}
	site_stop(f);
}

Test(pages, a_filter_that_matches_nothing_is_told_in_the_page)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, page_report, "query=cpu&ignore=nowhere" RANGE);
	cr_expect(c.a.status == 200 && call_has(&c, "<svg"));
	cr_expect(count_in(&c, "<section class=error>") == 1);
	cr_expect(call_has(&c, "gnore") && call_has(&c, "matched no samples"));
	cr_expect(call_has(&c, "type=hidden name=ignore value=\"nowhere\""));
	call_end(&c);
	site_stop(f);
}

Test(pages, limits_of_memory_and_time_end_a_page_with_its_form)
{
	static const handler_fn pages[] = { page_index, page_report };
	static const char query[] = "selector=cpu&query=cpu" RANGE;
	struct site *f = site_start();

	site_fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		struct call c = { .patience_ns = -1 };

		call_begin(f, &c, pages[i], query);
		cr_expect(c.a.status == 503, "%zu: %u", i, c.a.status);
		cr_expect(has_in_order(&c, "<form", "--query.timeout"));
		cr_expect(count_in(&c, "</html>") == 1);
		call_end(&c);
	}
	site_stop(f);
}
