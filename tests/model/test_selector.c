/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "model/regex.h"
#include "model/selector.h"
#include "tests/check.h"

TestSuite(selector, .timeout = 30);

Test(selector, whole_grammar_is_parsed)
{
	static const char *const good[] = {
		"heap",
		"a:b_c9",
		"heap{}",
		"heap{job=\"app\"}",
		" heap { job = \"app\" , env =~ \"x|y\" , pod != \"\" , } ",
		"{job!~`\\d+`,env=\"a\"}",
		"{\"heap\"}",
		"{\"heap\", \"a.b\"='c\\'\\x41\\u00e9\\101'}",
		"{__name__=\"heap\"}",
		"heap # a comment",
		"{a=\"\xc3\xa9\"}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct selector s;
		struct err err;
		int rc = selector_parse(str_of(good[i]), &s, &err);

		cr_expect(!rc, "%s: %s", good[i], err.msg);
		if (!rc)
			selector_fini(&s);
	}
}

/* Grafana sends such selectors beside a profile type. */
Test(selector, any_selector_may_select_everything)
{
	static const char *const texts[] = { "",           " ",
					     "{}",         "{a=\"\"}",
					     "{a!=\"x\"}", "{a=~\".*\"}" };
	struct selector s;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		cr_expect(!selector_parse_any(str_of(texts[i]), &s, NULL), "%s",
			  texts[i]);
		cr_expect(s.count == (i > 2), "%s", texts[i]);
		selector_fini(&s);
		cr_expect(selector_parse(str_of(texts[i]), &s, NULL) ==
				  ERR_INVALID,
			  "%s", texts[i]);
	}
	cr_expect(selector_parse_any(str_of("{a=}"), &s, NULL) == ERR_INVALID);
}

