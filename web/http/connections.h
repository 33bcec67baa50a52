/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: who holds one, and since when without a complete request.
 *
 * libmicrohttpd's own timeout begins anew with each byte, so that a byte a
 * second holds a connection for ever; here a request has until its deadline,
 * from the connection's start or the last answer. When there are too many,
 * the one that has been idle longest is closed: one that waits for a request,
 * or takes nothing of its answer.
 *
 * A client that takes an answer too slowly is closed as well: what it is sent
 * is in memory until it has it.
 *
 * Ownership: descriptors are the server's; they are shut down, never closed.
 * Threads: any.
 */
#ifndef WEB_HTTP_CONNECTIONS_H
#define WEB_HTTP_CONNECTIONS_H

#include "base/defs.h"

struct connections;

/* One connection, from its start to its end. */
struct connection;

struct connections_options {
	size_t max;
	int64_t first_ms;  /* until the first request is complete */
	int64_t next_ms;   /* between an answer and the next request */
	int64_t send_rate; /* bytes a second that a client must take of an
			      answer, over half a minute; 0: any */
};

struct connections *connections_new(const struct connections_options *o);
void connections_free(struct connections *cs); /* NULL is a no-op */

/* A connection begins: if there are too many, another ends. */
struct connection *connections_add(struct connections *cs, int fd);

/*
 * READING: the next request is waited for. WORKING: it is being handled, and
 * the connection stays. SENDING: an answer goes out; told again when a part of
 * it has gone.
 */
enum connection_state {
	CONNECTION_READING,
	CONNECTION_WORKING,
	CONNECTION_SENDING
};

/* NULL is a no-op for both. */
void connection_turn(struct connections *cs, struct connection *c,
		     enum connection_state state);
void connection_end(struct connections *cs, struct connection *c);

/* Shut it down: only its end is to come. NULL is a no-op. */
void connection_drop(struct connections *cs, struct connection *c);

/*
 * The target of a connection's request, noted when it came: later what is odd
 * in it has gone. It stands here, for not every one becomes a request that is
 * told to end. For the server's thread alone.
 */
struct connection_target {
	const char *behind; /* the byte behind the one that ended it */
	bool sound;         /* no broken escapes, nothing too much */
};

/* NULL: c is. */
struct connection_target *connection_target(struct connection *c);

/* End those whose request is late, or who take too little. Returns how many. */
size_t connections_sweep(struct connections *cs);

/* Wait until no request is handled and all answers are out, or until then. */
bool connections_settle(struct connections *cs, int64_t deadline_ns);

#endif
