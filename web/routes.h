/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all paths that everprof answers, with the scopes that they need.
 *
 * Ownership: constant.
 * Threads: any.
 */
#ifndef WEB_ROUTES_H
#define WEB_ROUTES_H

#include "web/route/route.h"

/*
 * All routes; the first route that matches is used. The `ctx` of their handlers
 * is a struct web.
 */
extern const struct route web_routes[];

/* The routes of everprof agent: those that need no database. */
extern const struct route web_agent_routes[];

struct web;

/* Return the routes of a server: those of an agent if it has no database. */
const struct route *web_routes_of(const struct web *w);

#endif
