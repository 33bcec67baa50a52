/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC connection: a socket, with or without TLS, and the session on it. Nothing is read
 * while the client does not take what it is sent, so that no answers gather.
 *
 * Ownership: the server owns its connections; a connection owns its descriptor.
 * Threads: the server's thread.
 */
#ifndef WEB_GRPC_GRPC_CONNECTION_H
#define WEB_GRPC_GRPC_CONNECTION_H

#include <sys/socket.h>

#include "web/auth/tls_session.h"
#include "web/grpc/grpc_session.h"
#include "web/guard/clients.h"

struct grpc_server;

struct grpc_connection {
	struct grpc_server *server;
	int fd; /* -1: closed */
	struct sockaddr_storage address;
	struct tls_session *tls; /* NULL: no TLS */
	bool in_handshake;       /* the handshake of TLS goes on */
	bool handshake_writes;   /* it waits until it can write */
	bool speaks_http1;       /* the client speaks HTTP/1 */
	bool is_greeted;         /* the client speaks HTTP/2 */
	uint64_t received;
	struct grpc_session *session;
	struct client *client;       /* holds a reference */
	struct connection *entry;    /* in the limits of connections */
	bool is_turned;              /* `state` was set */
	enum connection_state state; /* as the limits know it */
	uint64_t requests;           /* when `state` was set */
	struct buf out;              /* bytes that could not be sent yet */
	size_t out_sent;             /* of which so many were sent */
	int64_t blocked_ns; /* since when they wait; 0: there are none */
	unsigned events;    /* for which epoll waits */
	size_t busy;        /* streams on which threads work */
	struct grpc_connection *prev;
	struct grpc_connection *next;
};

/*
 * Create a connection on a descriptor, which it owns from now on, with a session. With
 * `tls`, it begins with a handshake. ERR_IO: gnutls fails; the descriptor is closed.
 */
NODISCARD int grpc_connection_new(struct grpc_server *server, int fd,
				  const struct grpc_session_options *o,
				  const struct tls_server *tls,
				  struct grpc_connection **out,
				  struct err *err);

/* Close the socket, and drop the session. */
void grpc_connection_close(struct grpc_connection *c);

/* Free a closed connection. */
void grpc_connection_free(struct grpc_connection *c);

/*
 * Read what has come, if `reads`, and send what can be sent. An error: the connection has to
 * be closed; ERR_CLOSED: it has come to its end.
 */
NODISCARD int grpc_connection_step(struct grpc_connection *c, bool reads,
				   struct err *err);

/* The events of epoll that the connection waits for. */
unsigned grpc_connection_wants(const struct grpc_connection *c);

#endif
