/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and answers as handlers see them, and routes: which handler answers
 * which path.
 *
 * Ownership: a request is borrowed for the handler's call; an answer belongs to
 * the caller of the handler, which frees its body and ends its stream.
 * Threads: a handler may run in several threads at a time, each with a request
 * and an answer of its own.
 */
#ifndef WEB_HTTP_ROUTE_H
#define WEB_HTTP_ROUTE_H

#include "base/arena.h"
#include "base/ingest_limiter.h"
#include "query/select/params.h"
#include "query/select/query_work.h"

struct identity;

/* A request, as handlers see it. */
struct request {
	/* memory that is freed with the request; handlers may use it */
	struct arena arena;
	struct str method;
	struct str path;
	/* the part of the path that matches the * of the route */
	struct str segment;
	/* decoded parameters: first those of the form, then those of the URL */
	struct params params;
	bool accepts_gzip;
	bool accepts_brotli;
	/* whether the client is a browser that shows a page */
	bool accepts_html;
	bool has_ui; /* the server has the web UI, so plain pages link to it */
	const char *user_agent; /* header User-Agent; "" when absent */
	const char *accept;     /* header Accept; "" when absent */
	/* header Connect-Timeout-Ms; "" when absent */
	const char *connect_timeout;
	/* headers MCP-Protocol-Version, Mcp-Method, Mcp-Name; "" when absent */
	const char *mcp_version;
	const char *mcp_method;
	const char *mcp_name;
	/* whether the client is a Go program, such as go tool pprof */
	bool is_go;
	/*
	 * the body as received, only for ROUTE_BODY, whose handlers may use
	 * `share`, and ROUTE_MESSAGE
	 */
	struct bytes body;
	struct ingest_share share;    /* accounts for the memory of the body */
	const char *content_type;     /* header Content-Type; "" when absent */
	const char *content_encoding; /* Content-Encoding; "" when absent */
	const char *content_digest;   /* Content-Digest; "" when absent */
	int64_t deadline_ns; /* when the answer is due, on clock_mono_ns() */
	const char *if_none_match; /* header If-None-Match; "" when absent */
	const char *range;         /* header Range; "" when absent */
	const char *origin;        /* header Origin; "" when absent */
	/* whether a page of another origin asks, which is not allowed to */
	bool is_foreign;
	/* the client's IP address as text; "" when unknown */
	const char *peer;
	/* who sends the request; see struct identity */
	const struct identity *who;
	/* name of the cookie with the session, and its value; "" when absent */
	const char *session_cookie;
	const char *session;
};

enum {
	ANSWER_HEADERS_MAX = 12,
	HEADER_TEXT_MAX = 4096,    /* longest text in a header, in bytes */
	HEADER_FILE_NAME_MAX = 200 /* longest name of a file to save as */
};

/*
 * A body that is made while it is sent. next() appends a piece to `out` and
 * returns 1 when more pieces follow, 0 at the end. When there is no memory for
 * the next piece now, or the search for its contents takes long, it returns
 * ERR_AGAIN; the contents of `out`, if any, are then sent, and next() is called
 * again later. Any other error ERR_* closes the
 * connection. next() is called by pool threads, one call at a time; free() is
 * called last.
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
	/* sent instead of `body` if `next` is set */
	struct answer_stream stream;
	/* whether the body must be sent uncompressed */
	bool as_is;
	struct {
		const char *name;
		const char *value; /* a constant, or in the request's arena */
	} headers[ANSWER_HEADERS_MAX];
	size_t header_count;
	/* how long the client asked to wait; it does not make a request slow */
	int64_t waited_ns;
	/* the query's memory, returned when the answer is sent */
	struct query_work work;
};

/*
 * Set a header. The value replaces the value of an earlier call with the same
 * name. An answer has at most ANSWER_HEADERS_MAX headers. `name` is a constant;
 * `value` is a constant or in the request's arena. A value with text from
 * outside, such as names in profiles, is made by answer_header_text() first.
 */
void answer_header(struct answer *a, const char *name, const char *value);

/*
 * Make a text from outside fit for a header: at most `max` bytes, of which the
 * last ones show that the text is cut, and blanks instead of control
 * characters, because a line break would begin another header. All headers of
 * an answer share 32 KiB with those of the request; if they do not fit, the
 * connection ends without an answer. The result is in the arena.
 */
char *answer_header_text(struct arena *arena, struct str text, size_t max);

/* A function that handles a request. All routes of a table share one `ctx`. */
typedef void (*handler_fn)(void *ctx, struct request *r, struct answer *a);

/* Which methods a route accepts, and which thread runs its handler. */
enum route_kind {
	ROUTE_READ, /* GET, HEAD and POST, on a pool thread */
	/* GET, HEAD and POST, on the epoll thread: must not wait */
	ROUTE_QUICK,
	/*
	 * GET and HEAD, on the epoll thread, without credentials: answers with
	 * a file that is a part of the program, or with the server's health
	 * (docs/decisions.md, 136 and 175)
	 */
	ROUTE_OPEN,
	/* changes something: only POST and PUT, on a pool thread */
	ROUTE_WRITE,
	/* removes what the path names: only DELETE, on a pool thread */
	ROUTE_REMOVE,
	/*
	 * POST and PUT, on a thread of the pool for bodies: takes a large body,
	 * which is not a form, within the memory of server_options.limiter
	 */
	ROUTE_BODY,
	/*
	 * POST, on a pool thread: asks by a small body, which is not a form
	 */
	ROUTE_MESSAGE,
};

/*
 * A path and its handler. One segment of the path may be *, which matches any
 * segment.
 */
struct route {
	const char *path; /* NULL ends the table */
	handler_fn handle;
	enum route_kind kind;
	unsigned scope; /* scopes that the sender needs: a set of enum scope */
};

/* Whether requests to the route change something. */
static inline bool route_changes(const struct route *r)
{
	return r->kind == ROUTE_WRITE || r->kind == ROUTE_BODY ||
	       r->kind == ROUTE_REMOVE;
}

/*
 * The methods that a route accepts, as the value of an Allow header. A route that only
 * reads also accepts POST, for parameters that are too long for a URL. NULL: there is no
 * route.
 */
const char *route_methods(const struct route *r);

/* Whether the route accepts a method. */
bool route_accepts(const struct route *r, struct str method);

/* Whether the server's thread runs the handler. */
static inline bool route_is_quick(const struct route *r)
{
	return r->kind == ROUTE_QUICK || r->kind == ROUTE_OPEN;
}

/*
 * Find the route of a path that accepts the method; if none does, one that does not, and
 * NULL if the path has none. If the route has a *, *segment is set to the part of the
 * path that matches it.
 */
const struct route *route_find(const struct route *routes, struct str method,
			       struct str path, struct str *segment);

#endif
