/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of parsing a request: its parameters, form, route, flags. */
#include "tests/web/exchanges.h"

TestSuite(exchange, .timeout = 60);

#define HOST                 "Host: a\r\n"
#define END                  "\r\n"
#define GET(target, headers) "GET " target " HTTP/1.1\r\n" HOST headers END

/* Parse the form, and write all parameters as "a=1;b=2;". */
static void list_params(struct exchange *x, void *ctx)
{
	struct buf *out = ctx;
	const struct params *p = &x->request.params;

	exchange_parse_form(x);
	for (size_t i = 0; i < p->count; i++)
		buf_printf(out, "%.*s=%.*s;", STR_ARG(p->v[i].name),
			   STR_ARG(p->v[i].value));
	if (x->bad)
		buf_str(out, "bad");
}

/*
 * Send a request, and let list_params() write to out. Returns the status of the
 * reply.
 */
static int ask_params(const char *request, size_t len, struct buf *out)
{
	struct bench *b = bench_start(NULL);
	int status;

	buf_reset(out);
	b->look = list_params;
	b->ctx = out;
	bench_send(b, request, len, 1);
	status = bench_status(b);
	bench_stop(b);
	return status;
}

Test(exchange, parameters_of_the_url_are_decoded_in_order)
{
	static const struct {
		const char *request;
		const char *want;
	} cases[] = {
		{ GET("/read", ""), "" },
		{ GET("/read?", ""), "" },
		{ GET("/read?a=1&b=2", ""), "a=1;b=2;" },
		{ GET("/read?b=2&a=1&b=3", ""), "b=2;a=1;b=3;" },
		{ GET("/read?a", ""), "a=;" },
		{ GET("/read?a=", ""), "a=;" },
		{ GET("/read?a=b=c", ""), "a=b=c;" },
		{ GET("/read?a=%41%20b+c", ""), "a=A b c;" },
		{ GET("/read?a=1%262", ""), "a=1&2;" },
		{ GET("/read?%61%3d=x", ""), "a==x;" },
		{ GET("/read?a=%c3%A9%ff", ""), "a=\xc3\xa9\xff;" },
		{ GET("/read?match[]=x", ""), "match[]=x;" },
		{ GET("/read?a=%25", ""), "a=%;" },
		{ GET("/read?a=/b?c", ""), "a=/b?c;" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf out = { 0 };
		int status = ask_params(cases[i].request,
					strlen(cases[i].request), &out);

		cr_expect(status == 204, "%s: %d", cases[i].request, status);
		cr_expect(check_str(str_from(buf_bytes(&out)), cases[i].want),
			  "%s", cases[i].request);
		buf_fini(&out);
	}
}

Test(exchange, a_target_with_a_broken_escape_or_a_nul_is_marked)
{
	static const char *const requests[] = {
		GET("/read?a=%", ""),      GET("/read?a=%4", ""),
		GET("/read?a=%zz", ""),    GET("/read?a=%00", ""),
		GET("/read?%00=a", ""),    GET("/read%zz", ""),
		GET("/re%00ad", ""),       GET("/read?a=1&b=%4x", ""),
		GET("/read?a=%u0041", ""), GET("/read?a=b%00c&d", ""),
	};

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		struct buf out = { 0 };

		ask_params(requests[i], strlen(requests[i]), &out);
		cr_expect(strstr(buf_cstr(&out), "bad"), "%s", requests[i]);
		buf_fini(&out);
	}
}

/* Post `body` with more headers. Returns the same as ask_params(). */
static int post(const char *target, const char *headers, struct str body,
		struct buf *out)
{
	struct buf text = { 0 };
	int status;

	buf_printf(&text,
		   "POST %s HTTP/1.1\r\n" HOST "%sContent-Length: %zu\r\n" END,
		   target, headers, body.len);
	buf_add(&text, body.ptr, body.len);
	status = ask_params((const char *)text.ptr, text.len, out);
	buf_fini(&text);
	return status;
}

