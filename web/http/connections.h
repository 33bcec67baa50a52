/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: track how long each connection has been waiting, and close the
 * connections of slow clients.
 *
 * libmicrohttpd's own timeout restarts with each byte, so that one byte a
 * second holds a connection forever. Here a request has a fixed deadline,
 * counted from the connection's start or the last answer (docs/decisions.md,
 * 70). When there are too many connections, the connection that has been idle
 * longest is closed. A connection is idle while it waits for a request or for
 * the client to take an answer.
 *
 * A client that takes an answer too slowly is closed as well, because the
 * answer stays in memory until it is sent (docs/decisions.md, 91).
 *
 * Ownership: descriptors belong to the server; they are shut down here, but
 * never closed.
 * Threads: any.
 */
#ifndef WEB_HTTP_CONNECTIONS_H
#define WEB_HTTP_CONNECTIONS_H

#include "base/defs.h"

struct connections;

/* One connection, from its start to its end. */
struct connection;

/* Limits of connections. */
struct connections_options {
	size_t max; /* limit on connections at a time */
	/* time limit for a connection's first request to be complete */
	int64_t first_ms;
	/* time limit after an answer for the next request to be complete */
	int64_t next_ms;
	/*
	 * bytes a second that a client must take of an answer, over half a
	 * minute; 0: no limit
	 */
	int64_t send_rate;
};

/* Create the list of connections. */
struct connections *connections_new(const struct connections_options *o);

/* Free the list and all entries; NULL is a no-op. */
void connections_free(struct connections *cs);

/*
 * Add a connection. When there are too many, the connection that has been idle
 * longest is shut down, or the new one if all others are handling requests. The
 * result is valid until connection_end().
 */
struct connection *connections_add(struct connections *cs, int fd);

/*
 * What a connection is doing. READING: waiting for a complete request. WORKING:
 * a request is being handled; the connection is not evicted. SENDING: an answer
 * is going out.
 */
enum connection_state {
	CONNECTION_READING,
	CONNECTION_WORKING,
	CONNECTION_SENDING
};

/*
 * Set the state, and restart the time for which the connection has been in it.
 * Repeat SENDING whenever a part of the answer has been sent. NULL for c is a
 * no-op.
 */
void connection_turn(struct connections *cs, struct connection *c,
		     enum connection_state state);

/* Remove and free a connection that is closed. NULL for c is a no-op. */
void connection_end(struct connections *cs, struct connection *c);

/* Shut a connection down; connection_end() follows. NULL for c is a no-op. */
void connection_drop(struct connections *cs, struct connection *c);

/*
 * What was noted about the target of a request (path and parameters) before
 * libmicrohttpd parsed it, which changes the target in place. This is kept with
 * the connection, because libmicrohttpd does not report the end of every
 * request. Only the server's thread may use it.
 */
struct connection_target {
	const char *begin;  /* the target as received */
	const char *behind; /* the byte after the target's NUL */
	bool sound;         /* escapes are valid, and parameters not too many */
};

/* The target of the connection's request; NULL if c is NULL. */
struct connection_target *connection_target(struct connection *c);

/*
 * Close the connections whose request is late or whose client is too slow.
 * Returns their number. To be called regularly.
 */
size_t connections_sweep(struct connections *cs);

/*
 * Wait until no request is being handled and all answers are sent, or until the
 * deadline in terms of clock_mono_ns(). Returns whether all are done.
 */
bool connections_settle(struct connections *cs, int64_t deadline_ns);

#endif
