/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP server, built on libmicrohttpd. One epoll thread reads requests and
 * writes answers; handlers run on a bounded pool of threads while their
 * connection is suspended, so that no handler keeps other requests waiting.
 *
 * Ownership: a request is borrowed for the handler's call; the answer's body
 * belongs to the server afterwards.
 * Threads: handlers run on any pool thread, several at a time.
 * Shutdown: server_stop() lets running handlers finish, then server_free().
 */
#ifndef WEB_HTTP_SERVER_H
#define WEB_HTTP_SERVER_H

#include "base/arena.h"
#include "base/budget.h"
#include "base/log.h"
#include "base/metrics.h"
#include "query/params.h"
#include "query/query_work.h"
#include "web/auth/auth.h"

enum {
	SERVER_BODY_MAX = 1024 * 1024 /* bytes of a request's body */
};

/* A request, as handlers see it. */
struct request {
	struct arena arena; /* for handlers too; freed with the request */
	struct str method;
	struct str path;
	struct str segment;   /* what the * of the route matched */
	struct params params; /* of the form, then of the URL; decoded */
	bool accepts_gzip;
	bool accepts_html;         /* a browser that shows a page */
	bool is_go;                /* a Go program, such as go tool pprof */
	const char *if_none_match; /* "" when absent */
	const char *range;         /* "" when absent */
};

enum {
	ANSWER_HEADERS_MAX = 8
};

/*
 * A body that is made while it is sent. next() appends a piece to out and
 * returns 1 when more follows, 0 at the end, or ERR_*, which closes the
 * connection. ERR_AGAIN means that there is no memory for the next piece now;
 * next() is called again later, after out is sent if it has anything. Calls
 * come from pool threads, one at a time; free() comes last.
 */
struct answer_stream {
	int (*next)(void *ctx, struct buf *out, struct err *err);
	void (*free)(void *ctx);
	void *ctx;
};

/* The answer to a request. A handler sets status, content type and body. */
struct answer {
	unsigned status;
	const char *content_type; /* a constant */
	struct buf body;
	struct answer_stream stream; /* used instead of body if next is set */
	bool as_is;                  /* must not be compressed */
	struct {
		const char *name;
		const char *value; /* in the request's arena, or a constant */
	} headers[ANSWER_HEADERS_MAX];
	size_t header_count;
	struct query_work work; /* its memory is released when all is sent */
};

/*
 * Add a header; at most ANSWER_HEADERS_MAX. name is a constant; value is a
 * constant or in the request's arena.
 */
void answer_header(struct answer *a, const char *name, const char *value);

/* Handle a request; ctx is that of the server options. */
typedef void (*handler_fn)(void *ctx, struct request *r, struct answer *a);

/* How a route is handled. */
enum route_kind {
	ROUTE_READ,  /* GET, HEAD and POST */
	ROUTE_QUICK, /* GET, HEAD, POST on the epoll thread: must not wait */
	ROUTE_WRITE, /* changes something: POST and PUT only */
};

/*
 * A path and its handler. One segment of the path may be *, which matches any.
 */
struct route {
	const char *path; /* NULL ends the table */
	handler_fn handle;
	enum route_kind kind;
	unsigned scope; /* set of enum scope; all are needed */
};

/* Options of a server; everything is borrowed. */
struct server_options {
	const char *address; /* host:port; port 0: any free one */
	/* A regex that matches whole origins; NULL: none is allowed. */
	const char *cors_origin;
	const struct route *routes;
	void *ctx; /* for handlers */
	unsigned max_connections;
	int64_t rate_limit;      /* requests a second per client; 0: no limit */
	unsigned threads;        /* workers */
	int64_t read_timeout_ms; /* for a client to send a request */
	int64_t query_timeout_ms;  /* for a request to be answered */
	int64_t slow_client_rate;  /* slower clients are closed; 0: none */
	const char *allowed_hosts; /* names for hosts_allow(); NULL: any */
	int64_t slow_ms;           /* log slower requests as warnings */
	bool access_log;           /* log all requests */
	struct budget *memory; /* of all queries; clients get shares of it */
	const struct log *log;
	struct metrics *metrics;
	struct auth *auth;
	const char *version; /* sent with every answer */
	/* Turns an answer into the error answer for err. */
	void (*fail)(struct answer *a, const struct err *err);
	void (*missing)(struct request *r, struct answer *a); /* no such path */
};

struct server;

/*
 * Start a server. Returns ERR_INVALID when the address or the CORS expression
 * is malformed, and an error of err_sys(), mostly ERR_IO, when the server
 * cannot listen. The caller owns the result.
 */
NODISCARD int server_start(const struct server_options *o, struct server **out,
			   struct err *err);

/* The port that the server listens on. */
unsigned server_port(const struct server *s);

/*
 * Stop a server: refuse new connections, let queries run for 5 more seconds and
 * answers be sent for 10. NULL is a no-op.
 */
void server_stop(struct server *s);

/* Free a server; stops it first if need be. NULL is a no-op. */
void server_free(struct server *s);

#endif
