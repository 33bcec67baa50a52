/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text inside other formats: JSON, XML and URLs, with hostile bytes in it.
 */
#include <jansson.h>
#include <math.h>

#include "base/json.h"
#include "base/printable.h"
#include "base/url.h"
#include "base/xml.h"
#include "tests/check.h"

TestSuite(escaping, .timeout = 20);

#define REPLACED "\xef\xbf\xbd" /* U+FFFD */

static struct str text_of(const char *p, size_t n)
{
	return (struct str){ .ptr = p, .len = n };
}

Test(escaping, json_strings_have_no_raw_control_characters)
{
	static const struct {
		const char *text;
		size_t n;
		const char *want;
	} cases[] = {
		{ "", 0, "\"\"" },
		{ "plain /'&<>", 11, "\"plain /'&<>\"" },
		{ "\"\\", 2, "\"\\\"\\\\\"" },
		{ "\n\r\t", 3, "\"\\n\\r\\t\"" },
		{ "\b\f\x1f\x7f", 4, "\"\\u0008\\u000c\\u001f\\u007f\"" },
		{ "a\0b", 3, "\"a\\u0000b\"" },
		{ "\xc3\xa9\xf0\x9f\x98\x80", 6,
		  "\"\xc3\xa9\xf0\x9f\x98\x80\"" },
		{ "a\xff\xfe"
		  "b",
		  4, "\"a\\ufffd\\ufffdb\"" },
		{ "\xe2\x82", 2, "\"\\ufffd\\ufffd\"" },
		{ "\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"" },
		{ "\xc3\xa9", 1, "\"\\ufffd\"" },
		{ "\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", 8,
		  "\"\\u0080\\u009b\\u009f\xc2\xa0\"" },
		{ "\xe2\x80\xae\xe2\x81\xa6", 6, "\"\\u202e\\u2066\"" },
	};
	struct buf b = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		buf_reset(&b);
		json_quote(&b, text_of(cases[i].text, cases[i].n));
		cr_expect(check_str(str_from(buf_bytes(&b)), cases[i].want));
	}
	buf_reset(&b);
	json_quote(&b, (struct str){ 0 });
	cr_expect(check_str(str_from(buf_bytes(&b)), "\"\""));
	buf_fini(&b);
}

Test(escaping, terminals_get_no_control_characters)
{
	static const struct {
		const char *text;
		size_t n;
		const char *line;
		const char *lines; /* NULL: the same */
	} cases[] = {
		{ "", 0, "", NULL },
		{ "main.(*T).run \\ \"x\"", 19, "main.(*T).run \\ \"x\"",
		  NULL },
		{ "\x1b]0;title\a\x1b[2J", 14, "\\x1b]0;title\\x07\\x1b[2J",
		  NULL },
		{ "a\0b\x7f", 4, "a\\x00b\\x7f", NULL },
		{ "a\tb\r\n", 5, "a\\tb\\r\\n", "a\tb\\r\n" },
		{ "\xc2\x7f\xc2\x80\xc2\x9f\xc2\xa0", 8,
		  "\\xc2\\x7f\\x80\\x9f\xc2\xa0", NULL },
		{ "\x9b"
		  "2J\xff",
		  4, "\\x9b2J\\xff", NULL },
		{ "a\xe2\x80\xaa\xe2\x80\xae"
		  "evil",
		  11, "a\\u202a\\u202eevil", NULL },
		{ "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xa6"
		  "\xe2\x81\xa9\xe2\x81\xaa",
		  18,
		  "\\u2029\xe2\x80\xaf\\u2065\\u2066"
		  "\\u2069\xe2\x81\xaa",
		  NULL },
		{ "a\xe2\x80\x8b\xe2\x80\xa8\xef\xbb\xbf\xf3\xa0\x81\x81", 14,
		  "a\\u200b\\u2028\\ufeff\\ue0041", NULL },
		{ "\xf3\xa0\x82\x80", 4, "\xf3\xa0\x82\x80", NULL },
		{ "\xc3\xa9\xf0\x9f\x98\x80\xe2\x80", 8,
		  "\xc3\xa9\xf0\x9f\x98\x80\\xe2\\x80", NULL },
	};
	struct buf b = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str text = text_of(cases[i].text, cases[i].n);

		buf_reset(&b);
		printable_add(&b, text);
		cr_expect(check_str(str_from(buf_bytes(&b)), cases[i].line));
		buf_reset(&b);
		printable_add_lines(&b, text);
		cr_expect(check_str(str_from(buf_bytes(&b)),
				    cases[i].lines ?: cases[i].line));
	}
	buf_reset(&b);
	printable_add(&b, (struct str){ 0 });
	cr_expect(!b.len);
	buf_fini(&b);
}

