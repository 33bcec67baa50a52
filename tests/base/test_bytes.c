/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/check.h"

TestSuite(bytes, .timeout = 10);

Test(bytes, utf8_is_validated_as_in_rfc_3629)
{
	static const struct {
		const char *text;
		bool ok;
	} cases[] = {
		{ "", true },
		{ "plain", true },
		{ "\xc3\xa9", true },
		{ "\xe2\x82\xac", true },
		{ "\xf0\x9f\x98\x80", true },
		{ "\x80", false },
		{ "\xc0\x80", false },
		{ "\xc1\xbf", false },
		{ "\xe0\x9f\xbf", false },
		{ "\xed\xa0\x80", false },
		{ "\xf0\x8f\xbf\xbf", false },
		{ "\xf4\x90\x80\x80", false },
		{ "\xf5\x80\x80\x80", false },
		{ "\xe2\x82", false },
		{ "\xe2\x28\xa1", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(str_is_utf8(str_of(cases[i].text)) == cases[i].ok,
			  "case %zu", i);
}

Test(bytes, a_text_is_copied_to_an_array_if_it_fits)
{
	char to[4] = "abc";

	cr_expect(!str_to_array(str_of("1234"), to, sizeof(to)));
	cr_expect(!str_to_array((struct str){ "1\0002", 3 }, to, sizeof(to)));
	cr_expect(!strcmp(to, "abc"));
	cr_assert(str_to_array((struct str){ "1234", 3 }, to, sizeof(to)));
	cr_expect(!strcmp(to, "123"));
	cr_assert(str_to_array((struct str){ NULL, 0 }, to, sizeof(to)));
	cr_expect(!to[0]);
}

Test(bytes, numbers_out_of_range_are_refused)
{
	int64_t v = 7;

	cr_expect(str_to_i64(str_of("9223372036854775807"), &v));
	cr_expect(v == INT64_MAX);
	cr_expect(str_to_i64(str_of("-9223372036854775808"), &v));
	cr_expect(v == INT64_MIN);
	cr_expect(!str_to_i64(str_of("9223372036854775808"), &v));
	cr_expect(!str_to_i64(str_of("-9223372036854775809"), &v));
	cr_expect(!str_to_i64(str_of(""), &v));
	cr_expect(!str_to_i64(str_of("-"), &v));
	cr_expect(!str_to_i64(str_of("1x"), &v));
	cr_expect(v == INT64_MIN, "a failure leaves the output alone");
}

Test(bytes, strings_are_ordered_by_bytes_then_length)
{
	cr_expect(str_cmp(str_of("a"), str_of("b")) == -1);
	cr_expect(str_cmp(str_of("b"), str_of("a")) == 1);
	cr_expect(str_cmp(str_of("a"), str_of("aa")) == -1);
	cr_expect(str_cmp(str_of("a"), str_of("a")) == 0);
	cr_expect(str_cmp(str_of("\xff"), str_of("a")) == 1);
}

Test(bytes, a_part_is_found_in_any_case)
{
	static const struct {
		const char *text;
		const char *part;
		bool want;
	} cases[] = {
		{ "abc", "B", true },
		{ "abc", "abc", true },
		{ "ABC", "bc", true },
		{ "abc", "abcd", false },
		{ "abc", "x", false },
		{ "", "a", false },
		{ "", "", true },
		{ "abc", "", true },
		{ "a\xc3\xa9", "\xc3\xa9", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(str_contains_nocase(str_of(cases[i].text),
					      str_of(cases[i].part)) ==
				  cases[i].want,
			  "%zu", i);
	cr_expect(str_contains_nocase(str_of("a"), (struct str){ 0 }));
	cr_expect(str_contains_nocase((struct str){ 0 }, (struct str){ 0 }));
	cr_expect(!str_contains_nocase((struct str){ 0 }, str_of("a")));
}
