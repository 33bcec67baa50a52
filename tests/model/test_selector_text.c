/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of selectors: strings and their escapes, spaces and comments, names,
 * what is refused, and the limits.
 */
#include "model/regex.h"
#include "model/selector.h"
#include "tests/check.h"

TestSuite(selector_text, .timeout = 30);

Test(selector_text, strings_have_the_escapes_of_go)
{
	static const struct {
		const char *quoted;
		const char *want; /* NULL: it is refused */
	} cases[] = {
		{ "\"\"", "" },
		{ "''", "" },
		{ "``", "" },
		{ "\"a'b`c\"", "a'b`c" },
		{ "'a\"b`c'", "a\"b`c" },
		{ "`a\"b'c\\n`", "a\"b'c\\n" },
		{ "`two\nlines`", "two\nlines" },
		{ "\"\\a\\b\\f\\n\\r\\t\\v\\\\\"", "\a\b\f\n\r\t\v\\" },
		{ "\"\\\"\"", "\"" },
		{ "'\\''", "'" },
		{ "\"\\'\"", NULL },
		{ "'\\\"'", NULL },
		{ "\"\\`\"", NULL },
		{ "\"\\101\\x41\\u0041\\U00000041\"", "AAAA" },
		{ "\"\\377\"", NULL },
		{ "\"\\303\\251\"", "\xc3\xa9" },
		{ "\"\\xc3\\xa9\"", "\xc3\xa9" },
		{ "\"\\xc3\"", NULL },
		{ "\"\\u00e9\\u20ac\\U0001F600\"",
		  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "\"\\U0010FFFF\"", "\xf4\x8f\xbf\xbf" },
		{ "\"\\U00110000\"", NULL },
		{ "\"\\ud800\"", NULL },
		{ "\"\\udfff\"", NULL },
		{ "\"\\ue000\"", "\xee\x80\x80" },
		{ "\"\\400\"", NULL },
		{ "\"\\08\"", NULL },
		{ "\"\\8\"", NULL },
		{ "\"\\1\"", NULL },
		{ "\"\\x4\"", NULL },
		{ "\"\\xg0\"", NULL },
		{ "\"\\u004\"", NULL },
		{ "\"\\q\"", NULL },
		{ "\"\\", NULL },
		{ "\"a\nb\"", NULL },
		{ "\"a", NULL },
		{ "'a\"", NULL },
		{ "\"\xff\"", NULL },
		{ "\"caf\xc3\xa9\"", "caf\xc3\xa9" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selector s = { 0 };
		struct buf text = { 0 };
		struct err err;
		int rc;

		buf_printf(&text, "t{v=%s}", cases[i].quoted);
		rc = selector_parse(str_from(buf_bytes(&text)), &s, &err);
		cr_expect(rc == (cases[i].want ? 0 : ERR_INVALID), "%s",
			  buf_cstr(&text));
		cr_expect(rc || (s.count == 2 && check_str(s.matchers[1].value,
							   cases[i].want)));
		if (!rc)
			selector_fini(&s);
		buf_fini(&text);
	}
}

Test(selector_text, a_nul_is_a_character_of_a_value_alone)
{
	static const struct {
		const char *text;
		size_t n;
		bool good;
	} cases[] = {
		{ "t{v=\"a\0b\"}", 10, true },
		{ "t{v=\"a\\000b\"}", 13, true },
		{ "t{v=\"a\\\0\"}", 10, false },
		{ "t\0", 2, false },
		{ "t{\0}", 4, false },
		{ "t{v\0=\"a\"}", 9, false },
		{ "t{v=\"a\"}\0", 9, false },
		{ "\0", 1, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selector s = { 0 };
		struct str text = { cases[i].text, cases[i].n };
		int rc = selector_parse(text, &s, NULL);

		cr_expect(!rc == cases[i].good, "case %zu", i);
		cr_expect(rc || (s.matchers[1].value.len == 3 &&
				 !memcmp(s.matchers[1].value.ptr, "a\0b", 3)));
		if (!rc)
			selector_fini(&s);
	}
}

Test(selector_text, matchers_are_as_they_were_written)
{
	static const struct {
		const char *text;
		size_t count;
		/* of the last matcher */
		enum matcher_op op;
		const char *name;
		const char *value;
	} cases[] = {
		{ "heap", 1, MATCH_EQ, "__name__", "heap" },
		{ ":a:", 1, MATCH_EQ, "__name__", ":a:" },
		{ "{\"he.ap\"}", 1, MATCH_EQ, "__name__", "he.ap" },
		{ "{`he.ap`,}", 1, MATCH_EQ, "__name__", "he.ap" },
		{ "{a=\"b\",\"heap\"}", 2, MATCH_EQ, "__name__", "heap" },
		{ "{__name__=~\"h.*\"}", 1, MATCH_RE, "__name__", "h.*" },
		{ "h{a!=\"b\"}", 2, MATCH_NE, "a", "b" },
		{ "h{a!~'b'}", 2, MATCH_NRE, "a", "b" },
		{ "h{a=~`b`}", 2, MATCH_RE, "a", "b" },
		{ "h{_A9=\"\"}", 2, MATCH_EQ, "_A9", "" },
		{ "h{\"a b\"!=\"c\"}", 2, MATCH_NE, "a b", "c" },
		{ "h{a=\"1\",a=\"2\"}", 3, MATCH_EQ, "a", "2" },
		{ "\t\r\n h # c\n {\n# d\n a # e\n = # f\n 'b' # g\n , }# h", 2,
		  MATCH_EQ, "a", "b" },
		{ "h#{a=\"b\"}", 1, MATCH_EQ, "__name__", "h" },
		{ "h{a=\"#\"}", 2, MATCH_EQ, "a", "#" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selector s = { 0 };
		struct err err;
		const struct matcher *m;

		cr_assert(!selector_parse(str_of(cases[i].text), &s, &err),
			  "%s: %s", cases[i].text, err.msg);
		cr_assert(s.count == cases[i].count, "%s", cases[i].text);
		m = &s.matchers[s.count - 1];
		cr_assert(m->op == cases[i].op, "%s", cases[i].text);
		cr_assert(check_str(m->name, cases[i].name), "%s",
			  cases[i].text);
		cr_expect(check_str(m->value, cases[i].value), "%s",
			  cases[i].text);
		cr_expect(!m->regex ==
			  (m->op == MATCH_EQ || m->op == MATCH_NE));
		selector_fini(&s);
		selector_fini(&s);
	}
}

Test(selector_text, mistakes_are_told_with_line_and_column)
{
	static const struct {
		const char *text;
		const char *at;
	} cases[] = {
		{ "heap{,}", "1:6: " },
		{ "heap{a=\"b\",,}", "1:12: " },
		{ "heap{a==\"b\"}", "1:8: " },
		{ "heap{a= ~\"b\"}", "1:9: " },
		{ "heap{a!\"b\"}", "1:7: " },
		{ "heap{a>\"b\"}", "1:7: " },
		{ "heap{a:b=\"c\"}", "1:7: " },
		{ "heap{1a=\"b\"}", "1:6: " },
		{ "{\"\"=\"a\"}", "1:2: " },
		{ "{\"\"}", "1:2: " },
		{ "{\"a\":1}", "1:5: " },
		{ "{\"heap\",\"alloc\"}", "1:9: " },
		{ "heap{__name__=~\".+\"}", "1:16: " },
		{ "{", "1:2: " },
		{ "{a=\"b\"", "1:7: " },
		{ "\"heap\"", "1:1: " },
		{ "heap!", "1:5: " },
		{ "he-ap", "1:3: " },
		{ "caf\xc3\xa9", "1:4: " },
		{ "{a=~\"\"}", "1:1: " },
		{ "{a!~\".+\",b=\"\",c!=\"x\"}", "1:1: " },
		{ "heap{\n\n  a='\n'}", "3:5: " },
		{ "# only a comment", "1:17: " },
		{ "heap{a=\"b\"} or web", "1:13: " },
		{ "heap offset 5m", "1:6: " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selector s = { 0 };
		struct err err = { .msg = "accepted" };

		cr_expect(selector_parse(str_of(cases[i].text), &s, &err) ==
			  ERR_INVALID);
		cr_expect(str_starts(str_of(err.msg), str_of(cases[i].at)),
			  "%s: %s", cases[i].text, err.msg);
		cr_expect(strstr(err.msg, "parse error: ") != NULL);
	}
	cr_expect(selector_parse((struct str){ 0 }, &(struct selector){ 0 },
				 NULL) == ERR_INVALID);
}

Test(selector_text, something_must_refuse_the_empty_value)
{
	static const struct {
		const char *text;
		bool good;
	} cases[] = {
		{ "{a=\"b\"}", true },        { "{a!=\"\"}", true },
		{ "{a=~\".+\"}", true },      { "{a=~\"b|c\"}", true },
		{ "{a!~\"\"}", true },        { "{a!~\".*\"}", true },
		{ "{a=\"\"}", false },        { "{a!=\"b\"}", false },
		{ "{a=~\".*\"}", false },     { "{a=~\"b|\"}", false },
		{ "{a!~\"b\"}", false },      { "{a=\"\",b=\"\"}", false },
		{ "{a=\"\",b=\"x\"}", true }, { "{__name__=\"\"}", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selector s = { 0 };
		int rc = selector_parse(str_of(cases[i].text), &s, NULL);

		cr_expect(!rc == cases[i].good, "%s", cases[i].text);
		if (!rc)
			selector_fini(&s);
	}
}

Test(selector_text, length_and_matchers_end_at_their_limits)
{
	struct selector s = { 0 };
	struct buf text = { 0 };
	struct err err;

	/* The profile type counts as a matcher, too. */
	buf_str(&text, "heap{");
	for (int i = 1; i < SELECTOR_MATCHERS_MAX; i++)
		buf_str(&text, "a=~\"x.+\",");
	buf_byte(&text, '}');
	cr_expect(!selector_parse(str_from(buf_bytes(&text)), &s, &err));
	cr_expect(s.count == SELECTOR_MATCHERS_MAX);
	selector_fini(&s);
	text.len--;
	buf_str(&text, "a=~\"y.+\"}");
	cr_expect(selector_parse(str_from(buf_bytes(&text)), &s, &err) ==
		  ERR_INVALID);
	cr_expect(strstr(err.msg, "64") != NULL, "%s", err.msg);
	buf_reset(&text);
	buf_str(&text, "heap{a=\"");
	while (text.len < SELECTOR_BYTES_MAX - 2)
		buf_byte(&text, 'x');
	buf_str(&text, "\"}");
	cr_expect(!selector_parse(str_from(buf_bytes(&text)), &s, &err));
	selector_fini(&s);
	buf_byte(&text, ' ');
	cr_expect(selector_parse(str_from(buf_bytes(&text)), &s, &err) ==
		  ERR_INVALID);
	cr_expect(strstr(err.msg, "64 KiB") != NULL, "%s", err.msg);
	buf_fini(&text);
}
