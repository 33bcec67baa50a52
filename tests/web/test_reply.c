/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of sending answers: whole or as streams, compressed, counted and
 * logged.
 */
#include <fcntl.h>

#include "base/gzip.h"
#include "tests/web/exchanges.h"

TestSuite(reply, .timeout = 60);

#define HOST "Host: a\r\n"
#define END  "\r\n"
#define GET  "GET /read HTTP/1.1\r\n" HOST
#define GZIP "Accept-Encoding: gzip\r\n"

/* The answer that the test's handler gives. */
struct plan {
	const char *piece; /* what the body is made of */
	size_t len;        /* of the body, of repeated pieces */
	bool noise;        /* a body that cannot be compressed */
	bool as_is;
	int64_t taken;     /* memory, besides that of the body */
	int64_t left;      /* memory that others leave to the answer; 0: all */
	bool fill_up;      /* the body exceeds its maximum */
	int64_t kept;      /* memory after reply_finish() */
	const char *cache; /* its header Cache-Control; NULL: none */
};

static void answer_plan(struct exchange *x, void *ctx)
{
	struct plan *p = ctx;
	struct answer *a = &x->answer;
	uint32_t seed = 1;
	int64_t others = 0;

	a->status = 200;
	a->content_type = "text/x-plan";
	a->as_is = p->as_is;
	answer_header(a, "X-Plan", "it goes on");
	if (p->cache)
		answer_header(a, "Cache-Control", p->cache);
	for (size_t i = 0; i < p->len; i++) {
		seed = seed * 1103515245 + 12345;
		buf_byte(
			&a->body,
			(uint8_t)(p->noise ?
					  seed >> 23 :
					  (uint8_t)p->piece[i %
							    strlen(p->piece)]));
	}
	if (p->fill_up)
		(void)buf_reserve(&a->body, BENCH_MEMORY + 1);
	cr_expect(!query_take(&a->work, p->taken, NULL));
	if (p->left)
		others = a->work.memory->max - p->left;
	cr_expect(!others || !budget_take(a->work.memory, others, NULL));
	reply_finish(x);
	if (others)
		budget_give(a->work.memory, others);
	p->kept =
		atomic_load(&x->server->o.memory->used) - (int64_t)a->body.cap;
}

/* Sends a request, which is answered by the plan. */
static void ask_plan(struct bench *b, const char *request, struct plan *p)
{
	b->look = answer_plan;
	b->ctx = p;
	bench_ask(b, request);
}

/* Whether text is the body of the plan. */
static bool is_planned(const struct plan *p, struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] != p->piece[i % strlen(p->piece)])
			return false;
	}
	return text.len == p->len;
}

Test(reply, an_answer_has_the_headers_of_all_answers_and_its_own)
{
	static const char *const lines[] = {
		"Content-Type: text/x-plan",
		"X-Content-Type-Options: nosniff",
		"X-Everprof-Version: 1.2.3",
		"Cache-Control: no-store",
		"Vary: Accept-Encoding, Authorization, Cookie",
		"X-Plan: it goes on",
		"Content-Length: 5",
	};
	struct bench *b = bench_start(NULL);
	struct plan p = { .piece = "hello", .len = 5 };

	ask_plan(b, GET END, &p);
	cr_expect(bench_status(b) == 200);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		cr_expect(bench_has(b, lines[i]), "%s: %s", lines[i],
			  buf_cstr(&b->reply));
	cr_expect(check_str(bench_body(b), "hello"));
	ask_plan(b, "HEAD /read HTTP/1.1\r\n" HOST END, &p);
	cr_assert(bench_has(b, "Content-Length: 5"));
	cr_expect(!bench_body(b).len);
	bench_stop(b);
}

Test(reply, only_what_says_so_may_be_kept_by_caches)
{
	struct bench *b = bench_start(NULL);
	struct plan p = { .piece = "a", .len = 1, .cache = "max-age=1" };

	ask_plan(b, GET END, &p);
	cr_expect(bench_has(b, "Cache-Control: max-age=1"));
	cr_expect(bench_has(b, "Vary: Accept-Encoding"));
	cr_expect(!bench_has(b, "Cache-Control: no-store"));
	/* An error in its place has other headers. */
	p.fill_up = true;
	ask_plan(b, GET END, &p);
	cr_expect(bench_status(b) == 429);
	cr_expect(!bench_has(b, "Cache-Control: max-age=1"));
	cr_expect(bench_has(b, "Cache-Control: no-store"));
	cr_expect(bench_has(b, "Vary: Accept-Encoding, Authorization, Cookie"));
	bench_stop(b);
}

