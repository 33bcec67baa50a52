/* SPDX-License-Identifier: Apache-2.0 */
#include "web/grpc/grpc_session.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/url.h"
#include "web/grpc/waste_budget.h"

/*
 * The window of a connection: what all its streams together may have on the way. The
 * windows of the streams limit the memory.
 */
#define CONNECTION_WINDOW (1 << 20)
/* How long a client may take to receive an answer, in ns. */
#define ANSWER_NS (30 * 1000000000LL)
/*
 * How long a request may wait for memory. It holds some already, and may keep others of the
 * same client waiting.
 */
#define WAIT_NS (10 * 1000000000LL)
/*
 * nghttp2 has a limit for RST_STREAM of its own, which would end the connections of clients
 * that often cancel. The waste budget counts them.
 */
#define RESETS_MAX 1000000
/*
 * A request with larger headers is refused; from this size on, its connection is closed: a
 * few bytes can name a header of 4 KiB again and again.
 */
#define HEADERS_END ((size_t)4 * GRPC_STREAM_HEADERS_MAX)
/*
 * A connection is used for so long; then its client is asked for another one, so that
 * clients spread when servers are added behind one name.
 */
#define AGE_NS (3600 * 1000000000LL)
/* How long requests may still come that the client has sent meanwhile. */
#define NOTICE_NS (10 * 1000000000LL)

struct grpc_session {
	const struct grpc_session_options *o;
	void *ctx;
	nghttp2_session *http;
	struct waste_budget waste;
	/* what the bytes that are fed now bring; cancellations take from it */
	int64_t earned;
	int64_t now_ns;    /* when the function was called that runs */
	int64_t idle_ns;   /* since when there is no stream */
	int64_t retire_ns; /* when the client is asked for another connection */
	bool notice_sent;  /* it was told that this will come */
	struct grpc_stream streams; /* anchor of the list; not a stream */
	size_t count;
	uint64_t requests; /* streams that have begun */
	bool is_flooded;
	bool is_broken; /* nghttp2 cannot go on */
};

/* Drop a stream: free it, or leave it to the thread that works on it. */
static void grpc_session_drop(struct grpc_session *g, struct grpc_stream *s)
{
	s->prev->next = s->next;
	s->next->prev = s->prev;
	g->count--;
	g->idle_ns = g->now_ns;
	atomic_store(&s->call.is_cancelled, true);
	s->is_gone = true;
	s->session = NULL;
	if (!s->is_busy)
		grpc_stream_free(s);
}

/* Return what a request brings that is not cancelled, in bytes. */
static int64_t grpc_session_worth(const struct grpc_stream *s)
{
	return (int64_t)s->header_bytes + WASTE_BUDGET_PER_REQUEST;
}

/* End the session, because its client floods it. */
static void grpc_session_refuse_flood(struct grpc_session *g)
{
	g->is_flooded = true;
	(void)nghttp2_session_terminate_session(g->http,
						NGHTTP2_ENHANCE_YOUR_CALM);
}

/* Make a header of an answer. nghttp2 copies it. */
static nghttp2_nv grpc_session_nv(const char *name, const char *value)
{
	union {
		const char *in;
		uint8_t *out;
	} n = { .in = name }, v = { .in = value };

	return (nghttp2_nv){ .name = n.out,
			     .value = v.out,
			     .namelen = strlen(name),
			     .valuelen = strlen(value) };
}

/*
 * Fill in the headers by which an answer ends: the code, and for an error its text.
 * Returns their number.
 */
static size_t grpc_session_trailers(struct grpc_stream *s, nghttp2_nv *out)
{
	struct arena *arena = &s->call.arena;
	struct buf why = { 0 };
	size_t n = 0;

	url_escape(str_of(s->call.why), &why);
	out[n++] = grpc_session_nv("grpc-status",
				   arena_printf(arena, "%d", s->call.code));
	if (why.len)
		out[n++] = grpc_session_nv(
			"grpc-message",
			arena_strndup(arena, str_from(buf_bytes(&why))));
	buf_fini(&why);
	return n;
}

/* Callback of nghttp2 for the next bytes of an answer; the code follows the last ones. */
/* NOLINTNEXTLINE(readability-function-size): nghttp2 sets the signature */
static ssize_t grpc_session_read_answer(nghttp2_session *http, int32_t id,
					uint8_t *out, size_t max,
					uint32_t *flags,
					nghttp2_data_source *source,
					void *ctx UNUSED)
{
	struct grpc_stream *s = source->ptr;
	size_t n = s->call.answer.len - s->sent;
	nghttp2_nv end[2];

	n = n < max ? n : max;
	memcpy(out, s->call.answer.ptr + s->sent, n);
	s->sent += n;
	if (s->sent < s->call.answer.len)
		return (ssize_t)n;
	*flags = NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
	if (nghttp2_submit_trailer(http, id, end,
				   grpc_session_trailers(s, end)))
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return (ssize_t)n;
}

