/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP server, built on libmicrohttpd: its threads, limits and timeouts. One
 * epoll thread reads requests and writes answers. Handlers run on a fixed
 * number of pool threads while their connection is suspended, so that no
 * handler keeps other requests waiting.
 *
 * Ownership: a handler borrows its request for the call; afterwards the
 * answer's body belongs to the server.
 * Threads: handlers run on any pool thread, several at a time.
 * Shutdown: server_stop() lets running handlers finish, then server_free().
 */
#ifndef WEB_HTTP_SERVER_H
#define WEB_HTTP_SERVER_H

#include "base/budget.h"
#include "base/log.h"
#include "base/metrics.h"
#include "web/auth/auth.h"
#include "web/http/route.h"

enum {
	SERVER_BODY_MAX = 1024 * 1024 /* limit on a request's body in bytes */
};

/* Options of a server; everything is borrowed. */
struct server_options {
	const char *flag;    /* the flag with the address, for messages */
	const char *address; /* host:port; port 0: any free one */
	/*
	 * Regular expression that must match a whole origin to allow it by
	 * CORS; NULL: no origin is allowed.
	 */
	const char *cors_origin;
	const struct route *routes;
	/* Routes that are tried before `routes`; NULL: none. */
	const struct route *pages;
	void *ctx; /* passed to every handler */
	unsigned max_connections;
	int64_t rate_limit; /* requests a second per client; 0: no limit */
	unsigned threads;   /* number of worker threads */
	/* how many requests of a connection may wait for a thread */
	unsigned tasks_per_connection;
	/*
	 * For ROUTE_BODY: number of threads, limit of the memory of all bodies,
	 * and limit of one body in bytes.
	 */
	unsigned body_threads;
	struct ingest_limiter *limiter;
	size_t max_body;
	int64_t read_timeout_ms;  /* time for a client to send a request */
	int64_t query_timeout_ms; /* time for a request to be answered */
	/*
	 * bytes a second; clients that receive more slowly are disconnected; 0:
	 * no limit
	 */
	int64_t slow_client_rate;
	/* names for hosts_allow(); NULL: any host is allowed */
	const char *allowed_hosts;
	/* requests that take longer, in ms, are logged as warnings */
	int64_t slow_ms;
	bool access_log; /* whether every request is logged */
	/* query memory, of which each client may use a part */
	struct budget *memory;
	const struct log *log;
	struct metrics *metrics;
	struct auth *auth;
	const char *version; /* everprof's version, sent with every answer */
	/*
	 * Refuses a request, before its handler was called: turns the answer
	 * into the error answer for `err`, in the form that the clients of the
	 * route expect; the route is NULL if the path has none.
	 */
	void (*fail)(void *ctx, const struct request *r,
		     const struct route *route, struct answer *a,
		     const struct err *err);
	/* Answers a request for an unknown path. */
	void (*missing)(struct request *r, struct answer *a);
};

struct server;
struct running;

/*
 * What protects everprof from clients: limits that are common to all its listeners.
 */
struct server_guards {
	struct connections *connections;
	struct limiter *limiter;
	struct clients *clients;
	struct pool *pool;      /* runs what is no upload */
	struct pool *body_pool; /* stores uploads */
};

/*
 * Start a server. Returns ERR_INVALID when the address or the CORS expression
 * is malformed, and an error of err_sys(), mostly ERR_IO, when the server
 * cannot listen. The caller owns the result.
 */
NODISCARD int server_start(const struct server_options *o, struct server **out,
			   struct err *err);

/* The queries that are running. */
struct running *server_running(const struct server *s);

/*
 * The guards of a server, borrowed. The pools end with server_stop(), the others with
 * server_free().
 */
struct server_guards server_guards(const struct server *s);

/* The port that the server listens on. */
unsigned server_port(const struct server *s);

/*
 * Stop a server: refuse new connections, let queries run for 5 more seconds,
 * and let answers be sent for 10 seconds. NULL is a no-op.
 */
void server_stop(struct server *s);

/* Free a server; stops it first if need be. NULL is a no-op. */
void server_free(struct server *s);

#endif