Test(reply, headers_of_the_web_configuration_replace_those_of_the_server)
{
	struct bench *b = bench_start(
		"http_server_config:\n  headers:\n"
		"    X-Frame-Options: deny\n"
		"    X-Content-Type-Options: ''\n"
		"    Content-Security-Policy: default-src 'self'\n");
	struct plan p = { .piece = "a", .len = 1 };

	ask_plan(b, GET END, &p);
	cr_expect(bench_has(b, "X-Frame-Options: deny"));
	cr_expect(bench_has(b, "Content-Security-Policy: default-src 'self'"));
	cr_expect(!bench_has(b, "X-Content-Type-Options:"));
	cr_expect(bench_has(b, "X-Everprof-Version: 1.2.3"));
	bench_stop(b);
}

Test(reply, large_answers_are_compressed_for_who_accepts_it)
{
	static const struct {
		const char *what;
		const char *request;
		struct plan plan;
		bool packed;
	} cases[] = {
		{ "1 KiB", GET GZIP END, { .len = 1024 }, true },
		{ "less", GET GZIP END, { .len = 1023 }, false },
		{ "nothing", GET GZIP END, { .len = 0 }, false },
		{ "8 MiB", GET GZIP END, { .len = 8 << 20 }, true },
		{ "a client that does not", GET END, { .len = 5000 }, false },
		{ "one that is compressed already",
		  GET GZIP END,
		  { .len = 5000, .as_is = true },
		  false },
		{ "memory for both",
		  GET GZIP END,
		  { .len = 5000, .left = 5000 },
		  true },
		{ "no memory for both",
		  GET GZIP END,
		  { .len = 5000, .left = 4999 },
		  false },
	};
	struct bench *b = bench_start(NULL);
	struct gzip *g = gzip_new();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plan p = cases[i].plan;
		struct buf plain = { 0 };

		p.piece = "abc";
		ask_plan(b, cases[i].request, &p);
		cr_expect(bench_has(b, "Content-Encoding: gzip") ==
				  cases[i].packed,
			  "%s", cases[i].what);
		if (cases[i].packed)
			cr_expect(!gzip_decompress(g, bytes_of(bench_body(b)),
						   &plain, NULL));
		cr_expect(is_planned(&p, cases[i].packed ?
						 str_from(buf_bytes(&plain)) :
						 bench_body(b)),
			  "%s", cases[i].what);
		buf_fini(&plain);
	}
	gzip_free(g);
	bench_stop(b);
}

Test(reply, an_answer_that_compression_would_make_larger_stays)
{
	struct bench *b = bench_start(NULL);
	struct plan p = { .len = 3000, .noise = true };

	ask_plan(b, GET GZIP END, &p);
	cr_expect(!bench_has(b, "Content-Encoding:"));
	cr_expect(bench_body(b).len == 3000);
	bench_stop(b);
}

Test(reply, an_answer_beyond_its_maximum_becomes_an_error)
{
	struct bench *b = bench_start(NULL);
	struct plan p = { .piece = "abc", .len = 5000, .fill_up = true };

	ask_plan(b, GET GZIP END, &p);
	cr_expect(bench_status(b) == 429);
	cr_expect(!bench_has(b, "X-Plan:"));
	cr_expect(strstr(buf_cstr(&b->reply), "\"errorType\":\"limit\""));
	bench_stop(b);
}

Test(reply, memory_but_that_of_the_body_is_given_back_before_it_is_sent)
{
	struct bench *b = bench_start(NULL);
	struct plan p = { .piece = "abc", .len = 5000, .taken = 100000 };

	ask_plan(b, GET END, &p);
	cr_expect(p.kept == 0, "%lld", (long long)p.kept);
	cr_expect(!atomic_load(&b->memory.used), "the rest when it is sent");
	ask_plan(b, GET GZIP END, &p);
	cr_expect(p.kept == 0, "%lld", (long long)p.kept);
	bench_stop(b);
}

Test(reply, requests_are_counted_by_route_and_status)
{
	static const char name[] = "everprof_http_requests_total";
	struct bench *b = bench_start(NULL);
	struct plan p = { .piece = "a", .len = 1 };

	for (int i = 0; i < 3; i++)
		ask_plan(b, GET END, &p);
	ask_plan(b, "GET /nowhere HTTP/1.1\r\n" HOST END, &p);
	p.fill_up = true;
	ask_plan(b, "GET /label/x/values HTTP/1.1\r\n" HOST END, &p);
	cr_expect(bench_count(b, name,
			      &(struct metric_labels){ { "handler", "code" },
						       { "/read", "200" } }) ==
		  3);
	cr_expect(bench_count(b, name,
			      &(struct metric_labels){ { "handler", "code" },
						       { "none", "200" } }) ==
		  1);
	cr_expect(bench_count(b, name,
			      &(struct metric_labels){
				      { "handler", "code" },
				      { "/label/*/values", "429" } }) == 1);
	bench_stop(b);
}

