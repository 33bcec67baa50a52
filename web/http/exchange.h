/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchange: a request from its first byte to its answer's last. What the files
 * of the server share: exchange.c makes it of what libmicrohttpd says, access.c
 * judges who asks for what, reply.c sends the answer, server.c leads it
 * through.
 *
 * Ownership: the server owns its exchanges, from the first byte to the last.
 * Threads: the server's, but while a worker handles it.
 */
#ifndef WEB_HTTP_EXCHANGE_H
#define WEB_HTTP_EXCHANGE_H

#include <microhttpd.h>
#include <pthread.h>

#include "base/pool.h"
#include "model/regex.h"
#include "web/http/clients.h"
#include "web/http/connections.h"
#include "web/http/limiter.h"
#include "web/http/server.h"

struct server {
	struct server_options o;
	struct MHD_Daemon *daemon;
	struct pool *pool;
	unsigned port;
	/* Bytes of bodies of all requests, those of whom we do not know apart. */
	_Atomic int64_t forms;
	_Atomic int64_t strange_forms;
	_Atomic int64_t stop_ns; /* when queries end; far off until then */
	bool tls;
	char *client_ca;
	char *priorities;
	struct connections *connections;
	struct limiter *limiter;
	struct clients *clients;
	struct regex *cors;      /* origins; NULL: none */
	struct exchange *parked; /* streams that wait for memory; under mu */
	bool closing; /* nobody waits for memory any more; likewise */
	pthread_t sweeper;
	pthread_mutex_t mu;
	pthread_cond_t stop;
	bool sweeping;
};

/* A request from its first byte to its answer's last. */
struct exchange {
	struct server *server;
	struct MHD_Connection *connection;
	struct client *client; /* referenced */
	struct request request;
	struct answer answer;
	struct identity who;
	struct buf form;
	_Atomic int64_t *form_pool; /* the server's, that it is counted in */
	int64_t form_taken;         /* of it */
	bool crowded;               /* there was no room for all of it */
	const struct route *route;
	int64_t started_ns;
	struct buf chunk; /* of a stream, being sent */
	size_t sent;      /* of the chunk */
	int more;         /* what the stream said last */
	struct exchange *next_parked;
	int64_t parked_ns; /* since when it waits; 0: it does not */
	bool answered;
	bool suspended;
	bool admitted;
	bool unverified; /* the password is yet to be hashed */
	bool ambiguous;
	bool foreign; /* asked by a page of another origin */
	bool bad;     /* an escape that is none, or a NUL */
	bool wordy;   /* too many parameters; the rest is not there */
};

#define EXCHANGE_UNSOUND                                                      \
	"the URL, or the form, holds a \"%\" without two hexadecimal digits " \
	"(a percent sign is %25), or a NUL"

/* What a request's first call brings. */
struct exchange *exchange_new(struct server *s, struct MHD_Connection *c,
			      const char *path, const char *method,
			      const char *version);
void exchange_free(struct exchange *x);

/* A piece of the body: kept as long as there is room for it. */
void exchange_add(struct exchange *x, const char *data, size_t len);

/* The parameters of a form that find_fault() let pass, first; or a refusal. */
void exchange_parse_form(struct exchange *x);

/* A header of the request, "" when it has none. */
const char *exchange_header(struct exchange *x, const char *name);

/* The answer is this error. */
void exchange_refuse(struct exchange *x, int code, const char *why);

struct connection *exchange_connection(struct MHD_Connection *c);
void exchange_turn(struct exchange *x, enum connection_state state);

/* The address of who is at the other end; NULL: not known. */
const struct sockaddr *exchange_address(struct MHD_Connection *c);

#endif
