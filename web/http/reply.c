/* SPDX-License-Identifier: Apache-2.0 */
#include "web/http/reply.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "web/http/access.h"
#include "web/http/exchange.h"

#define GZIP_MIN   1024 /* bodies of fewer bytes are not compressed */
#define GZIP_LEVEL 1
/* limit on the parameters in a log line, in bytes */
#define LOGGED_MAX 1000
/* number of bytes that libmicrohttpd asks for at a time */
#define STREAM_BLOCK (64 * KIB)

/*
 * Compress the body, unless the handler or the client does not want that, the
 * body is small, or there is no memory for it.
 */
static void pack_body(struct exchange *x)
{
	struct answer *a = &x->answer;
	int64_t room = (int64_t)a->body.len;
	struct buf packed;
	struct gzip *g;

	if (a->as_is || !x->request.accepts_gzip || a->body.len < GZIP_MIN ||
	    budget_take(a->work.memory, room, NULL))
		return;
	/* A body that compression does not make smaller stays as it is. */
	packed = buf_init(a->body.len - 1);
	g = gzip_new();
	gzip_compress(g, GZIP_LEVEL, buf_bytes(&a->body), &packed);
	gzip_free(g);
	budget_give(a->work.memory, room);
	if (packed.over) {
		buf_fini(&packed);
		return;
	}
	buf_fini(&a->body);
	a->body = packed;
	answer_header(a, "Content-Encoding", "gzip");
}

void reply_finish(struct exchange *x)
{
	if (x->answer.body.over)
		exchange_refuse(
			x, ERR_LIMIT,
			"the response is larger than --query.memory allows");
	pack_body(x);
	query_settle(&x->answer.work);
}

/* Format the parameters for the log, at most LOGGED_MAX bytes. */
static void format_params(const struct request *r, struct buf *out)
{
	for (size_t i = 0; i < r->params.count; i++)
		buf_printf(out, "%s%.*s=%.*s", i ? " " : "",
			   STR_ARG(r->params.v[i].name),
			   STR_ARG(r->params.v[i].value));
	if (out->len > LOGGED_MAX)
		out->len = LOGGED_MAX;
}

/* Log the request if it was slow, or if all requests are logged. */
static void log_request(struct exchange *x, int64_t took_ns)
{
	const struct server *s = x->server;
	bool slow = took_ns - x->answer.waited_ns > s->o.slow_ms * 1000000;
	struct buf params = { 0 };

	if (!slow && !s->o.access_log)
		return;
	format_params(&x->request, &params);
	log_event(s->o.log, slow ? LOG_WARN : LOG_INFO,
		  slow ? "slow request" : "request",
		  LOG_FIELDS(log_text("client", x->request.peer),
			     log_text("user", x->who.name),
			     log_text("method", x->request.method.ptr),
			     log_text("path", x->request.path.ptr),
			     log_text("params", buf_cstr(&params)),
			     log_int("status", x->answer.status),
			     log_int("took_ms", took_ns / 1000000)));
	buf_fini(&params);
}

/*
 * Count and log the request. A streamed answer is counted when it begins, any
 * other answer when it is complete.
 */
static void reply_observe(struct exchange *x)
{
	int64_t took_ns = clock_mono_ns() - x->started_ns;
	const char *handler = x->route ? x->route->path : "none";
	struct metrics *m = x->server->o.metrics;
	char code[8];

	snprintf(code, sizeof(code), "%u", x->answer.status);
	metric_add(
		metrics_counter(
			m, "everprof_http_requests_total",
			"Number of HTTP requests by handler and status code.",
			&(struct metric_labels){ { "handler", "code" },
						 { handler, code } }),
		1);
	histogram_observe(
		metrics_histogram(
			m, "everprof_http_request_duration_seconds",
			"Seconds from the start of an HTTP request until its response is ready, by handler.",
			&(struct metric_labels){ { "handler" }, { handler } }),
		took_ns);
	log_request(x, took_ns);
}

/*
 * The functions below send streams. A worker thread makes each piece of a
 * stream while the connection is suspended.
 */

/*
 * Record that a stream failed. The status is already sent, so the only way to
 * report the error is to close the connection.
 */
static void break_off(struct exchange *x, const struct err *err)
{
	x->more = err->code;
	log_event(
		x->server->o.log, LOG_WARN,
		"a streamed response was aborted: the client received only a part of it",
		LOG_FIELDS(log_text("path", x->route->path), log_err(err)));
}

/*
 * Let a stream wait until there is memory for its next piece, but not longer
 * than a query may take. Returns false when the stream has waited that long,
 * its client has gone, which replaces *err, or the server is closing.
 */
static bool reply_park(struct exchange *x, struct err *err)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct server *s = x->server;
	int64_t now = clock_mono_ns();
	bool parked;

	if (info && running_has_left(info->connect_fd)) {
		(void)err_set(err, ERR_CLOSED,
			      "the client closed the connection");
		return false;
	}
	if (!x->parked_ns)
		x->parked_ns = now;
	mutex_lock(&s->mu);
	parked = !s->closing &&
		 now - x->parked_ns < s->o.query_timeout_ms * 1000000;
	if (parked) {
		x->next_parked = s->parked;
		s->parked = x;
	}
	mutex_unlock(&s->mu);
	return parked;
}