/* Returns what is logged of a request, or "" if nothing is. */
static struct str log_of(struct bench *b, const char *request, char *line,
			 size_t max)
{
	struct plan p = { .piece = "a", .len = 1 };
	int fds[2];
	struct log log;
	ssize_t n;

	cr_assert(!pipe2(fds, O_NONBLOCK));
	log = (struct log){ .fd = fds[1], .level = LOG_INFO };
	b->server.o.log = &log;
	ask_plan(b, request, &p);
	b->server.o.log = NULL;
	n = read(fds[0], line, max - 1);
	line[n > 0 ? n : 0] = 0;
	close(fds[0]);
	close(fds[1]);
	return str_of(line);
}

Test(reply, requests_are_logged_when_asked_for_or_slow)
{
	struct bench *b = bench_start(NULL);
	char line[8192];
	struct buf text = { 0 };

	cr_expect(!log_of(b, GET END, line, sizeof(line)).len);
	b->server.o.access_log = true;
	log_of(b, "GET /read?a=1&b=x%20y HTTP/1.1\r\n" HOST END, line,
	       sizeof(line));
	cr_assert(strstr(line, "level=info"), "%s", line);
	cr_expect(strstr(line, "msg=request"), "%s", line);
	cr_assert(strstr(line, "client=127.0.0.1"), "%s", line);
	cr_assert(strstr(line, "method=GET"), "%s", line);
	cr_assert(strstr(line, "path=/read"), "%s", line);
	cr_assert(strstr(line, "params=\"a=1 b=x y\""), "%s", line);
	cr_expect(strstr(line, "status=200"), "%s", line);
	/* A client cannot begin a line of the log. */
	log_of(b, "GET /read?a=x%0alevel=error HTTP/1.1\r\n" HOST END, line,
	       sizeof(line));
	cr_expect(strchr(line, '\n') == line + strlen(line) - 1, "%s", line);
	/* Parameters are cut at 1000 bytes. */
	buf_str(&text, "GET /read?a=");
	for (int i = 0; i < 3000; i++)
		buf_byte(&text, 'x');
	buf_str(&text, " HTTP/1.1\r\n" HOST END);
	log_of(b, buf_cstr(&text), line, sizeof(line));
	cr_assert(strstr(line, "params="), "%s", line);
	cr_expect(strspn(strstr(line, "xxx"), "x") == 1000 - 2, "%s", line);
	b->server.o.access_log = false;
	b->server.o.slow_ms = -1;
	log_of(b, GET END, line, sizeof(line));
	cr_assert(strstr(line, "level=warn"), "%s", line);
	cr_expect(strstr(line, "slow request"), "%s", line);
	buf_fini(&text);
	bench_stop(b);
}

/* A stream: what each call of next() gives. */
struct piece {
	const char *text;
	int rc;
};

struct stream_plan {
	const struct piece *pieces; /* the last has an rc that is not above 0 */
	_Atomic size_t calls;
	_Atomic int freed;
	bool shut; /* the server stops when the stream is parked */
};

static int stream_next(void *ctx, struct buf *out, struct err *err)
{
	struct stream_plan *p = ctx;
	const struct piece *now = &p->pieces[atomic_fetch_add(&p->calls, 1)];

	buf_str(out, now->text);
	return now->rc < 0 ? err_set(err, now->rc, "as planned") : now->rc;
}

static void stream_free(void *ctx)
{
	struct stream_plan *p = ctx;

	atomic_fetch_add(&p->freed, 1);
}

/* Answers with a stream, as server.c does after the handler. */
static void answer_stream(struct exchange *x, void *ctx)
{
	x->answer.status = 200;
	x->answer.content_type = "text/x-stream";
	x->answer.stream =
		(struct answer_stream){ stream_next, stream_free, ctx };
	reply_finish(x);
}

/*
 * Wakes streams as the sweeper does or, at shutdown, stops them as
 * server_stop() does.
 */
static void wake_stream(struct bench *b)
{
	struct stream_plan *p = b->ctx;

	if (p->shut)
		reply_stop_streams(&b->server);
	else
		reply_wake_streams(&b->server);
}