Test(exchange, parameters_of_a_form_come_before_those_of_the_url)
{
	static const struct {
		const char *target;
		const char *body;
		const char *want;
	} cases[] = {
		{ "/read", "a=1&b=2", "a=1;b=2;" },
		{ "/read?a=0&c=3", "a=1&b=2", "a=1;b=2;a=0;c=3;" },
		{ "/read?a=0", "", "a=0;" },
		{ "/read?a=0", "&&", "a=0;" },
		{ "/read", "&a=1&&b=2&", "a=1;b=2;" },
		{ "/read", "a&b=", "a=;b=;" },
		{ "/read", "=x&a=1", "a=1;" },
		{ "/read", "a=b=c", "a=b=c;" },
		{ "/read", "%61=%41+b%2Bc", "a=A b+c;" },
		{ "/read", "a=\xc3\xa9\xff", "a=\xc3\xa9\xff;" },
		{ "/read", "a=1\r\n", "a=1\r\n;" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf out = { 0 };

		cr_expect(post(cases[i].target, "", str_of(cases[i].body),
			       &out) == 204,
			  "%s", cases[i].body);
		cr_expect(check_str(str_from(buf_bytes(&out)), cases[i].want),
			  "%s %s", cases[i].target, cases[i].body);
		buf_fini(&out);
	}
}

Test(exchange, a_body_that_is_no_sound_form_is_refused)
{
	static const struct {
		const char *what;
		const char *headers;
		const char *body;
		size_t len;
		int status;
	} cases[] = {
#define TYPE "Content-Type: "
#define FORM "application/x-www-form-urlencoded"
		{ "a form", TYPE FORM "\r\n", "a=1", 3, 204 },
		{ "a form with a charset", TYPE FORM "; charset=utf-8\r\n",
		  "a=1", 3, 204 },
		{ "a form in capitals",
		  TYPE "Application/X-WWW-Form-Urlencoded\r\n", "a=1", 3, 204 },
		{ "no type", "", "a=1", 3, 204 },
		{ "an empty type", TYPE "\r\n", "a=1", 3, 204 },
		{ "JSON", TYPE "application/json\r\n", "{}", 2, 400 },
		{ "a multipart form", TYPE "multipart/form-data\r\n", "a=1", 3,
		  400 },
		{ "an empty body of another type", TYPE "application/json\r\n",
		  "", 0, 204 },
		{ "a broken escape", "", "a=%4", 4, 400 },
		{ "an escaped NUL", "", "a=%00", 5, 400 },
		{ "a NUL", "", "a=\0b", 4, 400 },
		{ "a NUL alone", "", "\0", 1, 400 },
#undef TYPE
#undef FORM
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf out = { 0 };
		int status = post("/read", cases[i].headers,
				  (struct str){ .ptr = cases[i].body,
						.len = cases[i].len },
				  &out);

		cr_expect(status == cases[i].status, "%s: %d", cases[i].what,
			  status);
		buf_fini(&out);
	}
}

/* Post a form of n parameters "a=". */
static int post_many(const char *target, size_t n, struct buf *out)
{
	struct buf body = { 0 };
	int status;

	for (size_t i = 0; i < n; i++)
		buf_str(&body, i ? "&a=" : "a=");
	status = post(target, "", str_from(buf_bytes(&body)), out);
	buf_fini(&body);
	return status;
}

Test(exchange, a_request_has_at_most_1000_parameters)
{
	struct buf out = { 0 };

	cr_expect(post_many("/read", 1000, &out) == 204);
	cr_expect(out.len == 1000 * strlen("a=;"), "%zu", out.len);
	cr_expect(post_many("/read", 1001, &out) == 413);
	/* Parameters of the URL count as well. */
	cr_expect(post_many("/read?b=1&c=2", 998, &out) == 204);
	cr_expect(post_many("/read?b=1&c=2", 999, &out) == 413);
	buf_fini(&out);
}

/* The request bodies that a bench received. */
struct body_seen {
	bool is_strange; /* its sender is not verified */
	bool over;
	bool crowded;
	size_t len;
	int64_t forms;
	int64_t strange_forms;
};

static void mark_strange(struct exchange *x, void *ctx)
{
	const struct body_seen *seen = ctx;

	x->unverified = seen->is_strange;
}

static void note_body(struct exchange *x, void *ctx)
{
	struct body_seen *seen = ctx;

	seen->over = x->form.over;
	seen->crowded = x->crowded;
	seen->len = x->form.len;
	seen->forms = atomic_load(&x->server->forms);
	seen->strange_forms = atomic_load(&x->server->strange_forms);
}

/*
 * Send a body of len bytes to a bench, which calls `head` when it has read the
 * headers.
 */
static void send_body_after(struct bench *b, struct body_seen *seen, size_t len,
			    void (*head)(struct exchange *x, void *ctx))
{
	struct buf text = { 0 };

	b->head = head;
	b->look = note_body;
	b->ctx = seen;
	buf_printf(&text,
		   "POST /read HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n" END,
		   len);
	while (len--)
		buf_byte(&text, 'a');
	bench_send(b, (const char *)text.ptr, text.len, 1);
	buf_fini(&text);
}

static void send_body(struct bench *b, struct body_seen *seen, size_t len)
{
	send_body_after(b, seen, len, mark_strange);
}

Test(exchange, a_body_of_more_than_a_mebibyte_is_dropped)
{
	struct bench *b = bench_start(NULL);
	struct body_seen seen = { 0 };

	send_body(b, &seen, SERVER_BODY_MAX);
	cr_assert(!seen.over);
	cr_expect(seen.len == SERVER_BODY_MAX);
	cr_assert(seen.forms == SERVER_BODY_MAX);
	cr_expect(!seen.strange_forms);
	send_body(b, &seen, SERVER_BODY_MAX + 1);
	cr_assert(seen.over);
	cr_expect(!seen.crowded);
	/* The rest of a body that is too large is not counted either. */
	send_body(b, &seen, 4 * SERVER_BODY_MAX);
	cr_assert(seen.over, "%lld", (long long)seen.forms);
	cr_expect(seen.forms < 2 * SERVER_BODY_MAX, "%lld",
		  (long long)seen.forms);
	bench_stop(b);
}

Test(exchange, bodies_of_all_clients_have_a_limit)
{
	struct bench *b = bench_start(NULL);
	struct body_seen seen = { 0 };

	atomic_store(&b->server.forms, 32 * MIB - 5);
	send_body(b, &seen, 5);
	cr_assert(!seen.crowded);
	cr_expect(seen.len == 5);
	cr_expect(seen.forms == 32 * MIB);
	send_body(b, &seen, 6);
	cr_assert(seen.crowded);
	cr_assert(!seen.over);
	cr_expect(!seen.len);
	cr_expect(seen.forms == 32 * MIB - 5, "what is dropped is not counted");
	cr_expect(atomic_load(&b->server.forms) == 32 * MIB - 5);
	atomic_store(&b->server.forms, 0);
	bench_stop(b);
}

Test(exchange, bodies_of_strangers_have_a_limit_of_their_own)
{
	struct bench *b = bench_start(NULL);
	struct body_seen seen = { .is_strange = true };

	atomic_store(&b->server.strange_forms, 8 * MIB - 5);
	send_body(b, &seen, 5);
	cr_assert(!seen.crowded);
	cr_expect(seen.len == 5);
	cr_assert(seen.strange_forms == 8 * MIB);
	cr_expect(!seen.forms);
	send_body(b, &seen, 6);
	cr_expect(seen.crowded);
	/* Clients that are verified are not kept out by strangers. */
	seen.is_strange = false;
	send_body(b, &seen, 6);
	cr_assert(!seen.crowded);
	cr_assert(seen.len == 6);
	cr_expect(seen.forms == 6);
	atomic_store(&b->server.strange_forms, 0);
	bench_stop(b);
}

/* Lets the client of a request hold this many bytes of forms already. */
static void hold_forms(struct exchange *x, void *ctx UNUSED)
{
	x->unverified = false;
	atomic_store(&x->client->forms, 24 * MIB - 5);
}

Test(exchange, bodies_of_one_client_leave_room_for_others)
{
	struct bench *b = bench_start(NULL);
	struct body_seen seen = { 0 };

	send_body_after(b, &seen, 5, hold_forms);
	cr_assert(!seen.crowded);
	cr_assert(seen.len == 5);
	cr_expect(seen.forms == 5);
	send_body_after(b, &seen, 6, hold_forms);
	cr_assert(seen.crowded);
	cr_assert(!seen.len);
	cr_expect(!seen.forms);
	/* The client has given back what it has taken. */
	send_body(b, &seen, 6);
	cr_assert(!seen.crowded);
	cr_expect(seen.len == 6);
	bench_stop(b);
}

/* Write the route's path and what its * matched. */
static void note_route(struct exchange *x, void *ctx)
{
	buf_printf(ctx, "%s %.*s", x->route ? x->route->path : "none",
		   STR_ARG(x->request.segment));
}

Test(exchange, a_route_is_found_by_the_whole_path)
{
	static const struct {
		const char *request;
		const char *want;
	} cases[] = {
		{ GET("/", ""), "/ " },
		{ GET("/read", ""), "/read " },
		{ GET("/re%61d", ""), "/read " },
		{ GET("/read?/write", ""), "/read " },
		{ GET("/write", ""), "/write " },
		{ GET("/label/job/values", ""), "/label/*/values job" },
		{ GET("/label/a.b%20c/values", ""), "/label/*/values a.b c" },
		{ GET("/label/a+b/values", ""), "/label/*/values a+b" },
		{ GET("/label/*/values", ""), "/label/*/values *" },
		{ GET("/label/none", ""), "/label/none " },
		{ GET("/label/none/values", ""), "/label/*/values none" },
		{ GET("/READ", ""), "none" },
		{ GET("/rea", ""), "none" },
		{ GET("/reads", ""), "none" },
		{ GET("/read/more", ""), "none" },
		{ GET("//read", ""), "none" },
		{ GET("/label//values", ""), "none" },
		{ GET("/label/job", ""), "none" },
		{ GET("/label/a/b/values", ""), "none" },
		{ GET("/label/job/values/x", ""), "none" },
		{ GET("/../read", ""), "none" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench *b = bench_start(NULL);
		struct buf out = { 0 };

		b->look = note_route;
		b->ctx = &out;
		bench_ask(b, cases[i].request);
		/*
		 * The text that a * matched is set only if the route is found.
		 */
		cr_expect(str_is(str_of(cases[i].want), "none") ?
				  !strncmp(buf_cstr(&out), "none", 4) :
				  !strcmp(buf_cstr(&out), cases[i].want),
			  "%s: %s", cases[i].request, buf_cstr(&out));
		buf_fini(&out);
		bench_stop(b);
	}
}

/* Write the flags that a handler sees. */
static void note_flags(struct exchange *x, void *ctx)
{
	const struct request *r = &x->request;

	buf_printf(ctx, "%s%s%s%s|%s", r->accepts_gzip ? "gzip " : "",
		   r->accepts_html ? "html " : "", r->is_go ? "go " : "",
		   r->if_none_match, r->range);
}

Test(exchange, headers_become_flags)
{
	static const struct {
		const char *request;
		const char *want;
	} cases[] = {
		{ GET("/", ""), "|" },
		{ GET("/", "Accept-Encoding: gzip\r\n"), "gzip |" },
		{ GET("/", "accept-encoding: br, gzip, x\r\n"), "gzip |" },
		{ GET("/", "Accept-Encoding: deflate\r\n"), "|" },
		{ GET("/", "Accept: text/html,*/*\r\n"), "html |" },
		{ GET("/", "Accept: application/json\r\n"), "|" },
		{ GET("/", "User-Agent: Go-http-client/1.1\r\n"), "go |" },
		{ GET("/", "User-Agent: x Go-http-client/1.1\r\n"), "|" },
		{ GET("/", "User-Agent: Go-http-client\r\n"), "|" },
		{ GET("/", "If-None-Match: \"1f\"\r\n"), "\"1f\"|" },
		{ GET("/", "Range: bytes=1-\r\n"), "|bytes=1-" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bench *b = bench_start(NULL);
		struct buf out = { 0 };

		b->look = note_flags;
		b->ctx = &out;
		bench_ask(b, cases[i].request);
		cr_expect(check_str(str_from(buf_bytes(&out)), cases[i].want),
			  "%s", cases[i].request);
		buf_fini(&out);
		bench_stop(b);
	}
}

/* Take memory as a handler does, and note how much the client may have. */
static void take_share(struct exchange *x, void *ctx)
{
	int64_t *max = ctx;
	struct err err = { .msg = "" };

	*max = x->answer.work.memory->max;
	cr_expect(!query_take(&x->answer.work, *max, &err), "%s", err.msg);
	cr_expect(query_take(&x->answer.work, 1, &err) == ERR_LIMIT);
	cr_expect(strstr(err.msg, "query.memory"), "%s", err.msg);
}

Test(exchange, a_request_may_take_seven_eighths_of_the_memory)
{
	struct bench *b = bench_start(NULL);
	int64_t max = 0;

	b->look = take_share;
	b->ctx = &max;
	bench_ask(b, GET("/read", ""));
	cr_expect(max == BENCH_MEMORY / 8 * 7);
	cr_expect(!atomic_load(&b->memory.used), "given back at the end");
	bench_stop(b);
}

static void refuse(struct exchange *x, void *ctx)
{
	const int *code = ctx;

	buf_str(&x->answer.body, "half an answer");
	answer_header(&x->answer, "X-Half", "1");
	exchange_refuse(x, *code, "100% \"no\"");
}

Test(exchange, a_refusal_replaces_what_was_written)
{
	struct bench *b = bench_start(NULL);
	int code = ERR_NOTFOUND;

	b->look = refuse;
	b->ctx = &code;
	bench_ask(b, GET("/read", ""));
	cr_expect(bench_status(b) == 404);
	cr_expect(!bench_has(b, "X-Half:"));
	cr_expect(check_str(bench_body(b),
			    "{\"status\":\"error\",\"errorType\":\"not_found\","
			    "\"error\":\"100% \\\"no\\\"\"}"));
	bench_stop(b);
}
