/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC server: a listener for calls with one message each, in HTTP/2 with TLS or without it
 * ("prior knowledge"). One thread reads and writes; handlers run on the pools of the HTTP
 * server, whose limits count for this listener, too.
 *
 * Ownership: the options are borrowed and must outlive the server.
 * Threads: one thread starts and stops it. Handlers run on any pool thread, several at a
 * time.
 * Shutdown: grpc_server_retire(), then the pools end, then grpc_server_free(), then the
 * guards are freed.
 */
#ifndef WEB_GRPC_GRPC_SERVER_H
#define WEB_GRPC_GRPC_SERVER_H

#include "base/log.h"
#include "base/metrics.h"
#include "web/grpc/grpc_call.h"
#include "web/http/server.h"

/* Options of a server; everything is borrowed. */
struct grpc_server_options {
	const char *flag;    /* the flag with the address, for messages */
	const char *address; /* host:port */
	const struct grpc_method *methods;
	void *ctx; /* passed to every handler */
	struct server_guards guards;
	struct auth *auth;
	/* memory for all messages that are being received */
	struct ingest_limiter *limiter;
	size_t max_body;           /* largest message in bytes */
	const char *allowed_hosts; /* names for hosts_allow() */
	int64_t read_timeout_ms;   /* time for a client to send a request */
	int64_t call_timeout_ms;   /* time for a request to be answered */
	/* requests that take longer, in ms, are logged as warnings */
	int64_t slow_ms;
	bool access_log; /* whether every request is logged */
	const struct log *log;
	struct metrics *metrics;
};

struct grpc_server;

/* Start a server. Errors of listen_on() and tls_server_new(). */
NODISCARD int grpc_server_start(const struct grpc_server_options *o,
				struct grpc_server **out, struct err *err);

/* The port that the server listens on. */
unsigned grpc_server_port(const struct grpc_server *g);

/*
 * Refuse new connections, and ask clients for no more requests. Those that have begun are
 * answered within 10 seconds; then all connections are closed. NULL is a no-op.
 */
void grpc_server_retire(struct grpc_server *g);

/*
 * Wait until all connections are closed, and free the server, for which no pool works any
 * more. It is retired first if need be. NULL is a no-op.
 */
void grpc_server_free(struct grpc_server *g);

#endif
