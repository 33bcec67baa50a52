/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving side of a transfer: the bounds of bodies and headers, and what
 * is made of a response's status.
 */
#include <stdarg.h>

#include "base/mem.h"
#include "client/transfer/http_status.h"
#include "client/transfer/transfer_receive.h"
#include "tests/check.h"

TestSuite(transfer_receive, .timeout = 20);

#undef curl_easy_getinfo

/* The status of the response, which libcurl would have read. */
static long status_now;

CURLcode curl_easy_getinfo(CURL *easy, CURLINFO info, ...)
{
	va_list args;

	(void)easy;
	if (info != CURLINFO_RESPONSE_CODE)
		return CURLE_UNKNOWN_OPTION;
	va_start(args, info);
	*va_arg(args, long *) = status_now;
	va_end(args);
	return CURLE_OK;
}

/* A transfer that receives, without a connection. */
struct receiving {
	struct http_client client;
	struct transfer t;
};

static void begin(struct receiving *r, size_t max_body)
{
	*r = (struct receiving){ 0 };
	r->t.client = &r->client;
	r->t.max_body = max_body;
	r->t.content_length = -1;
	r->t.response.body = buf_init(max_body);
}

static void end(struct receiving *r)
{
	ingest_limiter_release(&r->t.response.share);
	buf_fini(&r->t.response.body);
	buf_fini(&r->t.response.headers);
}

static size_t take(struct receiving *r, const char *text)
{
	char *copy = mem_strdup(text);
	size_t n = transfer_on_body(copy, 1, strlen(text), &r->t);

	mem_free(copy);
	return n;
}

static bool take_header(struct receiving *r, const char *line)
{
	char *copy = mem_strdup(line);
	size_t n = transfer_on_header(copy, 1, strlen(line), &r->t);

	mem_free(copy);
	return n == strlen(line);
}

Test(transfer_receive, a_body_may_be_as_large_as_its_bound)
{
	struct receiving r;

	begin(&r, 6);
	cr_assert(take(&r, "abc") == 3);
	cr_expect(take(&r, "") == 0);
	cr_assert(take(&r, "def") == 3);
	cr_expect(!r.t.response.code);
	cr_expect(check_str(str_from(buf_bytes(&r.t.response.body)), "abcdef"));
	cr_expect(take(&r, "g") == 0, "the transfer is aborted");
	cr_expect(r.t.response.code == ERR_TOOBIG);
	cr_expect(strstr(r.t.response.err.msg, "6 bytes") != NULL, "%s",
		  r.t.response.err.msg);
	end(&r);
}

Test(transfer_receive, a_piece_is_as_many_bytes_as_size_times_count)
{
	char text[] = "abcdef";
	struct receiving r;

	begin(&r, 6);
	cr_expect(transfer_on_body(text, 2, 3, &r.t) == 6);
	cr_expect(check_str(str_from(buf_bytes(&r.t.response.body)), "abcdef"));
	r.t.keep_headers = true;
	cr_expect(transfer_on_header(text, 3, 2, &r.t) == 6);
	cr_assert(r.t.header_bytes == 6);
	cr_expect(r.t.response.headers.len == 6);
	end(&r);
}

/* The data that a sink received. */
struct sunk {
	struct buf text;
	bool full;
};

static bool sink(void *ctx, struct bytes b)
{
	struct sunk *s = ctx;

	if (s->full)
		return false;
	buf_add(&s->text, b.ptr, b.len);
	return true;
}

Test(transfer_receive, only_the_body_of_a_success_goes_to_the_sink)
{
	static const long statuses[] = { 200, 204, 206, 301, 404, 500 };

	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		struct sunk s = { 0 };
		struct receiving r;
		bool ok = statuses[i] == 200;

		begin(&r, 3);
		r.t.sink = sink;
		r.t.sink_ctx = &s;
		status_now = statuses[i];
		cr_expect(take(&r, "abc") == 3, "%ld", statuses[i]);
		cr_expect(s.text.len == (ok ? 3 : 0), "%ld", statuses[i]);
		cr_expect(r.t.response.body.len == (ok ? 0 : 3), "%ld",
			  statuses[i]);
		/*
		 * The sink has no bound in this test, but the body of an error
		 * has.
		 */
		cr_expect(take(&r, "d") == (ok ? 1 : 0), "%ld", statuses[i]);
		buf_fini(&s.text);
		end(&r);
	}
}

