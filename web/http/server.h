/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP server, on libmicrohttpd: one epoll thread reads requests and writes
 * answers; handlers run on a bounded pool while their connection is
 * suspended, so that none of them can keep the others waiting.
 *
 * Ownership: a request is borrowed for the handler's call; the answer's body
 * belongs to the server afterwards.
 * Threads: handlers on any pool thread, several at a time.
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
	SERVER_BODY_MAX = 1024 * 1024
};

struct request {
	struct arena arena; /* for handlers too; freed with the request */
	struct str method;
	struct str path;
	struct str segment;   /* what a route's * stands for */
	struct params params; /* of the query string and of a form, decoded */
	bool accepts_gzip;
	bool accepts_html;         /* a browser that shows a page */
	bool is_go;                /* a Go program, go tool pprof among them */
	const char *if_none_match; /* "" when absent */
	const char *range;         /* "" when absent */
};

enum {
	ANSWER_HEADERS_MAX = 8
};

/*
 * A body that is made while it is sent. next() appends a piece to out: 1 when
 * more follows, 0 at the end, ERR_* when it fails (the connection is closed).
 * ERR_AGAIN: there is no memory for the next piece now, ask later; out may hold
 * something all the same. Calls come from pool threads, one after another;
 * free() comes last.
 */
struct answer_stream {
	int (*next)(void *ctx, struct buf *out, struct err *err);
	void (*free)(void *ctx);
	void *ctx;
};

struct answer {
	unsigned status;
	const char *content_type; /* a constant */
	struct buf body;
	struct answer_stream stream; /* instead of body, when next is set */
	bool as_is;                  /* never compressed */
	struct {
		const char *name;
		const char *value; /* in the request's arena, or a constant */
	} headers[ANSWER_HEADERS_MAX];
	size_t header_count;
	struct query_work work; /* its memory is given back when all is sent */
};

void answer_header(struct answer *a, const char *name, const char *value);

typedef void (*handler_fn)(void *ctx, struct request *r, struct answer *a);

enum route_kind {
	ROUTE_READ,  /* GET, HEAD and POST */
	ROUTE_QUICK, /* runs on the epoll thread: must not wait for anything */
	ROUTE_WRITE, /* changes something: POST and PUT alone */
};

/* A path; one segment of it may be *. */
struct route {
	const char *path; /* NULL ends the table */
	handler_fn handle;
	enum route_kind kind;
	unsigned scope; /* enum scope: all that it takes */
};

struct server_options {
	const char *address;        /* host:port; port 0: any free one */
	const char *cors_origin;    /* a regex of whole origins; NULL: none */
	const struct route *routes; /* borrowed */
	void *ctx;                  /* for handlers */
	unsigned max_connections;
	int64_t rate_limit; /* requests a second of a client; 0: none */
	unsigned threads;
	int64_t read_timeout_ms;
	int64_t query_timeout_ms;
	int64_t slow_client_rate;  /* bytes a second, below it one is closed */
	const char *allowed_hosts; /* names of the server; NULL: any, or none */
	int64_t slow_ms;           /* requests that take longer are logged */
	bool access_log;           /* and all of them */
	struct budget *memory;     /* of all; each client has a share of it */
	const struct log *log;
	struct metrics *metrics;
	struct auth *auth;
	const char *version; /* said with every answer */
	/* Makes an error's answer: the API's JSON. */
	void (*fail)(struct answer *a, const struct err *err);
	void (*missing)(struct request *r, struct answer *a); /* no such path */
};

struct server;

/* ERR_INVALID: the address; ERR_IO: it cannot be listened on. */
NODISCARD int server_start(const struct server_options *o, struct server **out,
			   struct err *err);

/* The port that is listened on. */
unsigned server_port(const struct server *s);

/* NULL is a no-op for both. */
void server_stop(struct server *s);
void server_free(struct server *s);

#endif