Test(escaping, json_strings_are_read_back_by_others)
{
	uint8_t all[256];
	struct buf b = { 0 };
	json_t *v;

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)i;
	json_quote(&b, str_from((struct bytes){ all, 128 }));
	v = json_loadb((const char *)b.ptr, b.len,
		       JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	cr_assert(v);
	cr_assert(json_string_length(v) == 128);
	cr_expect(!memcmp(json_string_value(v), all, 128));
	json_decref(v);
	buf_reset(&b);
	json_quote(&b, str_from((struct bytes){ all + 128, 128 }));
	v = json_loadb((const char *)b.ptr, b.len, JSON_DECODE_ANY, NULL);
	cr_assert(v);
	cr_assert(json_string_length(v) == 3 * (size_t)128);
	for (size_t i = 0; i < 128; i++)
		cr_expect(!memcmp(json_string_value(v) + 3 * i, REPLACED, 3));
	json_decref(v);
	buf_fini(&b);
}

Test(escaping, json_sets_its_commas_at_any_depth)
{
	struct buf b = { 0 };
	struct json j = json_init(&b);

	json_begin(&j, '[');
	json_begin(&j, '{');
	json_end(&j, '}');
	json_begin(&j, '[');
	json_end(&j, ']');
	json_begin(&j, '{');
	json_key_str(&j, text_of("k\0y", 3));
	json_bool(&j, false);
	json_key(&j, "");
	json_text(&j, "");
	json_key(&j, "n");
	json_begin(&j, '[');
	json_int(&j, 0);
	json_int(&j, INT64_MAX);
	json_int(&j, -1);
	json_end(&j, ']');
	json_end(&j, '}');
	json_bool(&j, true);
	json_end(&j, ']');
	cr_expect(check_str(str_from(buf_bytes(&b)),
			    "[{},[],{\"k\\u0000y\":false,\"\":\"\",\"n\":"
			    "[0,9223372036854775807,-1]},true]"));
	buf_reset(&b);
	j = json_init(&b);
	for (int i = 0; i < 1000; i++) {
		json_begin(&j, '{');
		json_key(&j, "a");
	}
	json_bool(&j, true);
	for (int i = 0; i < 1000; i++)
		json_end(&j, '}');
	json_t *v = json_loadb((const char *)b.ptr, b.len, 0, NULL);

	cr_assert(v);
	cr_expect(b.len == 1000 * strlen("{\"a\":}") + 4);
	json_decref(v);
	buf_fini(&b);
}

Test(escaping, json_numbers_have_the_digits_that_they_need)
{
	static const struct {
		double v;
		const char *want;
	} cases[] = {
		{ 0, "0" },
		{ 1, "1" },
		{ -2.5, "-2.5" },
		{ 0.1, "0.1" },
		{ -0.1, "-0.1" },
		{ 0.0001, "0.0001" },
		{ 0.00001, "1e-05" },
		{ 1234.5, "1234.5" },
		{ 100.25, "100.25" },
		{ 0.000123456789012345, "0.000123456789012345" },
		{ 99999999999999.9, "99999999999999.9" },
		{ 99999999999999.98, "99999999999999.98" },
		{ 1.00000000000001, "1.00000000000001" },
		{ 999999999999999.9, "999999999999999.9" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 1e21, "1e+21" },
		{ 5e-324, "4.94065645841247e-324" },
		{ 123456789012345678.0, "1.2345678901234568e+17" },
		{ NAN, "null" },
		{ INFINITY, "null" },
		{ -INFINITY, "null" },
	};
	struct buf b = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json j = json_init(&b);

		buf_reset(&b);
		json_double(&j, cases[i].v);
		cr_expect(check_str(str_from(buf_bytes(&b)), cases[i].want));
		cr_expect(!isfinite(cases[i].v) ||
			  strtod(buf_cstr(&b), NULL) == cases[i].v);
	}
	buf_fini(&b);
}

Test(escaping, json_without_room_is_marked)
{
	struct buf b = buf_init(8);
	struct json j = json_init(&b);

	json_begin(&j, '[');
	json_text(&j, "longer than that");
	json_end(&j, ']');
	cr_assert(b.over);
	cr_expect(b.len <= 8);
	buf_fini(&b);
}

Test(escaping, xml_is_safe_between_tags_and_in_attributes)
{
	static const struct {
		const char *text;
		size_t n;
		const char *want;
	} cases[] = {
		{ "", 0, "" },
		{ "a<b>&\"'", 7, "a&lt;b&gt;&amp;&quot;&#39;" },
		{ "&lt;", 4, "&amp;lt;" },
		{ "]]>", 3, "]]&gt;" },
		{ "\t\n\r", 3, "\t\n\r" },
		{ "a\0b\x01\x1f", 5, "a" REPLACED "b" REPLACED REPLACED },
		{ "\x7f", 1, "\x7f" },
		{ "\xc3\xa9\xf0\x9f\x98\x80", 6, "\xc3\xa9\xf0\x9f\x98\x80" },
		{ "\xff<\xc3", 3, REPLACED "&lt;" REPLACED },
		{ "\xc3<", 2, REPLACED "&lt;" },
		{ "\xed\xa0\x80", 3, REPLACED REPLACED REPLACED },
		{ "\xe2\x82\xac", 2, REPLACED REPLACED },
	};
	struct buf b = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		buf_reset(&b);
		xml_escape(&b, text_of(cases[i].text, cases[i].n));
		cr_expect(check_str(str_from(buf_bytes(&b)), cases[i].want));
	}
	buf_fini(&b);
}