Test(transfer_receive, a_sink_that_wants_no_more_aborts)
{
	struct sunk s = { .full = true };
	struct receiving r;

	begin(&r, 3);
	r.t.sink = sink;
	r.t.sink_ctx = &s;
	status_now = 200;
	cr_assert(take(&r, "abc") == 0);
	cr_expect(!r.t.response.body.len);
	cr_expect(!r.t.response.code, "the caller knows why");
	end(&r);
}

Test(transfer_receive, a_body_without_memory_is_paused_and_loses_nothing)
{
	struct ingest_limiter *in = ingest_limiter_new(4LL * INGEST_SMALL, 0);
	struct ingest_share slot = { 0 };
	struct ingest_share others[4] = { 0 };
	struct receiving r;
	int64_t left;

	begin(&r, MIB);
	r.client.limiter = in;
	cr_expect(take(&r, "abc") == 3);
	/* Other bodies take all memory that is left, and the slot too. */
	cr_assert(ingest_limiter_take(in, &slot, INGEST_LARGE + 1));
	left = 4LL * INGEST_SMALL - r.t.response.share.taken;
	for (size_t i = 0; i < 4; i++) {
		int64_t n = left < INGEST_SMALL ? left : INGEST_SMALL;

		cr_assert(ingest_limiter_take(in, &others[i], n));
		left -= n;
	}
	/* Bytes for which the body has memory already are still taken. */
	while (r.t.response.body.len < r.t.response.body.cap)
		cr_assert(take(&r, "d") == 1);
	cr_expect(take(&r, "ef") == CURL_WRITEFUNC_PAUSE);
	cr_expect(r.t.response.body.len == r.t.response.body.cap);
	cr_expect(r.t.wants >= r.t.response.body.len + 2);
	cr_expect(atomic_load(&r.client.waits) == 1);
	cr_expect(take(&r, "ef") == CURL_WRITEFUNC_PAUSE);
	cr_expect(atomic_load(&r.client.waits) == 2);
	cr_expect(!r.t.response.code, "waiting is no error");
	ingest_limiter_release(&others[0]);
	cr_expect(take(&r, "ef") == 2, "there is room again");
	cr_expect(r.t.response.body.ptr[r.t.response.body.len - 1] == 'f');
	for (size_t i = 1; i < 4; i++)
		ingest_limiter_release(&others[i]);
	ingest_limiter_release(&slot);
	end(&r);
	cr_expect(ingest_limiter_held(in) == 0);
	ingest_limiter_free(in);
}

/* Headers. */

Test(transfer_receive, headers_have_a_bound_together)
{
	char *line = mem_zalloc(HTTP_HEADER_MAX + 1, 1);
	struct receiving r;

	memset(line, 'x', HTTP_HEADER_MAX);
	begin(&r, 0);
	cr_assert(take_header(&r, line));
	cr_expect(!r.t.response.code);
	cr_expect(!take_header(&r, "y"));
	cr_expect(r.t.response.code == ERR_TOOBIG);
	cr_expect(strstr(r.t.response.err.msg, "65536") != NULL, "%s",
		  r.t.response.err.msg);
	end(&r);
	mem_free(line);
}

Test(transfer_receive, headers_are_kept_only_when_asked_for)
{
	struct receiving r;

	begin(&r, 0);
	cr_assert(take_header(&r, "A: b\r\n"));
	cr_expect(!r.t.response.headers.len);
	r.t.keep_headers = true;
	cr_assert(take_header(&r, "C: d\r\n"));
	cr_expect(take_header(&r, "\r\n"));
	cr_expect(check_str(str_from(buf_bytes(&r.t.response.headers)),
			    "C: d\r\n\r\n"));
	end(&r);
}

/* Only the final answer says something about the request. */
Test(transfer_receive, headers_are_those_of_the_last_response)
{
	static const char *const lines[] = {
		"HTTP/1.1 103 Early Hints\r\n",
		"Stored: 1\r\n",
		"\r\n",
		"HTTP/1.1 204 No Content\r\n",
		"Other: 2\r\n",
		"\r\n",
		"Stored: 3\r\n",
		"Late: 4\r\n",
	};
	struct receiving r;

	begin(&r, 0);
	r.t.keep_headers = true;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		cr_expect(take_header(&r, lines[i]));
	cr_expect(!http_response_header(&r.t.response, "Stored").len);
	cr_expect(!http_response_header(&r.t.response, "Late").len);
	cr_expect(check_str(http_response_header(&r.t.response, "other"), "2"));
	cr_expect(
		check_str(http_response_trailer(&r.t.response, "stored"), "3"));
	cr_expect(check_str(http_response_trailer(&r.t.response, "Late"), "4"));
	cr_expect(!http_response_trailer(&r.t.response, "Other").len);
	end(&r);
}