/*
 * Checks how a stream is sent. `body` is its body as HTTP/1.1 sends it, in
 * chunks, of which the last is empty.
 */
static void check_stream(const char *what, struct stream_plan *p,
			 const char *body, size_t calls, int64_t timeout_ms)
{
	struct bench *b = bench_start(NULL);

	b->server.o.query_timeout_ms = timeout_ms;
	b->look = answer_stream;
	b->tick = wake_stream;
	b->ctx = p;
	bench_ask(b, GET GZIP END);
	cr_expect(bench_status(b) == 200, "%s", what);
	cr_expect(bench_has(b, "Transfer-Encoding: chunked"), "%s", what);
	cr_expect(!bench_has(b, "Content-Encoding:"), "%s", what);
	cr_expect(check_str(bench_body(b), body), "%s", what);
	cr_expect(atomic_load(&p->calls) == calls, "%s: %zu", what,
		  atomic_load(&p->calls));
	cr_expect(atomic_load(&p->freed) == 1, "%s", what);
	bench_stop(b);
}

Test(reply, a_stream_is_sent_piece_by_piece)
{
	static const struct {
		const char *what;
		struct piece pieces[5];
		const char *body;
		size_t calls;
	} cases[] = {
		{ "one piece", { { "abc", 0 } }, "3\r\nabc\r\n0\r\n\r\n", 1 },
		{ "three",
		  { { "a", 1 }, { "bc", 1 }, { "d", 0 } },
		  "1\r\na\r\n2\r\nbc\r\n1\r\nd\r\n0\r\n\r\n",
		  3 },
		{ "nothing", { { "", 0 } }, "0\r\n\r\n", 1 },
		{ "an empty one in between",
		  { { "a", 1 }, { "", 1 }, { "b", 0 } },
		  "1\r\na\r\n1\r\nb\r\n0\r\n\r\n",
		  3 },
		{ "an empty end",
		  { { "a", 1 }, { "", 0 } },
		  "1\r\na\r\n0\r\n\r\n",
		  2 },
		{ "an error: the end is missing",
		  { { "a", 1 }, { "", ERR_CORRUPT } },
		  "1\r\na\r\n",
		  2 },
		{ "no memory for now, after a piece",
		  { { "a", 1 }, { "b", ERR_AGAIN }, { "c", 0 } },
		  "1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n",
		  3 },
		{ "no memory for now, twice",
		  { { "a", 1 },
		    { "", ERR_AGAIN },
		    { "", ERR_AGAIN },
		    { "b", 0 } },
		  "1\r\na\r\n1\r\nb\r\n0\r\n\r\n",
		  4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct stream_plan p = { .pieces = cases[i].pieces };

		check_stream(cases[i].what, &p, cases[i].body, cases[i].calls,
			     60000);
	}
}

Test(reply, a_stream_waits_for_memory_as_long_as_a_query_may_take)
{
	static const struct piece pieces[] = { { "a", 1 },
					       { "", ERR_AGAIN },
					       { "never", 0 } };
	struct stream_plan p = { .pieces = pieces };

	check_stream("no time to wait", &p, "1\r\na\r\n", 2, 0);
}

Test(reply, a_stream_that_waits_ends_when_its_client_has_gone)
{
	static const struct piece pieces[] = { { "a", 1 },
					       { "", ERR_AGAIN },
					       { "never", 0 } };
	struct stream_plan p = { .pieces = pieces };
	struct bench *b = bench_start(NULL);

	b->server.o.query_timeout_ms = 60000;
	b->look = answer_stream;
	b->tick = wake_stream;
	b->ctx = &p;
	b->finish = true;
	bench_ask(b, GET END);
	cr_assert(atomic_load(&p.freed) == 1);
	cr_expect(atomic_load(&p.calls) <= 2);
	bench_stop(b);
}

Test(reply, a_stream_that_waits_ends_when_the_server_stops)
{
	static const struct piece pieces[] = {
		{ "a", 1 }, { "", ERR_AGAIN }, { "", ERR_AGAIN }, { "never", 0 }
	};
	struct stream_plan p = { .pieces = pieces, .shut = true };
	struct bench *b = bench_start(NULL);

	b->look = answer_stream;
	b->tick = wake_stream;
	b->ctx = &p;
	bench_ask(b, GET END);
	cr_expect(check_str(bench_body(b), "1\r\na\r\n"));
	cr_assert(atomic_load(&p.freed) == 1);
	cr_expect(atomic_load(&p.calls) <= 3);
	bench_stop(b);
}