Test(escaping, characters_that_xml_forbids_are_replaced)
{
	struct buf out = { 0 };

	xml_escape(&out, str_of("a\xef\xbf\xbf"
				"b\xef\xbf\xbe\xef\xbf\xbd\x01"));
	cr_expect(check_str(str_of(buf_cstr(&out)),
			    "a\xef\xbf\xbd"
			    "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
	buf_fini(&out);
}

Test(escaping, characters_that_reorder_a_text_are_shown_as_escapes)
{
	static const char all[] =
		"a\u202eevil<\u061c\u200e\u200f\u202a\u2066\u2069";
	static const char others[] = "\u061b\u200d\u2010\u2029\u202f\u2065"
				     "\u206a\u05d0\U0001f600";
	struct buf out = { 0 };

	xml_escape_text(&out, str_of(all));
	cr_expect(check_str(str_of(buf_cstr(&out)),
			    "a\\u202eevil&lt;\\u061c\\u200e\\u200f\\u202a"
			    "\\u2066\\u2069"));
	buf_reset(&out);
	xml_escape_text(&out, str_of(others));
	cr_expect(check_str(str_of(buf_cstr(&out)), others));
	buf_reset(&out);
	/* The value of a field stays as it is. */
	xml_escape(&out, str_of("a\u202e"));
	cr_expect(check_str(str_of(buf_cstr(&out)), "a\u202e"));
	buf_fini(&out);
}

Test(escaping, urls_keep_unreserved_characters_alone)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789-_.~";
	struct arena arena = { 0 };
	struct buf b = { 0 };
	char all[256];
	struct str back;
	size_t kept = 0;

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)i;
	url_escape(text_of(all, sizeof(all)), &b);
	for (size_t i = 0; i < b.len; i++) {
		if (b.ptr[i] != '%') {
			cr_expect(strchr(plain, b.ptr[i]) != NULL);
			kept++;
			continue;
		}
		cr_expect(i + 2 < b.len);
		i += 2;
	}
	cr_expect(kept == strlen(plain));
	cr_expect(b.len == kept + 3 * (256 - kept));
	back = url_unescape(str_from(buf_bytes(&b)), &arena);
	cr_expect(str_eq(back, text_of(all, sizeof(all))));
	back = url_unescape_path(str_from(buf_bytes(&b)), &arena);
	cr_expect(str_eq(back, text_of(all, sizeof(all))));
	arena_fini(&arena);
	buf_fini(&b);
}

Test(escaping, urls_are_decoded_leniently)
{
	static const struct {
		const char *text;
		const char *form;
		const char *path;
	} cases[] = {
		{ "", "", "" },
		{ "a+b", "a b", "a+b" },
		{ "%2B+%2b", "+ +", "+++" },
		{ "%41%4a%4A", "AJJ", "AJJ" },
		{ "100%", "100%", "100%" },
		{ "%4", "%4", "%4" },
		{ "%g1%1g", "%g1%1g", "%g1%1g" },
		{ "%%41", "%A", "%A" },
		{ "%2541", "%41", "%41" },
		{ "%2", "%2", "%2" },
		{ "%c3%a9", "\xc3\xa9", "\xc3\xa9" },
	};
	struct arena arena = { 0 };
	struct str got;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct str text = str_of(cases[i].text);

		got = url_unescape(text, &arena);
		cr_expect(check_str(got, cases[i].form));
		cr_expect(!got.ptr[got.len], "a NUL behind it");
		got = url_unescape_path(text, &arena);
		cr_expect(check_str(got, cases[i].path));
	}
	got = url_unescape(str_of("a%00b"), &arena);
	cr_assert(got.len == 3);
	cr_expect(!memcmp(got.ptr, "a\0b", 4));
	/* An escape that the end of the view cuts is not decoded. */
	got = url_unescape(text_of("%41", 2), &arena);
	cr_expect(check_str(got, "%4"));
	cr_expect(!url_unescape((struct str){ 0 }, &arena).len);
	arena_fini(&arena);
}

Test(escaping, what_two_programs_could_read_differently_is_not_sound)
{
	static const char *const sound[] = { "", "a/b?c=d", "%41", "%fF", "+" };
	static const char *const unsound[] = { "%",    "%4", "%4g", "%g4",
					       "%%41", "a%", "%00", "x%00y" };

	for (size_t i = 0; i < ARRAY_SIZE(sound); i++)
		cr_expect(url_is_sound(str_of(sound[i])), "%s", sound[i]);
	for (size_t i = 0; i < ARRAY_SIZE(unsound); i++)
		cr_expect(!url_is_sound(str_of(unsound[i])), "%s", unsound[i]);
	cr_expect(!url_is_sound(text_of("%41", 2)));
	cr_expect(!url_is_sound(text_of("", 1)));
	cr_expect(url_is_sound((struct str){ 0 }));
}