/* Put the prefix of a message before the answer. */
static void grpc_session_frame_answer(struct buf *answer)
{
	size_t n = answer->len;
	struct buf framed = { 0 };

	buf_byte(&framed, 0); /* not compressed */
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_byte(&framed, (uint8_t)(n >> shift));
	buf_add(&framed, answer->ptr, n);
	buf_fini(answer);
	*answer = framed;
}

/* Begin to send the answer of a stream. */
static void grpc_session_answer(struct grpc_session *g, struct grpc_stream *s)
{
	struct grpc_call *c = &s->call;
	nghttp2_data_provider data = {
		.source.ptr = s, .read_callback = grpc_session_read_answer
	};
	nghttp2_nv headers[5];
	size_t n = 0;

	s->state = GRPC_STREAM_ANSWERED;
	s->due_ns = g->now_ns + ANSWER_NS;
	grpc_stream_drop(s);
	headers[n++] = grpc_session_nv(
		":status", arena_printf(&c->arena, "%u", c->status));
	headers[n++] = grpc_session_nv("content-type", "application/grpc");
	headers[n++] =
		grpc_session_nv("grpc-accept-encoding", "identity,gzip,zstd");
	if (c->code)
		n += grpc_session_trailers(s, headers + n);
	else
		grpc_session_frame_answer(&c->answer);
	g->o->observe(g->ctx, s);
	/* If this fails, the stream is about to be closed. */
	(void)nghttp2_submit_response(g->http, s->id, headers, n,
				      c->code ? NULL : &data);
}

/* Let the client send more of a message, as far as there is memory for it. */
static void grpc_session_grant(struct grpc_session *g, struct grpc_stream *s)
{
	size_t more = grpc_stream_grant(s, g->now_ns);

	if (more)
		(void)nghttp2_submit_window_update(g->http, NGHTTP2_FLAG_NONE,
						   s->id, (int32_t)more);
}

/* Run the handler of a stream whose request is complete. */
static void grpc_session_run(struct grpc_session *g, struct grpc_stream *s)
{
	int64_t due = g->now_ns + g->o->call_timeout_ns;
	struct err err;

	if (grpc_stream_finish(s, &err)) {
		grpc_call_fail(&s->call, &err);
		return;
	}
	s->state = GRPC_STREAM_RUNNING;
	if (s->call.deadline_ns > due)
		s->call.deadline_ns = due;
	g->o->run(g->ctx, s);
	if (!s->is_busy)
		s->call.is_answered = true;
}

/*
 * Whether a stream can be handled: its request is complete, and there is memory for it. The
 * small message of an open method needs none: a probe of health must not fail because there
 * is no memory for uploads.
 */
static bool grpc_session_is_ready(const struct grpc_session *g,
				  struct grpc_stream *s)
{
	const struct grpc_method *m = s->call.method;

	return s->is_whole &&
	       ((m && m->is_open) ||
		(!s->unpaid && grpc_stream_prepare(s, g->now_ns)));
}

/* Take the next step with a stream. */
static void grpc_session_proceed(struct grpc_session *g, struct grpc_stream *s)
{
	if (s->is_busy || s->must_retry || s->state == GRPC_STREAM_HEADERS ||
	    s->state == GRPC_STREAM_ANSWERED)
		return;
	if (s->failed.code && !s->call.is_answered)
		grpc_call_fail(&s->call, &s->failed);
	if (!s->call.is_answered)
		grpc_session_grant(g, s);
	if (!s->call.is_answered && grpc_session_is_ready(g, s))
		grpc_session_run(g, s);
	if (!s->is_busy && s->call.is_answered)
		grpc_session_answer(g, s);
}

void grpc_session_finish(struct grpc_stream *s)
{
	struct grpc_session *g = s->session;

	s->is_busy = false;
	if (s->is_gone) {
		grpc_stream_free(s);
		return;
	}
	g->now_ns = clock_mono_ns();
	s->call.is_answered |= s->state == GRPC_STREAM_RUNNING;
	grpc_session_proceed(g, s);
}

