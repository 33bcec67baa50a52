/* SPDX-License-Identifier: Apache-2.0 */
/* The times that clients send, and what their digits mean. */
#include "push/wire/push_time.h"

#include "tests/check.h"

#define NOW 1795997000000

Test(push_time, the_number_of_digits_tells_the_unit)
{
	static const struct {
		const char *text;
		int64_t ms;
	} cases[] = {
		{ "", 0 },
		{ "0", 0 },
		{ "1795995000", 1795995000000 },
		{ "1795995000123", 1795995000123 },
		{ "1795995000123456", 1795995000123 },
		{ "1795995000123456789", 1795995000123 },
		{ "now", NOW },
		{ "now-10s", NOW - 10000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = { .msg = "" };
		int64_t ms = -1;

		cr_expect(!push_time_parse("from", str_of(cases[i].text), NOW,
					   &ms, &err),
			  "%s", err.msg);
		cr_expect(ms == cases[i].ms, "%s: %lld", cases[i].text,
			  (long long)ms);
	}
}

Test(push_time, what_is_no_time_is_named)
{
	static const char *const cases[] = { "-1", "yesterday", "1.5e9x" };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = { .msg = "" };
		int64_t ms;

		cr_expect(push_time_parse("from", str_of(cases[i]), NOW, &ms,
					  &err) == ERR_INVALID);
		cr_expect(strstr(err.msg, "\"from\""), "%s", err.msg);
	}
}
