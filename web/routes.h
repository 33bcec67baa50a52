/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all paths that everprof answers, with the scopes that they need,
 * and the handlers of health, readiness and metrics.
 *
 * Threads: any.
 */
#ifndef WEB_ROUTES_H
#define WEB_ROUTES_H

#include "web/http/route.h"

/*
 * All routes; the first route that matches is used. The `ctx` of their handlers
 * is a struct web.
 */
extern const struct route web_routes[];

/*
 * Refuse a request: turn its answer into an error, in the form that the clients
 * of the route expect, and note it if somebody wanted to push profiles. The
 * route may be NULL. See server_options.fail.
 */
void web_answer_failure(void *ctx, const struct request *r,
			const struct route *route, struct answer *a,
			const struct err *err);

/*
 * Return the routes of a server with a database or, if `database` is false,
 * only the routes that need no database. The result is an array like
 * web_routes.
 */
const struct route *web_routes_of(bool database);

/*
 * Return the pages and files of the web UI, which need no credentials, because
 * they have no data; NULL if the program or this server has no web UI.
 */
const struct route *web_pages_of(bool database);

#endif
