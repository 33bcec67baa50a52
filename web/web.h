/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Web: the HTTP side of everprof, with API, pages, health and metrics.
 * docs/api.md describes what it answers.
 *
 * Ownership: everything in the options is borrowed and must outlive the web
 * side.
 * Threads: one thread starts and stops it; the other functions may be called
 * from any thread.
 */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "web/handler/web_options.h"

/* The web side; handlers see its members (web/handler/context.h). */
struct web;

/*
 * Start to serve. Returns the errors of loading the web configuration, and
 * those of server_start(): ERR_INVALID for a malformed address, an error of
 * err_sys(), mostly ERR_IO, when it cannot be listened on. The caller owns the
 * result.
 */
NODISCARD int web_start(const struct web_options *o, struct web **out,
			struct err *err);

/* Say whether the storage is open. Until then /-/ready answers 503. */
void web_set_ready(struct web *w, bool is_ready);

/* The port that is listened on. */
unsigned web_port(const struct web *w);

/*
 * What strangers on the network could do, as a sentence for a warning, or NULL;
 * see auth_exposure().
 */
const char *web_exposure(const struct web *w);

/*
 * Check that the address can be listened on now. Returns ERR_INVALID when it is
 * malformed, and an error of err_sys(), mostly ERR_IO, otherwise.
 */
NODISCARD int web_check_address(const char *address, struct err *err);

/* Whether host:port is a loopback address. */
bool web_is_local(const char *address);

/* "http" or "https", by the web configuration. */
const char *web_scheme(const struct web *w);

/* Stop serving: see server_stop(). NULL is a no-op. */
void web_stop(struct web *w);

/* Free the web side; stops it first if need be. NULL is a no-op. */
void web_free(struct web *w);

#endif
