/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web side of everprof: API, page, health and metrics. What it answers is
 * described in docs/api.md.
 *
 * Ownership: everything in the options is borrowed and must outlive it.
 * Threads: one thread starts and stops it.
 */
#ifndef WEB_WEB_H
#define WEB_WEB_H

#include "web/handler/web_options.h"

struct web;

/* ERR_INVALID, ERR_IO: the address cannot be listened on. */
NODISCARD int web_start(const struct web_options *o, struct web **out,
			struct err *err);

/* Until then /-/ready answers 503. */
void web_set_ready(struct web *w, bool is_ready);

unsigned web_port(const struct web *w);

/* What strangers on the network could do, or NULL: auth_exposure(). */
const char *web_exposure(const struct web *w);

/* Whether the address can be listened on now. ERR_INVALID, ERR_IO. */
NODISCARD int web_check_address(const char *address, struct err *err);

/* Whether host:port is of a loopback address. */
bool web_is_local(const char *address);

/* "http" or "https". */
const char *web_scheme(const struct web *w);

/* NULL is a no-op. */
void web_stop(struct web *w);
void web_free(struct web *w);

#endif
