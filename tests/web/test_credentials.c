/* SPDX-License-Identifier: Apache-2.0 */
/* What the header Authorization says of the sender of a request. */
#include "web/auth/credentials.h"

#include "base/base64.h"
#include "tests/check.h"

TestSuite(credentials, .timeout = 30);

/* Whether a text is this one; NULL: there is none. */
static bool is_text(const char *got, const char *want)
{
	return got && want ? !strcmp(got, want) : !got && !want;
}

Test(credentials, tokens_are_what_follows_the_scheme)
{
	static const struct {
		const char *header;
		const char *token;
	} cases[] = {
		{ "Bearer abc.def", "abc.def" },
		{ "bEARER abc", "abc" },
		{ "Bearer ", "" },
		{ "Bearer", NULL },
		{ " Bearer abc", NULL },
		{ "Token abc", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arena arena = { 0 };
		struct credentials c =
			credentials_read(cases[i].header, &arena);

		cr_expect(is_text(c.token, cases[i].token), "\"%s\"",
			  cases[i].header);
		cr_expect(!c.user && !c.password && !c.session);
		arena_fini(&arena);
	}
}

Test(credentials, users_have_a_password_behind_the_first_colon)
{
	static const struct {
		struct str plain;
		const char *user; /* NULL: there are no credentials */
		const char *password;
	} cases[] = {
		{ { "ann:secret", 10 }, "ann", "secret" },
		{ { "ann:se:cret", 11 }, "ann", "se:cret" },
		{ { "ann:", 4 }, "ann", "" },
		{ { ":secret", 7 }, "", "secret" },
		{ { "ann", 3 }, NULL, NULL },
		{ { "", 0 }, NULL, NULL },
		/* C code would compare the part before the NUL. */
		{ { "ann:sec\0ret", 11 }, NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct arena arena = { 0 };
		struct buf header = { 0 };
		struct credentials c;

		buf_str(&header, "basic ");
		base64_encode(bytes_of(cases[i].plain), &header);
		c = credentials_read(buf_cstr(&header), &arena);
		cr_expect(is_text(c.user, cases[i].user), "case %zu: %s", i,
			  c.user);
		cr_expect(is_text(c.password, cases[i].password),
			  "case %zu: %s", i, c.password);
		cr_expect(!c.token);
		buf_fini(&header);
		arena_fini(&arena);
	}
}

Test(credentials, what_is_no_base64_is_none)
{
	static const char *const headers[] = { "Basic ann:secret", "Basic",
					       "Basic YW5u OnNl" };

	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		struct arena arena = { 0 };
		struct credentials c = credentials_read(headers[i], &arena);

		cr_expect(!c.user && !c.password && !c.token, "\"%s\"",
			  headers[i]);
		arena_fini(&arena);
	}
}
