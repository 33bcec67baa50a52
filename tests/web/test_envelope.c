/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON around answers and errors, and the status of each error. */
#include "base/mem.h"
#include "tests/check.h"
#include "web/api/envelope.h"
#include "web/pages/page.h"

TestSuite(envelope, .timeout = 30);

/* The value of a header; NULL when the answer does not have it. */
static const char *header_of(const struct answer *a, const char *name)
{
	for (size_t i = 0; i < a->header_count; i++) {
		if (!strcmp(a->headers[i].name, name))
			return a->headers[i].value;
	}
	return NULL;
}

static struct str body_of(const struct answer *a)
{
	return str_from(buf_bytes(&a->body));
}

#define JSON_TYPE "application/json; charset=utf-8"

Test(envelope, a_success_has_data_and_no_warnings)
{
	static const char *const none[] = { NULL };
	static const char *const *const empty[] = { NULL, none };

	for (size_t i = 0; i < ARRAY_SIZE(empty); i++) {
		struct answer a = { 0 };
		struct json j = envelope_begin(&a);

		json_int(&j, 7);
		envelope_end(&j, &a, empty[i]);
		cr_assert(a.status == 200);
		cr_expect(!strcmp(a.content_type, JSON_TYPE));
		cr_expect(check_str(body_of(&a),
				    "{\"status\":\"success\",\"data\":7}"));
		cr_expect(!a.header_count, "it may be cached");
		buf_fini(&a.body);
	}
}

Test(envelope, warnings_follow_the_data_and_forbid_caching)
{
	static const char *const warnings[] = { "one", "a \"quoted\" one\n", "",
						NULL };
	struct answer a = { 0 };
	struct json j = envelope_begin(&a);

	json_begin(&j, '[');
	json_end(&j, ']');
	envelope_end(&j, &a, warnings);
	cr_expect(a.status == 200);
	cr_expect(check_str(
		body_of(&a),
		"{\"status\":\"success\",\"data\":[],\"warnings\":[\"one\","
		"\"a \\\"quoted\\\" one\\n\",\"\"]}"));
	buf_fini(&a.body);
}

/* The meaning of each code, as docs/api.md gives it. */
static const struct {
	int code;
	unsigned status;
	const char *type;
} statuses[] = {
	{ ERR_INVALID, 400, "bad_data" },
	{ ERR_UNAUTHORIZED, 401, "unauthorized" },
	{ ERR_DENIED, 403, "forbidden" },
	{ ERR_NOTFOUND, 404, "not_found" },
	{ ERR_EXISTS, 409, "conflict" },
	{ ERR_TOOBIG, 413, "too_large" },
	{ ERR_LIMIT, 429, "limit" },
	{ ERR_CORRUPT, 500, "internal" },
	{ ERR_IO, 500, "internal" },
	{ ERR_UNSUPPORTED, 501, "unimplemented" },
	{ ERR_NOSPACE, 503, "unavailable" },
	{ ERR_BUSY, 503, "unavailable" },
	{ ERR_AGAIN, 503, "unavailable" },
	{ ERR_CLOSED, 503, "unavailable" },
	{ ERR_TIMEOUT, 503, "timeout" },
	{ -99, 500, "internal" }, /* not an error code */
	{ 0, 500, "internal" },
};

Test(envelope, each_error_has_its_status_and_type)
{
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct err err = { .code = statuses[i].code, .msg = "why" };
		struct answer a = { 0 };
		CLEANUP(mem_freep)
		char *want = mem_printf("{\"status\":\"error\",\"errorType\":"
					"\"%s\",\"error\":\"why\"}",
					statuses[i].type);

		answer_error(&a, &err);
		cr_expect(a.status == statuses[i].status, "%s: %u",
			  err_name(err.code), a.status);
		cr_expect(check_str(body_of(&a), want), "%s",
			  err_name(err.code));
		cr_expect(!strcmp(a.content_type, JSON_TYPE));
		cr_expect(!!header_of(&a, "Retry-After") == (a.status == 429),
			  "%s", err_name(err.code));
		buf_fini(&a.body);
	}
}

Test(envelope, an_error_drops_what_was_written_before)
{
	struct err err = { .code = ERR_CORRUPT, .msg = "file \"a\\b\"\t\x01" };
	struct answer a = { .status = 200, .content_type = "text/plain" };
	struct json j = envelope_begin(&a);

	json_text(&j, "half");
	for (int i = 0; i < ANSWER_HEADERS_MAX; i++)
		answer_header(&a, "X-Half", "1");
	a.body.over = true;
	answer_error(&a, &err);
	cr_assert(a.status == 500);
	cr_expect(!header_of(&a, "X-Half"));
	cr_expect(check_str(body_of(&a),
			    "{\"status\":\"error\",\"errorType\":\"internal\","
			    "\"error\":\"file \\\"a\\\\b\\\"\\t\\u0001\"}"));
	cr_expect(!a.body.over);
	buf_fini(&a.body);
}

Test(envelope, an_error_message_that_is_not_utf8_is_made_so)
{
	struct err err = { .code = ERR_INVALID, .msg = "a\xff\xc3" };
	struct answer a = { 0 };

	answer_error(&a, &err);
	cr_expect(strstr(buf_cstr(&a.body), "\"a\\ufffd\\ufffd\""), "%s",
		  buf_cstr(&a.body));
	buf_fini(&a.body);
}

