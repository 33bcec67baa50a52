/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchange: a request and its answer, from the first byte received to the last
 * byte sent. The files of the server share it: exchange.c creates it, access.c
 * decides whether it may be handled, reply.c sends the answer, server.c calls
 * the other files.
 *
 * Ownership: the server owns its exchanges.
 * Threads: the server's thread; while the connection is suspended, a pool
 * thread.
 */
#ifndef WEB_HTTP_EXCHANGE_H
#define WEB_HTTP_EXCHANGE_H

#include <microhttpd.h>
#include <pthread.h>

#include "base/mutex.h"
#include "base/pool.h"
#include "model/regex.h"
#include "web/guard/clients.h"
#include "web/guard/connections.h"
#include "web/guard/limiter.h"
#include "web/guard/running.h"
#include "web/http/framing.h"
#include "web/http/server.h"

/* The HTTP server. */
struct server {
	struct server_options o;
	struct MHD_Daemon *daemon;
	struct pool *pool;
	struct pool *body_pool; /* runs the handlers of ROUTE_BODY */
	unsigned port;
	/*
	 * Bytes of all request bodies in memory. `strange_forms` counts the
	 * bodies of requests whose password is not verified yet, `forms` all
	 * other bodies.
	 */
	_Atomic int64_t forms;
	_Atomic int64_t strange_forms;
	/*
	 * Time, on clock_mono_ns(), by which all queries must have ended.
	 * INT64_MAX until shutdown.
	 */
	_Atomic int64_t stop_ns;
	bool tls;
	/*
	 * Name of the session cookie. It contains the port, so that servers on
	 * one host use different cookies.
	 */
	char *session_cookie;
	char *client_ca;  /* from auth_client_ca(); owned */
	char *priorities; /* from auth_tls_priorities(); owned */
	struct connections *connections;
	struct limiter *limiter;
	struct clients *clients;
	struct running *running;
	struct metric *cancelled; /* counts queries whose client has gone */
	struct regex *cors;       /* origins allowed by CORS; NULL: none */
	/* streams that wait for memory; guarded by mu */
	struct exchange *parked;
	/*
	 * whether the server is stopping, so that streams must not wait;
	 * guarded by mu
	 */
	bool closing;
	pthread_t sweeper;
	struct mutex mu;
	pthread_cond_t stop;
	bool sweeping; /* whether the sweeper thread runs; guarded by mu */
};

/* A request and its answer. */
struct exchange {
	struct server *server;
	struct MHD_Connection *connection;
	/* the sender's entry in `clients`; holds a reference */
	struct client *client;
	struct request request;
	struct answer answer;
	/* The request as a running query, while a pool thread handles it. */
	struct running_query running;
	struct identity who; /* the sender: user or token, and its scopes */
	struct buf form;     /* the request's body */
	/* the counter that includes the body: server.forms or .strange_forms */
	_Atomic int64_t *form_pool;
	/* the counter of the client that includes the body */
	_Atomic int64_t *form_share;
	int64_t form_taken; /* bytes of the body counted in both counters */
	uint64_t received;  /* bytes of the body that have arrived */
	uint64_t pieces;    /* number of pieces in which they arrived */
	/* there was no memory for the body, so the body is incomplete */
	bool crowded;
	const struct route *route; /* route of the path; NULL: no such path */
	int64_t started_ns; /* when the request's headers were complete */
	struct buf chunk;   /* current piece of a streamed answer */
	size_t sent;        /* bytes of `chunk` that were sent */
	int more;           /* last result of the stream's next() */
	struct exchange *next_parked; /* next exchange in server.parked */
	/*
	 * when the stream began to wait for memory, in ns; 0: it does not wait
	 */
	int64_t parked_ns;
	bool answered; /* the answer is complete */
	/* the connection is, or was, suspended for the handler */
	bool suspended;
	bool admitted; /* access_admit() has run */
	/* the password has to be verified before the request is handled */
	bool unverified;
	/* the password is being verified, before the body is read */
	bool verifying;
	enum framing framing; /* how the body is delimited */
	bool closes;          /* the connection is closed after the answer */
	bool bad;             /* the target has an invalid escape or a NUL */
	/* the target has too many parameters, so some are missing */
	bool wordy;
};

#define EXCHANGE_UNSOUND                                                  \
	"invalid URL or form: it contains a NUL, or a \"%\" without two " \
	"hexadecimal digits (write a percent sign as %25)"

/*
 * Create an exchange from a request line and headers. Never fails: faults of
 * the request are recorded in the flags of the exchange. The caller owns the
 * result.
 */
struct exchange *exchange_new(struct server *s, struct MHD_Connection *c,
			      const char *path, const char *method,
			      const char *version);

/* Free an exchange, return its memory to the budgets, and end its stream. */
void exchange_free(struct exchange *x);

/* Whether the request is for a route whose body is no form. */
bool exchange_has_message(const struct exchange *x);

/* How much of a body that is too large is read and dropped, in bytes. */
uint64_t exchange_drop_max(const struct exchange *x);

/*
 * Count a piece of the body. False: the connection must be closed, because a
 * chunked body goes on too long, or comes in too small chunks.
 */
NODISCARD bool exchange_count(struct exchange *x, size_t len);

/*
 * Append a piece to the body. Once the body exceeds a limit, further pieces are
 * dropped.
 */
void exchange_add(struct exchange *x, const char *data, size_t len);

/*
 * Parse the body as a form and put its parameters before the parameters of the
 * URL. On failure, the answer is set to the error.
 */
void exchange_parse_form(struct exchange *x);

/* A header of the request; "" when it is missing. */
const char *exchange_header(struct exchange *x, const char *name);

/*
 * Set the answer to an error, in the form that the clients of the route expect.
 */
void exchange_fail(struct exchange *x, const struct err *err);

/* The same: `code` is an ERR_*, `why` is its message. */
void exchange_refuse(struct exchange *x, int code, const char *why);

/* The connection's entry in server.connections, or NULL. */
struct connection *exchange_connection(struct MHD_Connection *c);

/* Set the state of the connection that the exchange uses. */
void exchange_turn(struct exchange *x, enum connection_state state);

/* The address of the client; NULL when unknown. */
const struct sockaddr *exchange_address(struct MHD_Connection *c);

#endif
