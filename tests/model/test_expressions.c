/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions: searches, groups, literals, what regex_gate.h refuses,
 * and matches that end at a limit of steps. Matching of whole values has tests
 * of its own.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "model/regex.h"
#include "model/regex_gate.h"
#include "tests/check.h"

TestSuite(expressions, .timeout = 60);

typedef int (*compile_fn)(struct str pattern, struct regex **out,
			  struct err *err);

static struct regex *compiled(compile_fn compile, const char *pattern)
{
	struct regex *r = NULL;
	struct err err;

	cr_assert(!compile(str_of(pattern), &r, &err), "%s: %s", pattern,
		  err.msg);
	return r;
}

static bool matches_by(compile_fn compile, const char *pattern,
		       const char *text)
{
	struct regex *r = compiled(compile, pattern);
	bool ok = regex_matches(r, str_of(text));

	cr_expect(!regex_gave_up(r));
	regex_free(r);
	return ok;
}

Test(expressions, a_search_finds_what_go_finds)
{
	/*
	 * Each pattern is tried as a search, for a whole value, and byte by
	 * byte.
	 */
	static const struct {
		const char *pattern;
		const char *text;
		bool search;
		bool whole;
		bool bytes;
	} cases[] = {
		{ "b", "abc", true, false, true },
		{ "abc", "abc", true, true, true },
		{ "x|b", "abc", true, false, true },
		{ "", "abc", true, false, true },
		{ "", "", true, true, true },
		{ "b.*", "abc", true, false, true },
		{ "^b", "abc", false, false, false },
		{ "b$", "abc", false, false, false },
		{ "c$", "abc", true, false, true },
		{ "c$", "abc\n", false, false, false },
		{ "a.c", "a\nc", false, true, false },
		{ "(?s)a.c", "a\nc", true, true, true },
		{ "(?m)^b$", "a\nb\nc", true, false, true },
		{ "(?i)ABC", "xabcx", true, false, true },
		{ "^.$", "\xc3\xa9", true, true, false },
		{ "^..$", "\xc3\xa9", false, false, true },
		{ "\xc3\xa9", "caf\xc3\xa9", true, false, true },
		{ "(?i)\xc3\x89", "\xc3\xa9", true, true, false },
		{ "\\bgo\\b", "let go now", true, false, true },
		{ "\\x{fffd}", "a\xff", true, false, false },
		{ "^a..$", "a\xff\xfe", true, false, true },
		{ "a\\.b", "a.b", true, true, true },
		{ "\\Aa\\z", "a", true, true, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool is_utf8 = str_is_utf8(str_of(cases[i].text));
		bool wide = strstr(cases[i].pattern, "\\x{fffd}");

		cr_expect(matches_by(regex_new_search, cases[i].pattern,
				     cases[i].text) == cases[i].search,
			  "search %s", cases[i].pattern);
		/*
		 * Whole values are values of labels, so they are always UTF-8.
		 */
		cr_expect(!is_utf8 ||
				  matches_by(regex_new, cases[i].pattern,
					     cases[i].text) == cases[i].whole,
			  "whole %s", cases[i].pattern);
		/*
		 * A pattern with a character beyond 255 is not tried byte by
		 * byte.
		 */
		cr_expect(wide || matches_by(regex_new_bytes, cases[i].pattern,
					     cases[i].text) == cases[i].bytes,
			  "bytes %s", cases[i].pattern);
	}
	struct regex *r = compiled(regex_new_search, "b");

	cr_expect(!regex_matches(r, (struct str){ 0 }));
	cr_expect(regex_matches(r, (struct str){ "\0b", 2 }));
	regex_free(r);
	regex_free(NULL);
}

Test(expressions, groups_are_those_that_took_part)
{
	struct regex *r =
		compiled(regex_new, "(?P<first>a+)(b)?(?<last_1>c*)(?:d)");
	struct str groups[5];

	cr_expect(regex_group_count(r) == 3);
	cr_expect(regex_group_named(r, str_of("first")) == 1);
	cr_expect(regex_group_named(r, str_of("last_1")) == 3);
	cr_expect(regex_group_named(r, str_of("las")) == 0);
	cr_expect(regex_group_named(r, str_of("")) == 0);
	cr_expect(regex_group_named(
			  r, str_of("a_name_of_more_than_32_characters")) == 0);
	cr_expect(regex_groups(r, str_of("aaccd"), groups, 5) == 1);
	cr_assert(check_str(groups[0], "aaccd"));
	cr_assert(check_str(groups[1], "aa"));
	cr_assert(check_str(groups[2], ""));
	cr_assert(check_str(groups[3], "cc"));
	cr_expect(check_str(groups[4], ""));
	cr_expect(regex_groups(r, str_of("ad"), groups, 2) == 1);
	cr_expect(check_str(groups[1], "a"));
	cr_expect(regex_groups(r, str_of("ad"), NULL, 0) == 1);
	cr_expect(regex_groups(r, str_of("xad"), groups, 5) == 0);
	cr_expect(regex_groups(r, (struct str){ 0 }, groups, 5) == 0);
	regex_free(r);
	r = compiled(regex_new, "a|b");
	cr_expect(regex_group_count(r) == 0);
	cr_expect(regex_group_named(r, str_of("a")) == 0);
	cr_expect(regex_groups(r, str_of("b"), groups, 2) == 1);
	cr_assert(check_str(groups[0], "b"));
	cr_expect(check_str(groups[1], ""));
	cr_expect(regex_groups(r, str_of("ab"), groups, 2) == 0);
	regex_free(r);
}

Test(expressions, lists_of_literals_are_told_to_the_index)
{
	static const struct {
		const char *pattern;
		const char *literals[4]; /* empty: the pattern is no list */
	} cases[] = {
		{ "app", { "app" } },
		{ "b|a|b|c|a", { "a", "b", "c" } },
		{ "", { "" } },
		{ "a||b", { "", "a", "b" } },
		{ "|", { "" } },
		{ "caf\xc3\xa9 x-y/z", { "caf\xc3\xa9 x-y/z" } },
		{ "(a|b)", { NULL } },
		{ "a.*", { NULL } },
		{ "a\\.b", { NULL } },
		{ "a|b+", { NULL } },
		{ "^a", { NULL } },
		{ "a{2}", { NULL } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct regex *r = compiled(regex_new, cases[i].pattern);
		struct str got;
		size_t n = 0;

		while (n < 4 && cases[i].literals[n]) {
			cr_assert(regex_literal(r, n, &got), "%s",
				  cases[i].pattern);
			cr_expect(check_str(got, cases[i].literals[n]), "%s",
				  cases[i].pattern);
			cr_expect(regex_matches(r, got));
			n++;
		}
		cr_expect(!regex_literal(r, n, &got), "%s", cases[i].pattern);
		cr_expect(!regex_literal(r, SIZE_MAX, &got));
		regex_free(r);
	}
}

/* Comparing each value with all literals would take a hundred times as long. */
Test(expressions, a_value_is_found_quickly_in_a_long_list_of_literals)
{
	struct buf pattern = { 0 };
	struct regex *r = NULL;
	size_t found = 0;
	static char values[6000][8];

	for (int i = 0; i < 6000; i++)
		snprintf(values[i], sizeof(values[i]), "%d", i);
	for (int i = 0; i < 3000; i++)
		buf_printf(&pattern, "%s%d", i ? "|" : "", 2 * i);
	cr_assert(!regex_new(str_from(buf_bytes(&pattern)), &r, NULL));
	for (int n = 0; n < 6000000; n++)
		found += regex_matches(r, str_of(values[n % 6000]));
	cr_expect(found == 3000000, "%zu", found);
	cr_expect(!regex_matches(r, str_of("")));
	regex_free(r);
	buf_fini(&pattern);
}

Test(expressions, mistakes_are_told_with_their_byte)
{
	static const struct {
		const char *pattern;
		size_t at;
		const char *why;
	} cases[] = {
		{ "(", 1, "parenthesis" },
		{ "ab(?=x)", 2, "" },
		{ "ab\\", 2, "backslash" },
		{ "[ab", 3, "missing ]" },
		{ "a**", 2, "nested" },
		{ "ab{1001}", 2, "1000" },
		{ "(a{50}){21}", 7, "1000" },
		{ "x\\C", 1, "escape" },
		{ "*", 0, "" },
		{ "(*UTF)a", 0, "not supported" },
		{ "a\\x4", 1, "\\x" },
		{ "\\p{Lu", 0, "}" },
		{ "(?P<a b>x)", 0, "name" },
		{ "x{2,1}", 5, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct regex *r = NULL;
		struct err err;
		char at[40];

		snprintf(at, sizeof(at), "(at byte %zu of the pattern)",
			 cases[i].at);
		cr_expect(regex_new(str_of(cases[i].pattern), &r, &err) ==
			  ERR_INVALID);
		cr_assert(!r, "%s", cases[i].pattern);
		cr_expect(strstr(err.msg, at) != NULL, "%s", err.msg);
		cr_expect(strstr(err.msg, cases[i].why) != NULL, "%s", err.msg);
		/* The other constructors refuse the same patterns. */
		cr_expect(regex_new_search(str_of(cases[i].pattern), &r,
					   NULL) == ERR_INVALID);
		cr_expect(regex_new_bytes(str_of(cases[i].pattern), &r, NULL) ==
			  ERR_INVALID);
	}
}

Test(expressions, patterns_are_utf_8)
{
	struct regex *r = NULL;
	struct err err;

	cr_assert(regex_new(str_of("\xff"), &r, &err) == ERR_INVALID);
	cr_expect(
		!strcmp(err.msg, "invalid regular expression: it is not UTF-8"),
		"%s", err.msg);
}

Test(expressions, patterns_end_at_their_limits)
{
	struct buf text = { 0 };
	struct regex *r = NULL;

	for (int i = 0; i < REGEX_BYTES_MAX; i++)
		buf_byte(&text, 'a');
	cr_expect(!regex_new(str_from(buf_bytes(&text)), &r, NULL));
	cr_expect(regex_matches(r, str_from(buf_bytes(&text))));
	regex_free(r);
	r = NULL;
	buf_byte(&text, 'a');
	cr_expect(regex_new(str_from(buf_bytes(&text)), &r, NULL) ==
		  ERR_INVALID);
	cr_expect(!r);
	buf_reset(&text);
	for (int i = 0; i < 5000; i++)
		buf_byte(&text, '(');
	for (int i = 0; i < 5000; i++)
		buf_byte(&text, ')');
	cr_expect(regex_new(str_from(buf_bytes(&text)), &r, NULL) ==
		  ERR_INVALID);
	buf_fini(&text);
	/* A NUL is a character like others. */
	cr_assert(!regex_new((struct str){ "a\0b.", 4 }, &r, NULL));
	cr_expect(regex_matches(r, (struct str){ "a\0bc", 4 }));
	cr_expect(!regex_matches(r, str_of("a")));
	regex_free(r);
}

Test(expressions, the_gate_writes_what_pcre2_reads_as_re2)
{
	static const struct {
		const char *in;
		const char *out;
	} cases[] = {
		{ "a.b*", "a.b*" },
		{ "\\v", "\\x0b" },
		{ "\\s[\\s]", "[\\t\\n\\f\\r ][\\t\\n\\f\\r ]" },
		{ "\\S[\\S]", "[^\\t\\n\\f\\r ][\\S\\x0b]" },
		{ "[\\d-z]", "[\\d\\-z]" },
		{ "[\\v-z]", "[\\x0b-z]" },
		{ "[]a]", "[\\]a]" },
		{ "[^]a]", "[^\\]a]" },
		{ "[a[b]", "[a\\[b]" },
		{ "[[:alpha:]]", "[[:alpha:]]" },
		{ "^*", "(?:^)*" },
		{ "\\b+", "(?:\\b)+" },
		{ "a{x", "a\\{x" },
		{ "a{2,3}", "a{2,3}" },
		{ "\\123", "\\x{53}" },
		{ "\\Q(*\\E(", "\\Q(*\\E(" },
		{ "\\pL", "\\pL" },
		{ "(?P<n>a)(?i:b)", "(?P<n>a)(?i:b)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct gate g = { .in = str_of(cases[i].in) };

		cr_expect(!gate_run(&g), "%s", cases[i].in);
		cr_expect(check_str(str_from(buf_bytes(&g.out)), cases[i].out));
		buf_fini(&g.out);
		vec_fini(&g.groups);
	}
}

Test(expressions, what_backtracks_for_ever_gives_up_or_is_matched_otherwise)
{
	struct regex *search = compiled(regex_new_search, "((a|aa)+)[xy]");
	struct regex *whole = compiled(regex_new, "((a|aa)+)[xy]");
	struct regex *quick = compiled(regex_new_search, "a+x");
	struct str groups[2];
	char text[101];

	memset(text, 'a', 100);
	text[100] = 0;
	cr_expect(!regex_gave_up(search));
	cr_expect(!regex_matches(search, str_of("no letter of it")));
	cr_expect(!regex_gave_up(search));
	cr_expect(!regex_matches(search, str_of(text)));
	cr_expect(regex_gave_up(search));
	cr_expect(regex_matches(search, str_of("aax")));
	cr_expect(regex_gave_up(search), "it stays");
	/*
	 * A whole value is matched without backtracking. Its groups are found
	 * by backtracking, which ends at the limit.
	 */
	cr_expect(!regex_matches(whole, str_of(text)));
	cr_expect(regex_groups(whole, str_of(text), groups, 2) == ERR_LIMIT);
	text[99] = 'x';
	cr_expect(regex_matches(whole, str_of(text)));
	cr_expect(!regex_gave_up(whole));
	cr_assert(regex_matches(quick, str_of(text)));
	cr_expect(!regex_gave_up(quick));
	regex_free(search);
	regex_free(whole);
	regex_free(quick);
}

Test(expressions, one_match_of_a_whole_value_takes_a_bounded_time)
{
	/* Each is slow for both matchers of PCRE2, in another way. */
	static const char *const patterns[] = {
		"(.{0,900}.{0,900}.{0,900}.{0,900})(a|b|.)*[yz]",
		"(.*.*.*.*.*.*.*.*x){3}N",
		"(a?){1000}(a?){1000}(a?){1000}a{1000}[yz]",
		"(.{1000}|.{999}|.{998}|.{997}|.{996})*(.{0,1000}.{1000})*[yz]",
	};
	enum {
		LEN = 60000
	};
	char *text = mem_alloc(LEN);

	memset(text, 'a', LEN);
	memcpy(text, "yxN", 3); /* all characters that the patterns need */
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		struct regex *r = compiled(regex_new, patterns[i]);
		static const size_t lens[] = { 100, 1000, LEN };

		for (size_t n = 0; n < ARRAY_SIZE(lens); n++) {
			struct str value = { text, lens[n] };
			int64_t began = clock_cpu_ns();

			cr_expect(!regex_matches(r, value), "%s, %zu",
				  patterns[i], lens[n]);
			began = clock_cpu_ns() - began;
			cr_expect(began < 5000000000, "%s, %zu: %d ms",
				  patterns[i], lens[n], (int)(began / 1000000));
		}
		regex_free(r);
	}
	mem_free(text);
}

Test(expressions, a_slow_match_of_a_whole_value_does_not_match_its_beginning)
{
	struct regex *r = compiled(regex_new, "(a|b|.)*[yz]");
	char text[100];

	memset(text, 'a', sizeof(text));
	text[0] = 'y';
	cr_expect(!regex_matches(r, (struct str){ text, sizeof(text) }));
	text[sizeof(text) - 1] = 'y';
	cr_expect(regex_matches(r, (struct str){ text, sizeof(text) }));
	cr_expect(!regex_gave_up(r));
	regex_free(r);
}
