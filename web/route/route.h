/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and answers as handlers see them, and the table of routes that says
 * which handler answers which path.
 *
 * Ownership: a request is borrowed for the handler's call; an answer belongs to
 * the caller of the handler, which frees its body and ends its stream.
 * Threads: a handler may run in several threads at a time, each with a request
 * and an answer of its own.
 */
#ifndef WEB_ROUTE_ROUTE_H
#define WEB_ROUTE_ROUTE_H

#include "base/arena.h"
#include "query/params.h"
#include "query/query_work.h"

/* A request, as handlers see it. */
struct request {
	struct arena arena; /* memory of the request, for handlers, too */
	struct str method;
	struct str path;
	struct str segment; /* what the * of the route matched */
	/* decoded parameters of the form, then of the URL */
	struct params params;
	bool accepts_gzip;
	/* the client is a browser that shows a page */
	bool accepts_html;
	/* the client is a Go program, such as go tool pprof */
	bool is_go;
	const char *if_none_match; /* header If-None-Match; "" when absent */
	const char *range;         /* header Range; "" when absent */
};

enum {
	ANSWER_HEADERS_MAX = 8
};

/*
 * A body that is made while it is sent. next() appends a piece to `out` and
 * returns 1 when more follows, 0 at the end, or ERR_*, which closes the
 * connection. ERR_AGAIN means that there is no memory for the next piece now;
 * next() is called again later; if `out` is not empty, it is sent before. Calls
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
	bool as_is;                  /* the body must not be compressed */
	struct {
		const char *name;
		const char *value; /* in the request's arena, or a constant */
	} headers[ANSWER_HEADERS_MAX];
	size_t header_count;
	/* the query's memory, released when all is sent */
	struct query_work work;
};

/*
 * Set a header; the value replaces that of an earlier call with the same name.
 * An answer has at most ANSWER_HEADERS_MAX. `name` is a constant; `value` is a
 * constant or in the request's arena.
 */
void answer_header(struct answer *a, const char *name, const char *value);

/* Handle a request; all routes of a table share one ctx. */
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
	unsigned scope; /* scopes that a request needs: a set of enum scope */
};

/*
 * Find the route of a path, NULL if there is none. *segment becomes what the *
 * of the route matched, if it has one.
 */
const struct route *route_find(const struct route *routes, struct str path,
			       struct str *segment);

#endif