/* Callback of nghttp2 for the beginning of a request's headers. */
static int grpc_session_on_headers(nghttp2_session *http,
				   const nghttp2_frame *frame, void *ctx)
{
	struct grpc_session *g = ctx;
	struct grpc_stream *s;

	if (frame->hd.type != NGHTTP2_HEADERS ||
	    frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	s = grpc_stream_new(g, g->o->memory, frame->hd.stream_id, g->now_ns);
	s->due_ns = g->now_ns + g->o->read_timeout_ns;
	s->prev = g->streams.prev;
	s->next = &g->streams;
	s->prev->next = s->next->prev = s;
	g->count++;
	g->requests++;
	return nghttp2_session_set_stream_user_data(http, s->id, s);
}

/* Callback of nghttp2 for a header. */
/* NOLINTNEXTLINE(readability-function-size): nghttp2 sets the signature */
static int grpc_session_on_header(nghttp2_session *http,
				  const nghttp2_frame *frame,
				  const uint8_t *name, size_t name_len,
				  const uint8_t *value, size_t value_len,
				  uint8_t flags UNUSED, void *ctx)
{
	struct grpc_session *g = ctx;
	struct grpc_stream *s =
		nghttp2_session_get_stream_user_data(http, frame->hd.stream_id);

	if (!s)
		return 0;
	/* Headers behind a message say nothing, but take time as well. */
	if (s->state == GRPC_STREAM_HEADERS)
		grpc_stream_add_header(
			s, str_from((struct bytes){ name, name_len }),
			str_from((struct bytes){ value, value_len }));
	else
		s->header_bytes += name_len + value_len;
	if (s->header_bytes <= HEADERS_END)
		return 0;
	/* Not even the rest of these headers is decoded, so there is no GOAWAY. */
	g->is_flooded = true;
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/*
 * Callback of nghttp2 for a part of a body. What follows an answer is dropped. The windows
 * of streams are opened by grpc_session_grant() alone.
 */
static int grpc_session_on_data(nghttp2_session *http, uint8_t flags UNUSED,
				int32_t id, const uint8_t *data, size_t len,
				void *ctx)
{
	struct grpc_session *g = ctx;
	struct grpc_stream *s = nghttp2_session_get_stream_user_data(http, id);

	(void)nghttp2_session_consume_connection(http, len);
	if (!s || s->state != GRPC_STREAM_BODY)
		return 0;
	g->earned += (int64_t)(len + len / WASTE_BUDGET_SHARE);
	grpc_stream_add(s, g->o->max_body, (struct bytes){ data, len },
			g->now_ns);
	grpc_session_proceed(g, s);
	return 0;
}

/* Callback of nghttp2 for a frame that is complete, with the headers that follow it. */
static int grpc_session_on_frame(nghttp2_session *http,
				 const nghttp2_frame *frame, void *ctx)
{
	struct grpc_session *g = ctx;
	struct grpc_stream *s =
		nghttp2_session_get_stream_user_data(http, frame->hd.stream_id);

	if (!s || (frame->hd.type != NGHTTP2_HEADERS &&
		   frame->hd.type != NGHTTP2_DATA))
		return 0;
	s->is_whole |= (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
	if (s->state == GRPC_STREAM_HEADERS) {
		s->state = GRPC_STREAM_BODY;
		if (!s->failed.code)
			g->o->admit(g->ctx, s);
		/* What is refused brings something once its answer is sent. */
		s->is_paid = s->is_busy || !s->call.is_answered;
		if (s->is_paid)
			g->earned += grpc_session_worth(s);
	}
	grpc_session_proceed(g, s);
	return 0;
}

/*
 * Callback of nghttp2 for a frame that was sent. A client that has its answer need not send
 * the rest of its request (RFC 9113, 8.1).
 */
static int grpc_session_on_sent(nghttp2_session *http,
				const nghttp2_frame *frame, void *ctx)
{
	struct grpc_session *g = ctx;
	struct grpc_stream *s =
		nghttp2_session_get_stream_user_data(http, frame->hd.stream_id);

	if (!s || frame->hd.type != NGHTTP2_HEADERS ||
	    !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	if (!s->is_paid)
		waste_budget_add(&g->waste, grpc_session_worth(s));
	s->is_paid = true;
	if (!s->is_whole)
		(void)nghttp2_submit_rst_stream(http, NGHTTP2_FLAG_NONE, s->id,
						NGHTTP2_NO_ERROR);
	return 0;
}

/* Callback of nghttp2 for a stream that is closed, by either side. */
static int grpc_session_on_close(nghttp2_session *http, int32_t id,
				 uint32_t code UNUSED, void *ctx)
{
	struct grpc_session *g = ctx;
	struct grpc_stream *s = nghttp2_session_get_stream_user_data(http, id);

	if (!s)
		return 0;
	(void)nghttp2_session_set_stream_user_data(http, id, NULL);
	if (s->state != GRPC_STREAM_ANSWERED) {
		g->earned -= WASTE_BUDGET_PER_CANCEL +
			     (s->is_paid ? grpc_session_worth(s) : 0);
		g->o->reset(g->ctx, s);
	}
	grpc_session_drop(g, s);
	return 0;
}

/* Set the callbacks and options of nghttp2. */
static nghttp2_session *grpc_session_start(struct grpc_session *g)
{
	nghttp2_session_callbacks *cb;
	nghttp2_session *http = NULL;
	nghttp2_option *o;

	if (nghttp2_session_callbacks_new(&cb))
		abort();
	if (nghttp2_option_new(&o))
		abort();
	nghttp2_option_set_no_auto_window_update(o, 1);
	nghttp2_option_set_no_closed_streams(o, 1);
	nghttp2_option_set_stream_reset_rate_limit(o, RESETS_MAX, RESETS_MAX);
	nghttp2_session_callbacks_set_on_begin_headers_callback(
		cb, grpc_session_on_headers);
	nghttp2_session_callbacks_set_on_header_callback(
		cb, grpc_session_on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
		cb, grpc_session_on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(
		cb, grpc_session_on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(
		cb, grpc_session_on_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(
		cb, grpc_session_on_close);
	if (nghttp2_session_server_new2(&http, cb, g, o))
		abort();
	nghttp2_option_del(o);
	nghttp2_session_callbacks_del(cb);
	return http;
}

struct grpc_session *grpc_session_new(const struct grpc_session_options *o,
				      void *ctx)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
		  GRPC_SESSION_STREAMS },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, GRPC_STREAM_FIRST },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
		  GRPC_STREAM_HEADERS_MAX },
	};
	struct grpc_session *g = mem_new(struct grpc_session);

	g->o = o;
	g->ctx = ctx;
	g->now_ns = clock_mono_ns();
	g->idle_ns = g->now_ns;
	g->retire_ns = g->now_ns + AGE_NS;
	g->waste = waste_budget_init(g->now_ns);
	g->streams.next = g->streams.prev = &g->streams;
	g->http = grpc_session_start(g);
	(void)nghttp2_submit_settings(g->http, NGHTTP2_FLAG_NONE, settings,
				      ARRAY_SIZE(settings));
	(void)nghttp2_submit_window_update(
		g->http, NGHTTP2_FLAG_NONE, 0,
		CONNECTION_WINDOW - NGHTTP2_INITIAL_CONNECTION_WINDOW_SIZE);
	return g;
}

void grpc_session_free(struct grpc_session *g)
{
	if (!g)
		return;
	nghttp2_session_del(g->http);
	while (g->streams.next != &g->streams)
		grpc_session_drop(g, g->streams.next);
	mem_free(g);
}

int grpc_session_feed(struct grpc_session *g, struct bytes in, struct err *err)
{
	ssize_t n;

	g->now_ns = clock_mono_ns();
	g->earned = 0;
	n = nghttp2_session_mem_recv(g->http, in.ptr, in.len);
	if (n < 0) {
		g->is_broken = true;
		g->is_flooded |= n == NGHTTP2_ERR_FLOODED;
		return err_set(err, ERR_INVALID,
			       "the client sends no valid HTTP/2: %s",
			       nghttp2_strerror((int)n));
	}
	if (!waste_budget_take(&g->waste, (int64_t)in.len - g->earned,
			       g->now_ns) &&
	    !g->is_flooded)
		grpc_session_refuse_flood(g);
	return 0;
}

int grpc_session_output(struct grpc_session *g, size_t max, struct buf *out,
			struct err *err)
{
	const uint8_t *data;
	ssize_t n = !g->is_broken;

	while (n > 0 && out->len < max) {
		n = nghttp2_session_mem_send(g->http, &data);
		if (n > 0)
			buf_add(out, data, (size_t)n);
	}
	if (n >= 0)
		return 0;
	g->is_broken = true;
	return err_set(err, ERR_INVALID, "the session has failed: %s",
		       nghttp2_strerror((int)n));
}

bool grpc_session_is_over(const struct grpc_session *g)
{
	return g->is_broken || (!nghttp2_session_want_read(g->http) &&
				!nghttp2_session_want_write(g->http));
}

bool grpc_session_is_flooded(const struct grpc_session *g)
{
	return g->is_flooded;
}

/* Refuse a request that is not complete, or not admitted yet, and waits for nothing more. */
static void grpc_session_give_up(struct grpc_session *g, struct grpc_stream *s,
				 int code, const char *why)
{
	(void)err_set(&s->failed, code, "%s", why);
	s->must_retry = false;
	s->state = GRPC_STREAM_BODY;
	grpc_session_proceed(g, s);
}

/* Refuse a request that does not come in time, or does not get what it waits for. */
static void grpc_session_expire(struct grpc_session *g, struct grpc_stream *s)
{
	if (s->waiting_ns)
		grpc_session_give_up(g, s, ERR_LIMIT, GRPC_STREAM_NO_MEMORY);
	else if (s->must_retry)
		grpc_session_give_up(g, s, ERR_LIMIT, AUTH_BUSY_REFUSAL);
	else
		grpc_session_give_up(
			g, s, ERR_TIMEOUT,
			g->now_ns >= s->due_ns ?
				"the request did not arrive within --web.read-timeout" :
				"the request did not arrive within its own grpc-timeout");
}

/* Go on with a stream that waits, or fail it if it takes too long. */
static void grpc_session_tick_stream(struct grpc_session *g,
				     struct grpc_stream *s)
{
	if (s->is_busy)
		return;
	if (s->state == GRPC_STREAM_ANSWERED) {
		if (g->now_ns >= s->due_ns)
			(void)nghttp2_submit_rst_stream(g->http,
							NGHTTP2_FLAG_NONE,
							s->id, NGHTTP2_CANCEL);
		return;
	}
	if (g->now_ns >= s->due_ns || g->now_ns >= s->call.deadline_ns) {
		grpc_session_expire(g, s);
		return;
	}
	if (s->must_retry) {
		s->must_retry = false;
		g->o->admit(g->ctx, s);
	}
	grpc_session_proceed(g, s);
	if (!s->is_busy && s->waiting_ns &&
	    g->now_ns - s->waiting_ns >= WAIT_NS)
		grpc_session_expire(g, s);
}

/* Ask the client to send no more requests here. */
static void grpc_session_retire(struct grpc_session *g)
{
	(void)nghttp2_submit_goaway(
		g->http, NGHTTP2_FLAG_NONE,
		nghttp2_session_get_last_proc_stream_id(g->http),
		NGHTTP2_NO_ERROR, NULL, 0);
}

void grpc_session_tick(struct grpc_session *g, int64_t now_ns)
{
	struct grpc_stream *before;

	g->now_ns = now_ns;
	/*
	 * The youngest stream first: if some of those that wait have to fail, the memory
	 * that they give back may be enough for the older ones.
	 */
	for (struct grpc_stream *s = g->streams.prev; s != &g->streams;
	     s = before) {
		before = s->prev;
		grpc_session_tick_stream(g, s);
	}
	if (!g->notice_sent && !g->count &&
	    now_ns - g->idle_ns >= g->o->idle_ns)
		g->retire_ns = now_ns;
	if (now_ns < g->retire_ns)
		return;
	g->retire_ns = INT64_MAX;
	if (g->notice_sent) {
		grpc_session_retire(g);
		return;
	}
	g->notice_sent = true;
	g->retire_ns = now_ns + NOTICE_NS;
	(void)nghttp2_submit_shutdown_notice(g->http);
}

void grpc_session_stop(struct grpc_session *g)
{
	struct grpc_stream *next;

	g->now_ns = clock_mono_ns();
	grpc_session_retire(g);
	for (struct grpc_stream *s = g->streams.next; s != &g->streams;
	     s = next) {
		next = s->next;
		if (!s->is_busy && s->state != GRPC_STREAM_ANSWERED)
			grpc_session_give_up(
				g, s, ERR_CLOSED,
				"everprof is shutting down; send it again later");
	}
}

enum connection_state grpc_session_state(const struct grpc_session *g)
{
	enum connection_state state = CONNECTION_READING;

	for (const struct grpc_stream *s = g->streams.next; s != &g->streams;
	     s = s->next) {
		if (s->is_busy || s->waiting_ns)
			return CONNECTION_WORKING;
		if (s->state != GRPC_STREAM_ANSWERED)
			state = CONNECTION_RECEIVING;
		else if (state == CONNECTION_READING)
			state = CONNECTION_SENDING;
	}
	return state;
}

uint64_t grpc_session_requests(const struct grpc_session *g)
{
	return g->requests;
}
