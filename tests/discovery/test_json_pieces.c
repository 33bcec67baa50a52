/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that arrives in parts, cut into pieces; and the syntax of selectors. */
#include "discovery/kubernetes/json_pieces.h"
#include "discovery/kubernetes/kube_selector.h"
#include "tests/check.h"

TestSuite(json_pieces, .timeout = 60);

static int note(void *ctx, struct str key, struct bytes piece,
		struct err *err UNUSED)
{
	struct buf *out = ctx;

	buf_printf(out, "%.*s:%.*s|", STR_ARG(key), (int)piece.len,
		   (const char *)piece.ptr);
	return 0;
}

/*
 * Cuts a text that arrives in parts of `step` bytes, and writes its pieces.
 * Returns false if it is refused or not complete.
 */
static bool cut(const char *text, bool is_list, size_t step, struct buf *out)
{
	struct json_pieces p;
	size_t len = strlen(text);
	bool ok = true;

	json_pieces_init(&p, is_list, note, out);
	for (size_t i = 0; ok && i < len; i += step) {
		struct bytes part = { (const uint8_t *)text + i,
				      len - i < step ? len - i : step };

		ok = !json_pieces_feed(&p, part, NULL);
	}
	ok = ok && json_pieces_done(&p);
	json_pieces_fini(&p);
	return ok;
}

/* Cuts a text that arrives in parts of each size. */
static void cuts(const char *text, bool is_list, const char *want)
{
	for (size_t step = 1; step <= strlen(text); step++) {
		struct buf out = { 0 };

		cr_expect(cut(text, is_list, step, &out), "%s", text);
		cr_expect(check_str(str_from(buf_bytes(&out)), want), "%zu",
			  step);
		buf_fini(&out);
	}
}

Test(json_pieces, a_list_has_members_and_items)
{
	cuts("{}", true, "");
	cuts(" { } ", true, "");
	cuts("{\"items\":[]}", true, "");
	cuts("{\"items\" : [ ] , \"a\" : 1 }", true, "a:1|");
	cuts("{\"kind\":\"L\",\"metadata\":{\"a\":[1]},\"items\":[{\"x\":1}, {\"y\":[{}]} ,3],\"z\":null}",
	     true,
	     "kind:\"L\"|metadata:{\"a\":[1]}|items:{\"x\":1}|items:{\"y\":[{}]}|items:3|z:null|");
	cuts("{\"items\":null,\"s\":\"}]\\\"\\\\\"}", true,
	     "items:null|s:\"}]\\\"\\\\\"|");
}

Test(json_pieces, a_stream_has_objects)
{
	cuts(" ", false, "");
	cuts("{\"a\":\"{\\\"\"}\n{}{\"items\":[1,{}]}\n", false,
	     ":{\"a\":\"{\\\"\"}|:{}|:{\"items\":[1,{}]}|");
}

Test(json_pieces, other_texts_are_refused)
{
	static const char *const lists[] = {
		"",
		"{",
		"[]",
		"null",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{\"items\":[1,]}",
		"{\"items\":[,1]}",
		"{\"items\":[1 2]}",
		"{} x",
		"{}{}",
		"{\"items\":[}",
		"{a:1}",
		"{\"a\":1",
		"{\"a\":\"",
		"{\"items\":[{}",
		"{\"\\u0061\":1}",
		",",
	};
	static const char *const streams[] = { "{",         "[]",   "1",
					       "{\"a\":\"", "{} ]", "{},{}" };
	struct buf out = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		cr_expect(!cut(lists[i], true, 1, &out), "%s", lists[i]);
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
		cr_expect(!cut(streams[i], false, 1, &out), "%s", streams[i]);
	buf_fini(&out);
}

Test(json_pieces, selectors_are_checked)
{
	static const char *const labels[] = {
		"",
		"a",
		"!a",
		"a=b",
		"a==b,c!=d",
		"a in (b)",
		" a in ( b , c ) , !d",
		"a notin (b)",
		"x.y/z-1>3",
		"a<4,b",
		"a=",
	};
	static const char *const no_labels[] = {
		"a b", "=b", "a in b", "a in (b", "a,,b", "a>", "a=(b)", "(a)",
	};
	static const char *const fields[] = { "", "a=b", "a.b!=c,d==e",
					      "a=b\\,c", "a=" };
	static const char *const no_fields[] = { "a", "a=b,c", "!=b", "=b" };

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		cr_expect(kube_is_label_selector(str_of(labels[i])), "%s",
			  labels[i]);
	for (size_t i = 0; i < ARRAY_SIZE(no_labels); i++)
		cr_expect(!kube_is_label_selector(str_of(no_labels[i])), "%s",
			  no_labels[i]);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		cr_expect(kube_is_field_selector(str_of(fields[i])), "%s",
			  fields[i]);
	for (size_t i = 0; i < ARRAY_SIZE(no_fields); i++)
		cr_expect(!kube_is_field_selector(str_of(no_fields[i])), "%s",
			  no_fields[i]);
}