Test(envelope, go_tool_pprof_gets_an_error_as_text)
{
	struct err err = { .code = ERR_LIMIT, .msg = "too \"much\"" };
	struct answer a = { 0 };

	buf_str(&a.body, "half");
	answer_pprof_error(&a, &err);
	cr_expect(a.status == 429);
	cr_expect(check_str(body_of(&a), "too \"much\"\n"));
	cr_expect(
		check_str(str_of(a.content_type), "text/plain; charset=utf-8"));
	cr_expect(check_str(str_of(header_of(&a, "X-Go-Pprof")), "1"));
	cr_expect(header_of(&a, "Retry-After"));
	buf_fini(&a.body);
}

Test(envelope, a_status_alone_changes_nothing_else)
{
	struct err err = { .code = ERR_DENIED, .msg = "no" };
	struct answer a = { .content_type = "text/html" };

	buf_str(&a.body, "<p>");
	cr_expect(!strcmp(answer_status(&a, &err), "forbidden"));
	cr_assert(a.status == 403);
	cr_expect(check_str(body_of(&a), "<p>"));
	cr_assert(!strcmp(a.content_type, "text/html"));
	cr_expect(!a.header_count);
	buf_fini(&a.body);
}

Test(envelope, a_text_is_copied_with_its_nul_bytes)
{
	char text[] = "a\0b";
	struct answer a = { 0 };

	answer_text(&a, 503, "text/plain",
		    (struct str){ .ptr = text, .len = 3 });
	text[0] = 'x';
	cr_assert(a.status == 503);
	cr_expect(a.body.len == 3);
	cr_expect(!memcmp(a.body.ptr, "a\0b", 3));
	buf_fini(&a.body);
}

/* Makes a label set with one label, whose value is len times "v". */
static struct labels *labels_of(const char *name, size_t len)
{
	struct labels_builder b = { 0 };
	struct buf value = { 0 };
	struct labels *ls = NULL;

	while (len--)
		buf_byte(&value, 'v');
	labels_set(&b, str_of(name), str_from(buf_bytes(&value)));
	cr_assert(!labels_build(&b, &ls, NULL));
	labels_builder_fini(&b);
	buf_fini(&value);
	return ls;
}

Test(envelope, the_profile_of_an_answer_is_named_in_headers)
{
	struct request r = { 0 };
	struct answer a = { 0 };
	struct labels *ls = labels_of("a\"\n", 2);

	answer_identity(&a, &r, ls, -5);
	labels_unref(ls);
	cr_expect(check_str(str_of(header_of(&a, "X-Everprof-Labels")),
			    "{\"a\\\"\\n\":\"vv\"}"));
	cr_expect(
		check_str(str_of(header_of(&a, "X-Everprof-Timestamp")), "-5"));
	arena_fini(&r.arena);
}

Test(envelope, labels_of_more_than_8_kib_are_in_no_header)
{
	/* {"a":"…"} has 8 bytes around the value. */
	static const size_t room = 8 * 1024 - 8;

	for (size_t more = 0; more < 2; more++) {
		struct request r = { 0 };
		struct answer a = { 0 };
		struct labels *ls = labels_of("a", room + more);

		answer_identity(&a, &r, ls, INT64_MAX);
		cr_expect(!header_of(&a, "X-Everprof-Labels") == !!more);
		cr_expect(
			check_str(str_of(header_of(&a, "X-Everprof-Timestamp")),
				  "9223372036854775807"));
		labels_unref(ls);
		arena_fini(&r.arena);
	}
}

Test(envelope, a_path_that_does_not_exist_is_told_as_a_page_or_as_json)
{
	struct request r = { 0 };
	struct answer a = { 0 };

	page_missing(&r, &a);
	cr_assert(a.status == 404);
	cr_expect(!strcmp(a.content_type, JSON_TYPE));
	cr_expect(str_starts(body_of(&a), str_of("{\"status\":\"error\"")));
	buf_fini(&a.body);
	a = (struct answer){ 0 };
	r.accepts_html = true;
	page_missing(&r, &a);
	cr_expect(a.status == 404);
	cr_expect(
		check_str(str_of(a.content_type), "text/html; charset=utf-8"));
	cr_expect(strstr(buf_cstr(&a.body), "<section class=error>"));
	cr_expect(strstr(buf_cstr(&a.body), "</html>"));
	cr_expect(
		strstr(buf_cstr(&a.body), "<a href='/profiles'>Profiles</a>"));
	buf_fini(&a.body);
	arena_fini(&r.arena);
}

Test(envelope, a_page_runs_no_script)
{
	struct request r = { 0 };
	struct answer a = { 0 };
	const char *policy;

	page_begin(&a, &r);
	policy = header_of(&a, "Content-Security-Policy");
	cr_assert(policy);
	cr_assert(strstr(policy, "default-src 'none'"), "%s", policy);
	cr_expect(!strstr(policy, "script-src"), "%s", policy);
	cr_expect(check_str(str_of(header_of(&a, "Referrer-Policy")),
			    "no-referrer"));
	buf_fini(&a.body);
	arena_fini(&r.arena);
}