/* A proxy in between could have read the body by the other length. */
Test(transfer_receive, two_lengths_that_differ_are_refused)
{
	static const struct {
		const char *what;
		const char *lines[4];
		bool good;
	} cases[] = {
		{ "one", { "Content-Length: 5\r\n" }, true },
		{ "the same twice",
		  { "Content-Length: 5\r\n", "content-LENGTH:5\r\n" },
		  true },
		{ "the same in other digits",
		  { "Content-Length: 5\r\n", "Content-Length: \t05 \r\n" },
		  true },
		{ "others",
		  { "Content-Length: 5\r\n", "Content-Length: 6\r\n" },
		  false },
		{ "the third one differs",
		  { "Content-Length: 5\r\n", "Content-Length: 5\r\n",
		    "Content-Length: 4\r\n" },
		  false },
		{ "without a blank",
		  { "Content-Length:5\r\n", "Content-Length:6\r\n" },
		  false },
		{ "none and some",
		  { "Content-Length: 0\r\n", "Content-Length: 1\r\n" },
		  false },
		{ "another response begins",
		  { "HTTP/1.1 100 Continue\r\n", "Content-Length: 5\r\n",
		    "HTTP/1.1 200 OK\r\n", "Content-Length: 6\r\n" },
		  true },
		{ "other headers end like it",
		  { "Content-Length: 5\r\n", "X-Content-Length: 6\r\n",
		    "Content-Length-X: 6\r\n" },
		  true },
		{ "no value",
		  { "Content-Length: 5\r\n", "Content-Length:" },
		  true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct receiving r;
		bool good = true;

		begin(&r, 0);
		for (size_t k = 0; k < 4 && cases[i].lines[k]; k++)
			good &= take_header(&r, cases[i].lines[k]);
		cr_expect(good == cases[i].good, "%s", cases[i].what);
		cr_expect(r.t.response.code ==
				  (cases[i].good ? 0 : ERR_CORRUPT),
			  "%s", cases[i].what);
		end(&r);
	}
}

/* Statuses. */

Test(transfer_receive, statuses_have_their_names)
{
	static const struct {
		long status;
		const char *text;
	} cases[] = {
		{ 200, "OK" },
		{ 302, "Found" },
		{ 308, "Permanent Redirect" },
		{ 401, "Unauthorized" },
		{ 404, "Not Found" },
		{ 429, "Too Many Requests" },
		{ 500, "Internal Server Error" },
		{ 504, "Gateway Timeout" },
		{ 299, "" },
		{ 599, "" },
		{ 0, "" },
		{ -1, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(check_str(str_of(http_status_text(cases[i].status)),
				    cases[i].text),
			  "%ld", cases[i].status);
}

Test(transfer_receive, a_response_is_judged_by_its_status)
{
	static const struct {
		struct http_response r;
		int code;
		const char *says[3];
	} cases[] = {
		{ { .status = 200, .location = "" }, 0, { NULL } },
		{ { .code = ERR_TIMEOUT, .err = { 0, "too late" } },
		  ERR_TIMEOUT,
		  { "too late" } },
		/* A failure counts more than a status that came before it. */
		{ { .code = ERR_TOOBIG, .status = 200, .err = { 0, "big" } },
		  ERR_TOOBIG,
		  { "big" } },
		{ { .status = 204, .location = "" },
		  ERR_INVALID,
		  { "204", "No Content" } },
		{ { .status = 302, .location = "http://other/" },
		  ERR_INVALID,
		  { "302", "http://other/", "redirect" } },
		{ { .status = 304, .location = "" },
		  ERR_INVALID,
		  { "304", "Not Modified" } },
		{ { .status = 404, .location = "", .said = "no such thing" },
		  ERR_INVALID,
		  { "404", "Not Found", "no such thing" } },
		{ { .status = 599, .location = "" }, ERR_INVALID, { "599" } },
		{ { .status = 0, .location = "" },
		  ERR_INVALID,
		  { "status 0" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = { 0 };

		cr_expect(http_status_check(&cases[i].r, &err) == cases[i].code,
			  "case %zu", i);
		for (size_t k = 0; k < 3 && cases[i].says[k]; k++)
			cr_expect(strstr(err.msg, cases[i].says[k]) != NULL,
				  "case %zu: %s", i, err.msg);
	}
}