Test(selector, parse_errors_name_line_and_column)
{
	static const struct {
		const char *text;
		const char *at;
	} bad[] = {
		{ "", "1:1: " },
		{ "{}", "1:1: " },
		{ "{job=~\".*\"}", "1:1: " },
		{ "{job=\"\"}", "1:1: " },
		{ "heap{job}", "1:9: " },
		{ "heap{job=app}", "1:10: " },
		{ "heap{job=\"app\"", "1:15: " },
		{ "heap{job=\"app}", "1:10: " },
		{ "heap{\njob=\"a\" x", "2:9: " },
		{ "heap{job=~\"(\"}", "1:11: " },
		{ "heap{job=~\"a\\\\1\"}", "1:11: " },
		{ "heap{a=\"\\q\"}", "1:10: " },
		{ "heap{a=\"\\xff\"}", "1:8: " },
		{ "heap{__name__=\"x\"}", "1:15: " },
		{ "heap{\"x\"}", "1:6: " },
		{ "heap{} x", "1:8: " },
		{ "9heap", "1:1: " },
		{ "heap{a=\"x\"}[5m]", "1:12: " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct selector s;
		struct err err = { .msg = "accepted" };

		cr_expect(selector_parse(str_of(bad[i].text), &s, &err) ==
			  ERR_INVALID);
		cr_expect(!strncmp(err.msg, bad[i].at, strlen(bad[i].at)),
			  "%s: %s", bad[i].text, err.msg);
	}
}

static bool matches(const char *pattern, const char *value)
{
	struct regex *r;
	bool ok;

	cr_assert(!regex_new(str_of(pattern), &r, NULL), "%s", pattern);
	ok = regex_matches(r, str_of(value));
	regex_free(r);
	return ok;
}

Test(selector, regexes_are_anchored)
{
	cr_assert(matches("a|b", "b"));
	cr_expect(!matches("a|b", "ab"));
	cr_assert(matches("foo.*", "foobar"));
	cr_expect(!matches("foo.*", "xfoo"));
	cr_expect(matches("foo.*", "foo\nbar"), "dot matches a line end");
	cr_assert(matches(".*", ""));
	cr_expect(matches("", ""));
	cr_assert(matches("a+", "aaa"));
	cr_expect(!matches("a+", "aab"));
	cr_expect(matches("(?i)ABC", "abc"));
	cr_assert(matches("[[:alpha:]]+", "abc"));
	cr_expect(matches("[]a]", "]"));
	cr_assert(matches("\\Qa.b\\E", "a.b"));
	cr_expect(!matches("\\Qa.b\\E", "axb"));
	cr_assert(!matches("\\s", "\v"));
	cr_expect(matches("\\v", "\v"));
	cr_expect(!matches("a$", "a\n"));
	cr_expect(matches("x{a}", "x{a}"), "braces that count nothing");
	cr_expect(matches("[a[b]+", "a[b"));
	cr_expect(matches("\\p{Lu}\\PL\\x{006A}?bad", "A1bad"));
	cr_expect(matches("\\x{1F600}", "\xf0\x9f\x98\x80"));
	cr_expect(matches("[\\x{6A}\\p{Greek}]+", "j\xce\xb1"));
	cr_assert(matches("[\\d-z]+", "5-z"));
	cr_expect(!matches("[\\d-z]", "a"));
	cr_assert(matches("[[:alpha:]-9]+", "a-9"));
	cr_expect(!matches("[[:alpha:]-9]", "8"));
	cr_assert(matches("[\\pL-9]+", "a-9"));
	cr_expect(!matches("[\\pL-9]", "8"));
	cr_assert(matches("[\\w-]+", "a-"));
	cr_expect(matches("[a-c]", "b"));
	cr_assert(matches("\\101\\60", "A0"));
	cr_expect(matches("[\\101-C]", "B"));
	cr_assert(matches("^*a$+", "a"));
	cr_expect(matches("(?:^){2}a\\b+", "a"));
	cr_assert(matches("^?a", "a"));
	cr_expect(matches("a^{x}|b", "b"));
	cr_assert(matches("[[:]+", "[:"));
	cr_expect(matches("a{01}", "a{01}"));
	cr_assert(matches("a{1,2,3}", "a{1,2,3}"));
	cr_expect(matches("a{,2}", "a{,2}"));
	cr_assert(matches("[\\S]", "\v"));
	cr_assert(!matches("[\\s]", "\v"));
	cr_expect(matches("[\\s-z]+", " -z"));
	cr_assert(matches("(?)a", "a"));
	cr_expect(matches("((a{10}){100})?", ""));
}

Test(selector, regexes_that_re2_refuses_are_refused)
{
	static const char *const bad[] = {
		"(?=a)",
		"(?!a)",
		"(?<=a)",
		"(?<!a)",
		"(a)\\1",
		"a++",
		"a*+",
		"(?>a)",
		"\\Z",
		"\\h",
		"\\R",
		"\\K",
		"\\X",
		"\\cA",
		"a{1001}",
		"(?#x)",
		"(*ANY)",
		"(?R)",
		"(?|a)",
		"(",
		")",
		"[a",
		"a**",
		"\\",
		"(?x)a",
		"\\g1",
		"(?P=n)",
		"\\G",
		"a)|(b",
		"(?-)a",
		"(?P<n",
		"(?P<\u00e4>a)",
		"\\\u00e4",
		"\\1",
		"[[:](?!x)[y]",
		"[[:a](?R)?b:]]",
		"[[:a](*ACCEPT)b:]]",
		"\\x4",
		"\\xZ1",
		"((a{10}){101})",
		"(a{2}|b{500}){3}",
		"(a{501,}){2}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct regex *r = NULL;

		cr_expect(regex_new(str_of(bad[i]), &r, NULL) == ERR_INVALID,
			  "%s", bad[i]);
		regex_free(r);
	}
}

Test(selector, expensive_regexes_end_with_the_right_answer)
{
	/* A matcher that only backtracks would take exponential time. */
	cr_expect(!matches("(a+)+", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
	cr_expect(!matches("(a|aa)+",
			   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"));
	cr_expect(matches("(a?){30}a{30}", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}
