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

#include "base/budget.h"
#include "base/log.h"
#include "base/metrics.h"
#include "web/auth/auth.h"
#include "web/route/route.h"

enum {
	SERVER_BODY_MAX = 1024 * 1024 /* limit on a request's body in bytes */
};

/* Options of a server; everything is borrowed. */
struct server_options {
	const char *address; /* host:port; port 0: any free one */
	/* A regex that matches whole origins; NULL: none is allowed. */
	const char *cors_origin;
	const struct route *routes;
	void *ctx; /* passed to handlers */
	unsigned max_connections;
	int64_t rate_limit;      /* requests a second per client; 0: no limit */
	unsigned threads;        /* number of worker threads */
	int64_t read_timeout_ms; /* time for a client to send a request */
	int64_t query_timeout_ms; /* time for a request to be answered */
	/* bytes a second; slower clients are disconnected; 0: no limit */
	int64_t slow_client_rate;
	const char *allowed_hosts; /* names for hosts_allow(); NULL: any */
	int64_t slow_ms;           /* log slower requests as warnings */
	bool access_log;           /* log all requests */
	/* query memory, of which each client gets a share */
	struct budget *memory;
	const struct log *log;
	struct metrics *metrics;
	struct auth *auth;
	const char *version; /* everprof's version, sent with every answer */
	/* Turns an answer into the error answer for err. */
	void (*fail)(struct answer *a, const struct err *err);
	/* Answers a request for an unknown path. */
	void (*missing)(struct request *r, struct answer *a);
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
