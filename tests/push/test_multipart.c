/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms with files: names and bodies of their parts, and forms that are
 * malformed or cut short at any byte.
 */
#include "push/wire/multipart.h"

#include <stdlib.h>

#include "base/buf.h"
#include "tests/check.h"

TestSuite(multipart, .timeout = 60);

#define TYPE "multipart/form-data; boundary=xyz"
#define FORM                                                            \
	"--xyz\r\nContent-Disposition: form-data; name=\"profile\"; "   \
	"filename=\"profile.pprof\"\r\n"                                \
	"Content-Type: application/octet-stream\r\n\r\n"                \
	"a\r\n--xy\r\nb\r\n"                                            \
	"--xyz\r\ncontent-disposition:form-data;name=empty\r\n\r\n\r\n" \
	"--xyz  \r\n\r\nno headers\r\n"                                 \
	"--xyz--\r\nepilogue"

static int split(const char *type, struct str form, struct multipart *out,
		 struct err *err)
{
	return multipart_split(type, bytes_of(form), out, err);
}

/* Whether a part has this body. */
static bool has(const struct multipart_part *p, const char *body)
{
	return p && check_str(str_from(p->body), body);
}

Test(multipart, the_type_is_recognized)
{
	cr_expect(multipart_is("multipart/form-data"));
	cr_expect(multipart_is("Multipart/Form-Data ; boundary=a"));
	cr_expect(!multipart_is("multipart/mixed; boundary=a"));
	cr_expect(!multipart_is(""));
}

Test(multipart, parts_have_names_and_bodies)
{
	static const char *const types[] = {
		TYPE,
		"multipart/form-data; charset=utf-8; boundary=\"xyz\"",
		"multipart/form-data;BOUNDARY=xyz",
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct multipart m;
		struct err err = { .msg = "" };

		cr_assert(!split(types[i], str_of(FORM), &m, &err), "%s: %s",
			  types[i], err.msg);
		cr_assert(m.count == 3);
		cr_expect(has(multipart_find(&m, "profile"), "a\r\n--xy\r\nb"));
		cr_expect(has(multipart_find(&m, "empty"), ""));
		cr_expect(has(&m.parts[2], "no headers"));
		cr_expect(!m.parts[2].name.len);
		cr_expect(!multipart_find(&m, "other"));
	}
}

Test(multipart, a_preamble_is_skipped)
{
	struct multipart m;

	cr_assert(!split(TYPE, str_of("preamble\r\n" FORM), &m, NULL));
	cr_expect(m.count == 3);
}

Test(multipart, a_form_that_is_cut_short_is_refused_and_never_read_beyond)
{
	static const char form[] = FORM;
	size_t whole = sizeof(form) - 1 - strlen("\r\nepilogue");

	for (size_t n = 0; n < whole; n++) {
		/* A copy of its own, so that a sanitizer sees its end. */
		uint8_t *copy = n ? malloc(n) : NULL;
		struct multipart m;
		struct err err = { .msg = "" };

		if (n)
			memcpy(copy, form, n);
		cr_expect(multipart_split(TYPE, (struct bytes){ copy, n }, &m,
					  &err) == ERR_INVALID,
			  "%zu bytes", n);
		cr_expect(*err.msg);
		free(copy);
	}
}

Test(multipart, malformed_forms_say_what_is_wrong)
{
	static const struct {
		const char *type;
		const char *form;
		const char *why;
	} cases[] = {
		{ "multipart/form-data", FORM, "boundary" },
		{ "multipart/form-data; boundary=", FORM, "boundary" },
		{ "multipart/form-data; boundary="
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  FORM, "1 to 70" },
		{ TYPE, "", "its boundary" },
		{ TYPE, "--abc\r\n", "its boundary" },
		{ TYPE, "--xyzabc\r\n\r\na\r\n--xyz--", "boundary line" },
		{ TYPE, "--xyz\r\nA: b\r\nc\r\n--xyz--", "do not end" },
		{ TYPE, "--xyz\r\n\r\nabc", "incomplete" },
		{ TYPE,
		  "--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n"
		  "--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\n2\r\n"
		  "--xyz--",
		  "same name" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct multipart m;
		struct err err = { .msg = "" };

		cr_expect(split(cases[i].type, str_of(cases[i].form), &m,
				&err) == ERR_INVALID,
			  "%s", cases[i].form);
		cr_expect(strstr(err.msg, cases[i].why), "%s: %s",
			  cases[i].form, err.msg);
	}
}

Test(multipart, the_number_of_parts_is_limited)
{
	struct buf form = { 0 };
	struct multipart m;
	struct err err = { .msg = "" };

	for (int i = 0; i < MULTIPART_PARTS_MAX; i++)
		buf_str(&form, "--xyz\r\n\r\na\r\n");
	cr_expect(split(TYPE, str_from(buf_bytes(&form)), &m, &err) ==
		  ERR_INVALID);
	buf_str(&form, "--xyz--");
	cr_expect(!split(TYPE, str_from(buf_bytes(&form)), &m, &err));
	form.len -= 2;
	buf_str(&form, "\r\n\r\na\r\n--xyz--");
	cr_expect(split(TYPE, str_from(buf_bytes(&form)), &m, &err) ==
		  ERR_INVALID);
	cr_expect(strstr(err.msg, "more than 16"), "%s", err.msg);
	buf_fini(&form);
}
