/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Web: starts and stops the HTTP side of everprof. docs/api.md describes what it
 * answers.
 *
 * Ownership: everything in the options is borrowed and must outlive the web
 * side.
 * Threads: one thread starts and stops it; the other functions may be called
 * from any thread.
 */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "web/api/web_options.h"

/*
 * The running web server with its state. Handlers access the members
 * (web/api/context.h).
 */
struct web;

/*
 * Start serving. Returns the errors of loading the web configuration and of
 * server_start(): ERR_INVALID for a malformed address, and an error of
 * err_sys(), mostly ERR_IO, when everprof cannot listen on the address. The
 * caller owns *out.
 */
NODISCARD int web_start(const struct web_options *o, struct web **out,
			struct err *err);

/* Record whether the storage is open. Until then /-/ready answers 503. */
void web_set_ready(struct web *w, bool is_ready);

/* The port that the server listens on. */
unsigned web_port(const struct web *w);

/* The port of the listener for gRPC; 0: there is none. */
unsigned web_grpc_port(const struct web *w);

/*
 * Warnings about what anybody in the network could do (read all profiles, or
 * intercept passwords), as a sentence for a warning; NULL if they can do
 * neither. See auth_exposure().
 */
const char *web_exposure(const struct web *w);

/* The flags with the addresses. */
#define WEB_FLAG      "--web.listen-address"
#define WEB_GRPC_FLAG "--otlp.grpc.listen-address"

/*
 * Check that everprof could listen on the addresses now; `grpc_address` may be NULL.
 * Returns ERR_INVALID when one is malformed, and an error of err_sys(), mostly ERR_IO,
 * when listening fails.
 */
NODISCARD int web_check_addresses(const char *address, const char *grpc_address,
				  struct err *err);

/* Whether the address (host:port) is a loopback address. */
bool web_is_local(const char *address);

/* "https" if the web configuration enables TLS, else "http". */
const char *web_scheme(const struct web *w);

/* Stop serving; see server_stop(). NULL is a no-op. */
void web_stop(struct web *w);

/* Free the web side. If it still runs, it is stopped first. NULL is a no-op. */
void web_free(struct web *w);

#endif
