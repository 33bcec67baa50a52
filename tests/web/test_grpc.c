/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of gRPC without a network: codes and texts, the frames that a client may send, the
 * memory of a message, and what a session does as time passes.
 */
#include <string.h>

#include "base/clock.h"
#include "tests/check.h"
#include "web/grpc/grpc_session.h"
#include "web/grpc/waste_budget.h"

TestSuite(grpc, .timeout = 60);

#define SECOND  1000000000LL
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
/* The type and the flags of a frame, as bytes. */
#define FRAME_DATA     "\x00\x00"
#define FRAME_DATA_END "\x00\x01"
#define FRAME_HEADERS  "\x01\x04"
#define FRAME_RST      "\x03\x00"
#define FRAME_SETTINGS "\x04\x00"
#define FRAME_PING     "\x06\x00"
/* Types of frames that a session sends. */
#define TYPE_HEADERS 1
#define TYPE_RST     3
#define TYPE_PING    6
#define TYPE_GOAWAY  7

Test(grpc, errors_have_the_codes_that_senders_understand)
{
	static const struct {
		int err;
		enum grpc_code code;
		const char *name;
	} cases[] = {
		{ 0, GRPC_OK, "OK" },
		{ ERR_INVALID, GRPC_INVALID_ARGUMENT, "INVALID_ARGUMENT" },
		{ ERR_TOOBIG, GRPC_INVALID_ARGUMENT, "INVALID_ARGUMENT" },
		{ ERR_LIMIT, GRPC_UNAVAILABLE, "UNAVAILABLE" },
		{ ERR_NOSPACE, GRPC_UNAVAILABLE, "UNAVAILABLE" },
		{ ERR_CLOSED, GRPC_UNAVAILABLE, "UNAVAILABLE" },
		{ ERR_TIMEOUT, GRPC_DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED" },
		{ ERR_DENIED, GRPC_PERMISSION_DENIED, "PERMISSION_DENIED" },
		{ ERR_UNAUTHORIZED, GRPC_UNAUTHENTICATED, "UNAUTHENTICATED" },
		{ ERR_MEDIA, GRPC_UNIMPLEMENTED, "UNIMPLEMENTED" },
		{ ERR_NOTFOUND, GRPC_NOT_FOUND, "NOT_FOUND" },
		{ -999, GRPC_INTERNAL, "INTERNAL" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cr_expect(grpc_code_of(cases[i].err) == cases[i].code,
			  "case %zu", i);
		cr_expect(!strcmp(grpc_code_name(cases[i].code), cases[i].name),
			  "case %zu", i);
	}
}

Test(grpc, timeouts_are_numbers_with_a_unit)
{
	static const struct {
		const char *text;
		int64_t ns; /* -1: it is invalid */
	} cases[] = {
		{ "1H", 3600 * SECOND },
		{ "2M", 120 * SECOND },
		{ "30S", 30 * SECOND },
		{ "5m", 5000000 },
		{ "7u", 7000 },
		{ "99999999n", 99999999 },
		{ "0S", 0 },
		{ "99999999H",
		  INT64_MAX / 2 / (3600 * SECOND) * 3600 * SECOND },
		{ "999999999n", -1 },
		{ "S", -1 },
		{ "5", -1 },
		{ "5s", -1 },
		{ "-5S", -1 },
		{ "5 S", -1 },
		{ "0x5S", -1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err;
		int64_t ns = -1;
		int rc = grpc_code_timeout(cases[i].text, &ns, &err);

		cr_expect(rc == (cases[i].ns < 0 ? ERR_INVALID : 0), "%s",
			  cases[i].text);
		cr_expect(ns == cases[i].ns, "%s: %ld", cases[i].text, ns);
	}
}

Test(grpc, waste_is_limited_by_time_and_answers)
{
	struct waste_budget b = waste_budget_init(0);

	cr_expect(waste_budget_take(&b, WASTE_BUDGET_MAX, 0));
	cr_expect(!waste_budget_take(&b, 1, 0));
	b = waste_budget_init(0);
	cr_expect(!waste_budget_take(&b, WASTE_BUDGET_MAX + 1, 0));
	/* Time adds some, but never more than at the beginning. */
	b = waste_budget_init(0);
	cr_expect(waste_budget_take(&b, WASTE_BUDGET_MAX, 0));
	cr_expect(waste_budget_take(&b, WASTE_BUDGET_PER_SECOND / 2, SECOND));
	cr_expect(waste_budget_take(&b, WASTE_BUDGET_PER_SECOND / 2, SECOND));
	cr_expect(waste_budget_take(&b, WASTE_BUDGET_MAX, 3600 * SECOND));
	cr_expect(!waste_budget_take(&b, 1, 3600 * SECOND));
	/* So do answers. */
	b = waste_budget_init(0);
	cr_expect(waste_budget_take(&b, WASTE_BUDGET_MAX, 0));
	waste_budget_add(&b, 100);
	cr_expect(waste_budget_take(&b, 100, 0));
	cr_expect(!waste_budget_take(&b, 1, 0));
}

/* A stream whose message is announced to have n bytes. */
static struct grpc_stream *announced(struct grpc_memory *m,
				     struct ingest_sender *sender, uint32_t n)
{
	const uint8_t prefix[] = { 0, (uint8_t)(n >> 24), (uint8_t)(n >> 16),
				   (uint8_t)(n >> 8), (uint8_t)n };
	struct grpc_stream *s = grpc_stream_new(NULL, m, 1, 0);

	s->call.share.sender = sender;
	grpc_stream_add(s, 64 << 20, (struct bytes){ prefix, sizeof(prefix) },
			SECOND);
	return s;
}

/* Add n bytes to a message. */
static void add_zeros(struct grpc_stream *s, size_t n)
{
	static const uint8_t zeros[65536];

	while (n) {
		size_t part = n < sizeof(zeros) ? n : sizeof(zeros);

		grpc_stream_add(s, 64 << 20, (struct bytes){ zeros, part },
				5 * SECOND);
		n -= part;
	}
}

Test(grpc, a_message_may_be_sent_as_far_as_its_memory_goes)
{
	struct grpc_memory m = { .limiter = ingest_limiter_new(64 << 20,
							       8 << 20) };
	struct ingest_sender sender = { 0 };
	uint32_t length = 1000000;
	struct grpc_stream *s = announced(&m, &sender, length);
	struct err err;

	/* What it announces is not taken at once. */
	cr_expect(!grpc_stream_grant(s, SECOND) && !s->waiting_ns);
	cr_expect(ingest_limiter_held(m.limiter) < 100);
	add_zeros(s, GRPC_STREAM_FIRST - GRPC_STREAM_PREFIX);
	cr_expect(grpc_stream_grant(s, SECOND) ==
		  320 * 1024 - GRPC_STREAM_FIRST);
	cr_expect(ingest_limiter_held(m.limiter) == 320 * 1024);
	cr_expect(!grpc_stream_grant(s, SECOND), "most of it has to come");
	add_zeros(s, 240 * 1024);
	cr_expect(grpc_stream_grant(s, SECOND) ==
		  length + GRPC_STREAM_PREFIX - 320 * 1024);
	add_zeros(s, length + GRPC_STREAM_PREFIX - s->body.len);
	cr_expect(!grpc_stream_grant(s, SECOND));
	cr_expect(ingest_limiter_held(m.limiter) >= (int64_t)s->body.cap);
	cr_expect(!s->failed.code && !grpc_stream_finish(s, &err));
	cr_expect(s->call.message.len == length);
	add_zeros(s, 1);
	cr_expect(s->failed.code == ERR_INVALID);
	grpc_stream_free(s);
	cr_expect(!ingest_limiter_held(m.limiter));
	ingest_limiter_free(m.limiter);
}

/* Take all that there is for uploads, and the slot, for some senders. */
static size_t take_all(struct ingest_limiter *in, struct ingest_share *taken,
		       size_t max)
{
	static struct ingest_sender senders[3];
	size_t n = 0;

	for (int64_t size = 4 << 20; size && n < max;) {
		taken[n].sender = &senders[n % ARRAY_SIZE(senders)];
		if (ingest_limiter_take(in, &taken[n], size))
			n++;
		else
			size /= 2;
	}
	return n;
}

Test(grpc, a_message_waits_for_memory)
{
	struct grpc_memory m = { .limiter = ingest_limiter_new(16 << 20,
							       4 << 20) };
	struct ingest_sender sender = { 0 };
	struct ingest_share taken[300] = { 0 };
	struct grpc_stream *s = announced(&m, &sender, 600000);
	size_t n;

	add_zeros(s, GRPC_STREAM_FIRST - GRPC_STREAM_PREFIX);
	n = take_all(m.limiter, taken, ARRAY_SIZE(taken));
	cr_expect(!grpc_stream_grant(s, 5 * SECOND));
	cr_expect(s->waiting_ns == 5 * SECOND && !s->unpaid);
	/* It waits since the first time. */
	cr_expect(!grpc_stream_grant(s, 6 * SECOND));
	cr_expect(s->waiting_ns == 5 * SECOND);
	for (size_t i = 0; i < n; i++)
		ingest_limiter_release(&taken[i]);
	cr_expect(grpc_stream_grant(s, 7 * SECOND));
	cr_expect(!s->waiting_ns);
	grpc_stream_free(s);
	cr_expect(!ingest_limiter_held(m.limiter));
	ingest_limiter_free(m.limiter);
}

Test(grpc, the_first_bytes_may_come_before_their_memory)
{
	struct grpc_memory m = { .limiter = ingest_limiter_new(16 << 20,
							       4 << 20) };
	struct ingest_sender sender = { 0 };
	struct ingest_share taken[300] = { 0 };
	size_t n = take_all(m.limiter, taken, ARRAY_SIZE(taken));
	struct grpc_stream *s = announced(&m, &sender, 10000);
	struct grpc_stream *large;
	struct err err;

	add_zeros(s, 10000);
	cr_expect(!s->failed.code && s->waiting_ns);
	cr_expect(s->unpaid == 10005 && m.unpaid == 10005);
	cr_expect(!grpc_stream_grant(s, 5 * SECOND) && s->unpaid);
	/* Not more than those, and not of all connections. */
	large = announced(&m, &sender, 100000);
	add_zeros(large, GRPC_STREAM_FIRST);
	cr_expect(large->failed.code == ERR_LIMIT);
	grpc_stream_free(large);
	m.unpaid += GRPC_STREAM_UNPAID_MAX - 10005;
	large = announced(&m, &sender, 100000);
	cr_expect(large->failed.code == ERR_LIMIT);
	grpc_stream_free(large);
	m.unpaid -= GRPC_STREAM_UNPAID_MAX - 10005;
	for (size_t i = 0; i < n; i++)
		ingest_limiter_release(&taken[i]);
	cr_expect(!grpc_stream_grant(s, 6 * SECOND));
	cr_expect(!s->unpaid && !m.unpaid && !s->waiting_ns);
	cr_expect(ingest_limiter_held(m.limiter) >= (int64_t)s->body.cap);
	cr_expect(!grpc_stream_finish(s, &err));
	grpc_stream_free(s);
	cr_expect(!ingest_limiter_held(m.limiter));
	ingest_limiter_free(m.limiter);
}

/* A session with a client, and what its handlers do. */
struct talk {
	struct grpc_session *session;
	struct grpc_session_options o;
	struct grpc_memory memory;
	struct ingest_sender sender;
	struct grpc_stream *busy; /* on which a thread works */
	bool is_slow;             /* whether threads take their time */
	size_t admits;
	bool is_retried; /* whether credentials cannot be judged the first time */
	size_t runs;
	size_t resets;
	size_t answers;
	enum grpc_code code; /* of the last answer */
};

static void talk_admit(void *ctx, struct grpc_stream *s)
{
	struct err err;
	int64_t ns;

	s->call.share.sender = &((struct talk *)ctx)->sender;
	s->must_retry = ((struct talk *)ctx)->is_retried &&
			!((struct talk *)ctx)->admits;
	((struct talk *)ctx)->admits++;
	if (*s->call.timeout && !grpc_code_timeout(s->call.timeout, &ns, &err))
		s->call.deadline_ns = s->began_ns + ns;
}

static void talk_run(void *ctx, struct grpc_stream *s)
{
	struct talk *t = ctx;

	t->runs++;
	s->is_busy = t->is_slow;
	t->busy = t->is_slow ? s : NULL;
}

static void talk_observe(void *ctx, const struct grpc_stream *s)
{
	struct talk *t = ctx;

	t->answers++;
	t->code = s->call.code;
}

static void talk_reset(void *ctx, const struct grpc_stream *s)
{
	(void)s;
	((struct talk *)ctx)->resets++;
}

/* Add a frame; `kind` is its type and its flags. */
static void frame_add(struct buf *b, const char *kind, uint8_t stream,
		      struct bytes payload)
{
	const uint8_t head[] = { 0,
				 (uint8_t)(payload.len >> 8),
				 (uint8_t)payload.len,
				 (uint8_t)kind[0],
				 (uint8_t)kind[1],
				 0,
				 0,
				 0,
				 stream };

	buf_add(b, head, sizeof(head));
	buf_add(b, payload.ptr, payload.len);
}

/* Add a header that is not compressed. */
static void header_add(struct buf *b, const char *name, const char *value)
{
	buf_byte(b, 0);
	buf_byte(b, (uint8_t)strlen(name));
	buf_str(b, name);
	buf_byte(b, (uint8_t)strlen(value));
	buf_str(b, value);
}

/* Add the headers of a request. */
static void request_add(struct buf *b, uint8_t stream, const char *timeout)
{
	struct buf block = { 0 };

	header_add(&block, ":method", "POST");
	header_add(&block, ":scheme", "http");
	header_add(&block, ":path", "/a/b");
	header_add(&block, ":authority", "localhost");
	header_add(&block, "content-type", "application/grpc");
	if (timeout)
		header_add(&block, "grpc-timeout", timeout);
	frame_add(b, FRAME_HEADERS, stream, buf_bytes(&block));
	buf_fini(&block);
}

/* Begin a talk in which the client has sent its greeting. */
static void talk_begin(struct talk *t, struct buf *in)
{
	*t = (struct talk){ .memory = { .limiter = ingest_limiter_new(
						64 << 20, 8 << 20) },
			    .o = { .memory = &t->memory,
				   .max_body = 8 << 20,
				   .read_timeout_ns = 10 * SECOND,
				   .call_timeout_ns = 10 * SECOND,
				   .idle_ns = 60 * SECOND,
				   .admit = talk_admit,
				   .run = talk_run,
				   .observe = talk_observe,
				   .reset = talk_reset } };
	t->session = grpc_session_new(&t->o, t);
	*in = (struct buf){ 0 };
	buf_str(in, PREFACE);
	frame_add(in, FRAME_SETTINGS, 0, (struct bytes){ NULL, 0 });
}

/* Send what is in a buffer. Returns the error of the session. */
static int talk_feed(struct talk *t, struct buf *in)
{
	struct err err;
	int rc = grpc_session_feed(t->session, buf_bytes(in), &err);

	buf_reset(in);
	return rc;
}

/* Read all that the session sends. Returns the number of frames of a type. */
static size_t talk_read(struct talk *t, uint8_t type)
{
	struct buf out = { 0 };
	struct err err;
	size_t n = 0;

	cr_expect(!grpc_session_output(t->session, 1 << 20, &out, &err));
	for (size_t at = 0; at + 9 <= out.len;) {
		n += out.ptr[at + 3] == type;
		at += 9 + ((size_t)out.ptr[at + 1] << 8 | out.ptr[at + 2]);
	}
	buf_fini(&out);
	return n;
}

static void talk_end(struct talk *t, struct buf *in)
{
	buf_fini(in);
	grpc_session_free(t->session);
	cr_expect(!ingest_limiter_held(t->memory.limiter));
	ingest_limiter_free(t->memory.limiter);
}

/* A message of two bytes. */
#define MESSAGE bytes_of((struct str){ "\0\0\0\0\2ab", 7 })

Test(grpc, a_session_answers_requests)
{
	struct talk t;
	struct buf in;

	talk_begin(&t, &in);
	request_add(&in, 1, NULL);
	frame_add(&in, FRAME_DATA_END, 1, MESSAGE);
	cr_expect(!talk_feed(&t, &in));
	cr_expect(t.runs == 1 && t.answers == 1 && t.code == GRPC_OK);
	cr_expect(talk_read(&t, TYPE_HEADERS) == 2, "headers, and trailers");
	cr_expect(grpc_session_state(t.session) == CONNECTION_READING);
	/* A slow one is answered when its thread has ended. */
	t.is_slow = true;
	request_add(&in, 3, NULL);
	frame_add(&in, FRAME_DATA_END, 3, MESSAGE);
	cr_expect(!talk_feed(&t, &in));
	cr_expect(t.answers == 1 && t.busy);
	cr_expect(grpc_session_state(t.session) == CONNECTION_WORKING);
	grpc_session_finish(t.busy);
	cr_expect(t.answers == 2 && talk_read(&t, TYPE_HEADERS) == 2);
	talk_end(&t, &in);
}

Test(grpc, a_cancelled_request_is_freed_when_its_thread_ends)
{
	struct talk t;
	struct buf in;

	talk_begin(&t, &in);
	t.is_slow = true;
	request_add(&in, 1, NULL);
	frame_add(&in, FRAME_DATA_END, 1, MESSAGE);
	frame_add(&in, FRAME_RST, 1, bytes_of((struct str){ "\0\0\0\x08", 4 }));
	cr_expect(!talk_feed(&t, &in));
	cr_expect(t.resets == 1 && t.busy->is_gone);
	cr_expect(atomic_load(&t.busy->call.is_cancelled));
	cr_expect(grpc_session_state(t.session) == CONNECTION_READING);
	grpc_session_finish(t.busy);
	cr_expect(!t.answers);
	/* One whose session ends first, too. */
	request_add(&in, 3, NULL);
	frame_add(&in, FRAME_DATA_END, 3, MESSAGE);
	cr_expect(!talk_feed(&t, &in));
	buf_fini(&in);
	grpc_session_free(t.session);
	grpc_session_finish(t.busy);
	cr_expect(!ingest_limiter_held(t.memory.limiter));
	ingest_limiter_free(t.memory.limiter);
}

Test(grpc, headers_may_come_in_pieces)
{
	int64_t now = clock_mono_ns();
	struct talk t;
	struct buf in;
	struct buf whole = { 0 };

	talk_begin(&t, &in);
	cr_expect(!talk_feed(&t, &in));
	request_add(&whole, 1, NULL);
	buf_add(&in, whole.ptr, 30);
	cr_expect(!talk_feed(&t, &in));
	/* Time passes before the rest comes. */
	for (int i = 1; i < 5; i++)
		grpc_session_tick(t.session, now + i * SECOND);
	cr_expect(!t.admits);
	buf_add(&in, whole.ptr + 30, whole.len - 30);
	frame_add(&in, FRAME_DATA_END, 1, MESSAGE);
	cr_expect(!talk_feed(&t, &in));
	cr_expect(t.admits == 1 && t.runs == 1 && t.code == GRPC_OK);
	buf_fini(&whole);
	talk_end(&t, &in);
}

Test(grpc, a_request_that_cannot_be_judged_yet_waits)
{
	int64_t now = clock_mono_ns();
	struct talk t;
	struct buf in;

	talk_begin(&t, &in);
	t.is_retried = true;
	request_add(&in, 1, NULL);
	frame_add(&in, FRAME_DATA_END, 1, MESSAGE);
	cr_expect(!talk_feed(&t, &in));
	cr_expect(t.admits == 1 && !t.runs && !t.answers);
	grpc_session_tick(t.session, now + SECOND);
	cr_expect(t.admits == 2 && t.runs == 1 && t.answers == 1);
	talk_end(&t, &in);
}

Test(grpc, a_request_that_does_not_come_is_refused)
{
	int64_t now = clock_mono_ns();
	struct talk t;
	struct buf in;

	talk_begin(&t, &in);
	request_add(&in, 1, NULL);
	frame_add(&in, FRAME_DATA, 1, MESSAGE);
	request_add(&in, 3, "2S");
	cr_expect(!talk_feed(&t, &in));
	(void)talk_read(&t, 0);
	grpc_session_tick(t.session, now + SECOND);
	cr_expect(!t.answers);
	/* One has a deadline of its own. */
	grpc_session_tick(t.session, now + 5 * SECOND);
	cr_expect(t.answers == 1 && t.code == GRPC_DEADLINE_EXCEEDED);
	grpc_session_tick(t.session, now + 11 * SECOND);
	cr_expect(t.answers == 2 && t.code == GRPC_DEADLINE_EXCEEDED);
	cr_expect(talk_read(&t, TYPE_RST) == 2,
		  "the client need not send the rest");
	cr_expect(!t.runs);
	talk_end(&t, &in);
}

Test(grpc, a_shutdown_refuses_what_is_not_complete)
{
	struct talk t;
	struct buf in;

	talk_begin(&t, &in);
	t.is_slow = true;
	request_add(&in, 1, NULL);
	frame_add(&in, FRAME_DATA_END, 1, MESSAGE);
	request_add(&in, 3, NULL);
	frame_add(&in, FRAME_DATA, 3, bytes_of(str_of("")));
	cr_expect(!talk_feed(&t, &in));
	grpc_session_stop(t.session);
	cr_expect(t.answers == 1 && t.code == GRPC_UNAVAILABLE);
	cr_expect(talk_read(&t, TYPE_GOAWAY) == 1);
	cr_expect(!grpc_session_is_over(t.session));
	grpc_session_finish(t.busy);
	cr_expect(t.answers == 2 && t.code == GRPC_OK);
	(void)talk_read(&t, 0);
	cr_expect(grpc_session_is_over(t.session));
	talk_end(&t, &in);
}

Test(grpc, old_and_idle_connections_are_retired)
{
	int64_t now = clock_mono_ns();
	struct talk t;
	struct buf in;

	talk_begin(&t, &in);
	cr_expect(!talk_feed(&t, &in));
	(void)talk_read(&t, 0);
	grpc_session_tick(t.session, now + 50 * SECOND);
	cr_expect(!talk_read(&t, TYPE_GOAWAY));
	grpc_session_tick(t.session, now + 70 * SECOND);
	cr_expect(talk_read(&t, TYPE_GOAWAY) == 1, "a notice");
	/* A request that was on its way is still answered. */
	request_add(&in, 1, NULL);
	frame_add(&in, FRAME_DATA_END, 1, MESSAGE);
	cr_expect(!talk_feed(&t, &in));
	cr_expect(t.answers == 1 && talk_read(&t, TYPE_HEADERS) == 2);
	cr_expect(!grpc_session_is_over(t.session));
	grpc_session_tick(t.session, now + 85 * SECOND);
	cr_expect(talk_read(&t, TYPE_GOAWAY) == 1);
	cr_expect(grpc_session_is_over(t.session));
	talk_end(&t, &in);
}

Test(grpc, large_headers_are_refused)
{
	char value[121];
	struct talk t;
	struct buf in;
	struct buf block = { 0 };

	talk_begin(&t, &in);
	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = 0;
	header_add(&block, ":method", "POST");
	header_add(&block, ":scheme", "http");
	header_add(&block, ":path", "/a/b");
	header_add(&block, ":authority", "localhost");
	for (int i = 0; i < 125; i++)
		header_add(&block, "x", value);
	frame_add(&in, FRAME_HEADERS, 1, buf_bytes(&block));
	buf_fini(&block);
	cr_expect(!talk_feed(&t, &in));
	cr_expect(t.answers == 1 && t.code == GRPC_INVALID_ARGUMENT);
	cr_expect(!grpc_session_is_flooded(t.session));
	/* The connection goes on. */
	request_add(&in, 3, NULL);
	frame_add(&in, FRAME_DATA_END, 3, MESSAGE);
	cr_expect(!talk_feed(&t, &in));
	cr_expect(t.answers == 2 && t.code == GRPC_OK);
	talk_end(&t, &in);
}

/* Send a frame of PING n times. */
static void talk_ping(struct talk *t, struct buf *in, int n)
{
	for (int i = 0; i < n; i++)
		frame_add(in, FRAME_PING, 0, bytes_of(str_of("12345678")));
	cr_expect(!talk_feed(t, in));
}

Test(grpc, floods_end_a_session)
{
	struct talk t;
	struct buf in;

	talk_begin(&t, &in);
	talk_ping(&t, &in, 900);
	cr_expect(!grpc_session_is_flooded(t.session));
	cr_expect(talk_read(&t, TYPE_PING) == 900);
	talk_ping(&t, &in, 900);
	cr_expect(grpc_session_is_flooded(t.session));
	cr_expect(talk_read(&t, TYPE_GOAWAY) == 1);
	cr_expect(grpc_session_is_over(t.session));
	talk_end(&t, &in);
}

Test(grpc, what_is_no_http2_ends_a_session)
{
	struct talk t;
	struct buf in;

	talk_begin(&t, &in);
	buf_reset(&in);
	buf_str(&in, "GET / HTTP/1.1\r\n\r\n");
	cr_expect(talk_feed(&t, &in) == ERR_INVALID);
	cr_expect(grpc_session_is_over(t.session));
	talk_end(&t, &in);
}
