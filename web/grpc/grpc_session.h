/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC session: HTTP/2 of one connection, without a socket: bytes that the client has sent
 * go in, bytes for the client come out. nghttp2 knows HTTP/2; the session knows gRPC, the
 * limits, and how much a client may send.
 * Source: RFC 9113; github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md.
 *
 * Ownership: a session owns its streams, but those on which another thread works when the
 * session drops them: see grpc_session_finish().
 * Threads: one thread, the server's. Handlers work on a stream meanwhile.
 */
#ifndef WEB_GRPC_GRPC_SESSION_H
#define WEB_GRPC_GRPC_SESSION_H

#include "web/grpc/grpc_stream.h"
#include "web/guard/connections.h"

enum {
	GRPC_SESSION_STREAMS = 16 /* requests at a time of a connection */
};

/* Options of a session; everything is borrowed. */
struct grpc_session_options {
	struct grpc_memory *memory;
	size_t max_body;         /* largest message in bytes */
	int64_t read_timeout_ns; /* time for a client to send a request */
	int64_t call_timeout_ns; /* time for a request to be answered */
	int64_t idle_ns; /* a connection without requests ends after so long */
	/*
	 * Decides on a stream whose headers are complete. It may fail the call, or set
	 * `is_busy` because another thread goes on with that. If that thread sets
	 * `must_retry`, this function is called again later.
	 */
	void (*admit)(void *ctx, struct grpc_stream *s);
	/*
	 * Answers a call whose message is complete, or sets `is_busy` because another
	 * thread does it.
	 */
	void (*run)(void *ctx, struct grpc_stream *s);
	/* Sees a stream whose answer begins to be sent. */
	void (*observe)(void *ctx, const struct grpc_stream *s);
	/*
	 * Sees a stream that is reset before it is answered, mostly by its client. Not
	 * called for those that end with the session.
	 */
	void (*reset)(void *ctx, const struct grpc_stream *s);
};

struct grpc_session;

/*
 * Create a session of a new connection; `ctx` is passed to the functions of the options,
 * which must outlive it. Never fails.
 */
struct grpc_session *grpc_session_new(const struct grpc_session_options *o,
				      void *ctx);

/* Free a session. Streams on which a thread works are dropped. */
void grpc_session_free(struct grpc_session *g);

/*
 * Take bytes from the client. ERR_INVALID: nghttp2 cannot go on with them; the session is
 * over, and has no more output.
 */
NODISCARD int grpc_session_feed(struct grpc_session *g, struct bytes in,
				struct err *err);

/*
 * Append what the client has to get, up to about `max` bytes. Errors as for
 * grpc_session_feed().
 */
NODISCARD int grpc_session_output(struct grpc_session *g, size_t max,
				  struct buf *out, struct err *err);

/* Whether the connection has come to its end and has to be closed. */
bool grpc_session_is_over(const struct grpc_session *g);

/*
 * Go on with a stream on which another thread does not work any more. Frees a stream that
 * was dropped meanwhile, whose session may be gone.
 */
void grpc_session_finish(struct grpc_stream *s);

/*
 * Look for requests and answers that take too long, and let those go on that wait for
 * memory. To be called regularly.
 */
void grpc_session_tick(struct grpc_session *g, int64_t now_ns);

/*
 * Begin the shutdown: ask the client to send no more requests, and refuse those that are not
 * complete. Those that are handled are answered.
 */
void grpc_session_stop(struct grpc_session *g);

/* Whether the client has wasted too much (web/grpc/waste_budget.h). */
bool grpc_session_is_flooded(const struct grpc_session *g);

/*
 * What the connection is doing, for the limits of connections: WORKING if one request is
 * handled or waits for memory, else RECEIVING if one is received, else SENDING if one is
 * answered.
 */
enum connection_state grpc_session_state(const struct grpc_session *g);

/* The number of requests that have begun. */
uint64_t grpc_session_requests(const struct grpc_session *g);

#endif