/*
 * Run on a worker thread: make the next piece of a stream, then resume the
 * connection.
 */
static void fill_chunk(void *ctx, unsigned worker UNUSED)
{
	struct exchange *x = ctx;
	struct answer_stream *s = &x->answer.stream;
	struct err err;

	buf_fini(&x->chunk); /* next() fills a new buffer */
	x->sent = 0;
	x->more = s->next(s->ctx, &x->chunk, &err);
	if (x->more == ERR_AGAIN && !x->chunk.len) {
		if (reply_park(x, &err))
			return;
		x->more = ERR_LIMIT;
	}
	if (x->more == ERR_AGAIN)
		/* send what is in the piece, then call next() again */
		x->more = 1;
	else if (x->more < 0)
		break_off(x, &err);
	x->parked_ns = 0;
	MHD_resume_connection(x->connection);
}

/*
 * Submit fill_chunk() to the worker threads. The connection must be suspended.
 */
static void next_chunk(struct exchange *x)
{
	struct err err;

	if (!pool_submit(x->server->pool, x->client->work, fill_chunk, x, &err))
		return;
	break_off(x, &err);
	MHD_resume_connection(x->connection);
}

void reply_wake_streams(struct server *s)
{
	struct exchange *x;

	mutex_lock(&s->mu);
	x = s->parked;
	s->parked = NULL;
	mutex_unlock(&s->mu);
	while (x) {
		struct exchange *next = x->next_parked;

		next_chunk(x);
		x = next;
	}
}

void reply_stop_streams(struct server *s)
{
	mutex_lock(&s->mu);
	s->closing = true;
	mutex_unlock(&s->mu);
	reply_wake_streams(s);
}

/*
 * Callback of libmicrohttpd for the next bytes of a stream. When all bytes of
 * the piece are sent, the connection is suspended until the next piece is
 * ready.
 */
static ssize_t on_chunk(void *ctx, uint64_t at UNUSED, char *out, size_t max)
{
	struct exchange *x = ctx;
	size_t n = x->chunk.len - x->sent;

	exchange_turn(x, CONNECTION_SENDING);
	if (n) {
		n = n < max ? n : max;
		memcpy(out, x->chunk.ptr + x->sent, n);
		x->sent += n;
		return (ssize_t)n;
	}
	if (!x->more)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (x->more < 0)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	/*
	 * While the server makes the next piece, the client is not slow: stop
	 * measuring the client's rate.
	 */
	exchange_turn(x, CONNECTION_WORKING);
	MHD_suspend_connection(x->connection);
	next_chunk(x);
	return 0;
}

/*
 * Create the response. It takes over the body. The body's memory stays counted
 * as the query's until the exchange is freed.
 */
static struct MHD_Response *make_response(struct exchange *x)
{
	struct answer *a = &x->answer;
	struct MHD_Response *r;

	if (a->stream.next) {
		x->more = 1;
		return MHD_create_response_from_callback(
			MHD_SIZE_UNKNOWN, STREAM_BLOCK, on_chunk, x, NULL);
	}
	r = MHD_create_response_from_buffer(a->body.len, a->body.ptr,
					    MHD_RESPMEM_MUST_FREE);
	if (r)
		a->body = (struct buf){ 0 };
	return r;
}

/*
 * Set a header that the web configuration adds to every answer. It replaces a
 * header of the same name that the server sends by default. With an empty
 * value, the default header is only removed.
 */
static void add_web_header(void *ctx, const char *name, const char *value)
{
	struct MHD_Response *r = ctx;

	/*
	 * To delete a header, libmicrohttpd needs its exact value. If there is
	 * no such header, "" deletes nothing.
	 */
	MHD_del_response_header(r, name,
				MHD_get_response_header(r, name) ?
					MHD_get_response_header(r, name) :
					"");
	if (*value)
		MHD_add_response_header(r, name, value);
}

/*
 * Say who may keep the answer. Unless it says so itself, as the files of the web
 * UI do, an answer is for its sender alone: no cache may store it, and a cache
 * that does so all the same must not give it to others.
 */
static void reply_restrict_caches(struct MHD_Response *r)
{
	bool is_public = MHD_get_response_header(r, "Cache-Control");

	MHD_add_response_header(
		r, "Vary",
		is_public ? "Accept-Encoding" :
			    "Accept-Encoding, Authorization, Cookie");
	if (!is_public)
		MHD_add_response_header(r, "Cache-Control", "no-store");
}

enum MHD_Result reply_send(struct exchange *x)
{
	struct answer *a = &x->answer;
	struct MHD_Response *r = make_response(x);
	enum MHD_Result rc;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", a->content_type);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "X-Everprof-Version", x->server->o.version);
	for (size_t i = 0; i < a->header_count; i++)
		MHD_add_response_header(r, a->headers[i].name,
					a->headers[i].value);
	if (x->closes)
		MHD_add_response_header(r, "Connection", "close");
	reply_restrict_caches(r);
	access_add_cors(x, r);
	auth_headers(x->server->o.auth, add_web_header, r);
	reply_observe(x);
	exchange_turn(x, CONNECTION_SENDING);
	rc = MHD_queue_response(x->connection, a->status, r);
	MHD_destroy_response(r);
	return rc;
}
