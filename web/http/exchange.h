/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchange: a request and its answer, from the first byte received to the last
 * byte sent. It is shared by the files of the server: exchange.c creates it,
 * access.c decides whether it may be handled, reply.c sends the answer,
 * server.c drives it.
 *
 * Ownership: the server owns its exchanges.
 * Threads: the server's thread, but a pool thread while the connection is
 * suspended.
 */
#ifndef WEB_HTTP_EXCHANGE_H
#define WEB_HTTP_EXCHANGE_H

#include <microhttpd.h>
#include <pthread.h>

#include "base/mutex.h"
#include "base/pool.h"
#include "model/regex.h"
#include "web/http/clients.h"
#include "web/http/connections.h"
#include "web/http/limiter.h"
#include "web/http/server.h"

/* The HTTP server. */
struct server {
	struct server_options o;
	struct MHD_Daemon *daemon;
	struct pool *pool;
	unsigned port;
	/*
	 * Bytes of all request bodies in memory: in strange_forms if the
	 * password is not verified yet, in forms otherwise.
	 */
	_Atomic int64_t forms;
	_Atomic int64_t strange_forms;
	/*
	 * When queries must end, by clock_mono_ns(); INT64_MAX until shutdown.
	 */
	_Atomic int64_t stop_ns;
	bool tls;
	char *client_ca;  /* from auth_client_ca(); owned */
	char *priorities; /* from auth_tls_priorities(); owned */
	struct connections *connections;
	struct limiter *limiter;
	struct clients *clients;
	struct regex *cors;      /* allowed origins; NULL: none */
	struct exchange *parked; /* streams waiting for memory; under mu */
	bool closing; /* shutdown: streams no longer wait; under mu */
	pthread_t sweeper;
	struct mutex mu;
	pthread_cond_t stop;
	bool sweeping; /* the sweeper runs; under mu */
};

/* A request and its answer. */
struct exchange {
	struct server *server;
	struct MHD_Connection *connection;
	struct client *client; /* holds a reference */
	struct request request;
	struct answer answer;
	struct identity who; /* user or token, and its scopes */
	struct buf form;     /* the request's body */
	/* the server's counter that includes the body */
	_Atomic int64_t *form_pool;
	int64_t form_taken;        /* bytes of the body in that counter */
	bool crowded;              /* the counter was full: body incomplete */
	const struct route *route; /* NULL: no such path */
	int64_t started_ns; /* when the request's headers were complete */
	struct buf chunk;   /* the current piece of a stream */
	size_t sent;        /* bytes of the piece that were sent */
	int more;           /* last result of the stream's next() */
	struct exchange *next_parked; /* next exchange in server.parked */
	/* when the stream began to wait for memory; 0: it does not wait */
	int64_t parked_ns;
	bool answered;   /* the answer is complete */
	bool suspended;  /* a worker has, or had, the connection */
	bool admitted;   /* access_admit() has run */
	bool unverified; /* the password still has to be verified */
	bool ambiguous;  /* the framing is ambiguous */
	bool foreign;    /* sent by a page of another origin */
	bool bad;        /* an invalid escape or a NUL in the target */
	bool wordy;      /* too many parameters, so some are missing */
};

#define EXCHANGE_UNSOUND                                                  \
	"invalid URL or form: it contains a NUL, or a \"%\" without two " \
	"hexadecimal digits (write a percent sign as %25)"

/*
 * Create an exchange from a request line and headers. Never fails; what is
 * wrong with the request is noted in its flags. The caller owns the result.
 */
struct exchange *exchange_new(struct server *s, struct MHD_Connection *c,
			      const char *path, const char *method,
			      const char *version);

/* Free an exchange, return its memory to the budgets, and end its stream. */
void exchange_free(struct exchange *x);

/* Append a piece of the body. Once it exceeds a limit the rest is dropped. */
void exchange_add(struct exchange *x, const char *data, size_t len);

/*
 * Parse the body as a form and put its parameters before those of the URL. On
 * failure the answer is set to the error.
 */
void exchange_parse_form(struct exchange *x);

/* A header of the request; "" when it is missing. */
const char *exchange_header(struct exchange *x, const char *name);

/* Set the answer to an error: `code` is an ERR_*, `why` is its message. */
void exchange_refuse(struct exchange *x, int code, const char *why);

/* The connection's entry in server.connections, or NULL. */
struct connection *exchange_connection(struct MHD_Connection *c);

/* Set the state of the exchange's connection. */
void exchange_turn(struct exchange *x, enum connection_state state);

/* The address of the client; NULL when unknown. */
const struct sockaddr *exchange_address(struct MHD_Connection *c);

#endif
