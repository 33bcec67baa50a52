/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ULIDs, which are texts that sort by time (github.com/ulid/spec), and texts
 * that are not ULIDs.
 */
#include "tsdb/io/ulid.h"

#include "tests/check.h"

TestSuite(ulid, .timeout = 60);

Test(ulid, text_comes_back)
{
	static const struct {
		const char *text;
		uint8_t first;
		uint8_t last;
	} cases[] = {
		{ "00000000000000000000000000", 0, 0 },
		{ "00000000000000000000000001", 0, 1 },
		{ "0000000000000000000000000Z", 0, 31 },
		{ "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", 255, 255 },
		{ "40000000000000000000000000", 128, 0 },
		{ "01ARZ3NDEKTSV4RRFFQ69G5FAV", 1, 0x5b },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ulid u = { { 0 } };
		char text[ULID_TEXT + 1];

		cr_expect(ulid_parse(str_of(cases[i].text), &u), "%s",
			  cases[i].text);
		cr_expect(u.bytes[0] == cases[i].first, "%s", cases[i].text);
		cr_expect(u.bytes[15] == cases[i].last, "%s: %d", cases[i].text,
			  u.bytes[15]);
		ulid_format(&u, text);
		cr_expect(!strcmp(text, cases[i].text), "%s", text);
	}
}

Test(ulid, what_is_no_ulid_is_refused)
{
	static const struct {
		const char *name;
		struct str text;
	} cases[] = {
		{ "nothing", { "", 0 } },
		{ "no text at all", { NULL, 0 } },
		{ "one character less", { "0000000000000000000000000", 25 } },
		{ "one character more", { "000000000000000000000000000", 27 } },
		{ "more than 128 bits", { "80000000000000000000000000", 26 } },
		{ "lower case", { "01arz3ndektsv4rrffq69g5fav", 26 } },
		{ "an I", { "0000000000000000000000000I", 26 } },
		{ "an L", { "000000000000L0000000000000", 26 } },
		{ "an O", { "0O000000000000000000000000", 26 } },
		{ "a U", { "000000000000000000000000U0", 26 } },
		{ "a NUL",
		  { "0000000000000\0"
		    "000000000000",
		    26 } },
		{ "a NUL at the end", { "0000000000000000000000000", 26 } },
		{ "a hyphen", { "0000000000000-000000000000", 26 } },
		{ "no ASCII", { "000000000000000000000000\xc3\xa9", 26 } },
		{ "a leading byte above ASCII",
		  { "\xff"
		    "0000000000000000000000000",
		    26 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ulid u = { { 42 } };

		cr_expect(!ulid_parse(cases[i].text, &u), "%s", cases[i].name);
		cr_expect(u.bytes[0] == 42, "%s: left as it was",
			  cases[i].name);
	}
}

Test(ulid, ids_sort_by_their_time)
{
	static const int64_t ms[] = { 0,
				      1,
				      31,
				      32,
				      255,
				      256,
				      1469922850259,
				      1700000000000,
				      1700000000001,
				      ((int64_t)1 << 48) - 1 };
	char before[ULID_TEXT + 1] = "";

	for (size_t i = 0; i < ARRAY_SIZE(ms); i++) {
		struct ulid u = ulid_new(ms[i]);
		char text[ULID_TEXT + 1];

		ulid_format(&u, text);
		cr_expect(strcmp(before, text) < 0, "%s, %s", before, text);
		memcpy(before, text, sizeof(text));
		if (ms[i] == 1469922850259)
			cr_expect(!strncmp(text, "01ARZ3NDEK", 10), "%s", text);
	}
}

Test(ulid, ids_of_one_time_differ)
{
	struct ulid a = ulid_new(1700000000000);
	struct ulid b = ulid_new(1700000000000);

	cr_expect(!memcmp(a.bytes, b.bytes, 6), "the time is the same");
	cr_assert(!ulid_eq(&a, &b));
	cr_expect(ulid_eq(&a, &a));
}
