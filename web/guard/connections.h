/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: track how long each connection has been waiting, and close the
 * connections of slow clients.
 *
 * libmicrohttpd's own timeout restarts with each byte, so a client that sends
 * one byte a second could keep a connection forever. Here a request has a fixed
 * deadline, counted from the start of the connection or from the last answer
 * (docs/decisions.md, 70). When there are too many connections, one is closed:
 * of those that wait for a request, the one that has waited longest of the
 * client with the most connections (docs/decisions.md, 188).
 *
 * A connection is also closed if its client receives an answer too slowly,
 * because the answer stays in memory until it is sent (docs/decisions.md, 91),
 * or if it sends a large body too slowly, for the same reason.
 *
 * Ownership: descriptors belong to the server; they are shut down here, but
 * never closed.
 * Threads: any.
 */
#ifndef WEB_GUARD_CONNECTIONS_H
#define WEB_GUARD_CONNECTIONS_H

#include "base/defs.h"

struct connections;

/* One connection, from its start to its end. */
struct connection;

/* Limits of connections. */
struct connections_options {
	size_t max; /* limit on connections at a time */
	/* time limit for receiving a connection's first request, in ms */
	int64_t first_ms;
	/* time limit after an answer for receiving the next request, in ms */
	int64_t next_ms;
	/*
	 * bytes a second at which a client must receive an answer or send a
	 * large body, on average over rate_ms; 0: no limit
	 */
	int64_t least_rate;
	int64_t rate_ms;
};

/* Create the list of connections. */
struct connections *connections_new(const struct connections_options *o);

/* Free the list and all entries; NULL is a no-op. */
void connections_free(struct connections *cs);

/*
 * Add a connection of the client with the key `client` (client_key()). When
 * there are too many, one is shut down. A connection that moves a body or an
 * answer is shut down only if no connection waits for a request, and only in
 * favour of a client that has fewer connections; otherwise the new connection
 * is shut down. The result is valid until connection_end().
 */
struct connection *connections_add(struct connections *cs, int fd,
				   uint64_t client);

/*
 * What a connection is doing. READING: receiving a request, or waiting for one.
 * RECEIVING: receiving a large body, within the time limit of a request, and at
 * the least rate. WORKING: its request is being handled; the connection is not shut down to
 * make room for a new one. SENDING: its answer is being sent.
 */
enum connection_state {
	CONNECTION_READING,
	CONNECTION_RECEIVING,
	CONNECTION_WORKING,
	CONNECTION_SENDING
};

/*
 * Set the state of a connection, and record that the state begins now. To be
 * called with SENDING again whenever a part of the answer has been sent: the
 * connection's idle time then starts again. If `c` is NULL, does nothing.
 */
void connection_turn(struct connections *cs, struct connection *c,
		     enum connection_state state);

/*
 * Remove and free a connection that has been closed. If `c` is NULL, does
 * nothing.
 */
void connection_end(struct connections *cs, struct connection *c);

/*
 * Shut a connection down; connection_end() follows later. If `c` is NULL, does
 * nothing.
 */
void connection_drop(struct connections *cs, struct connection *c);

/*
 * Facts about the target of a request (path and parameters), recorded before
 * libmicrohttpd parses the target, because parsing changes the text in place.
 * They are kept with the connection, because libmicrohttpd does not report the
 * end of every request. Only the server's thread may use them.
 */
struct connection_target {
	/* first byte of the target in libmicrohttpd's buffer */
	const char *begin;
	const char *behind; /* the byte after the NUL that ends the target */
	/* all escapes are valid, and there are not too many parameters */
	bool sound;
};

/* The target of the connection's current request; NULL if `c` is NULL. */
struct connection_target *connection_target(struct connection *c);

/*
 * Close the connections whose request is late or whose client is too slow.
 * Returns the number of closed connections. To be called regularly.
 */
size_t connections_sweep(struct connections *cs);

/*
 * Wait until no request is being handled and all answers are sent, but not
 * beyond the deadline, a time of clock_mono_ns(). Returns whether all are done.
 */
bool connections_settle(struct connections *cs, int64_t deadline_ns);

#endif
