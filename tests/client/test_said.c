/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the part of an error response's body that is quoted in an error
 * message.
 */
#include "client/transfer/said.h"

#include "tests/check.h"

TestSuite(said, .timeout = 30);

Test(said, text_and_json_are_understood)
{
	static const struct {
		const char *type;
		const char *body;
		const char *want;
	} cases[] = {
		{ "text/plain", "no such page\nmore", "no such page" },
		{ "text/plain; charset=utf-8", "seconds: \x1b[31m",
		  "seconds: " },
		{ "text/html", "<h1>no</h1>", "" },
		{ "", "no", "" },
		{ "text/plain", "", "" },
		{ "application/json",
		  "{\"status\":\"error\",\"error\":\"no \\\"heap\\\"\"}",
		  "no \"heap\"" },
		{ "Application/JSON; charset=utf-8", "{\"error\":\"a\\nb\"}",
		  "a" },
		{ "application/json", "{\"error\":7}", "" },
		{ "application/json", "[\"error\"]", "" },
		{ "application/json", "{\"error\":\"cut", "" },
		{ "application/json", "null", "" },
		{ "text/plain", "a line that is longer than its room",
		  "a line that is longer t" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char out[24] = "before";

		said_copy(cases[i].type, bytes_of(str_of(cases[i].body)), out,
			  sizeof(out));
		cr_expect(check_str(str_of(out), cases[i].want), "%zu", i);
	}
}

Test(said, a_huge_json_body_is_not_parsed)
{
	struct buf body = { 0 };
	char out[24];

	buf_str(&body, "{\"error\":\"x\"}");
	while (body.len <= 64 << 10)
		buf_byte(&body, ' ');
	said_copy("application/json", buf_bytes(&body), out, sizeof(out));
	cr_expect(check_str(str_of(out), ""));
	buf_fini(&body);
}
