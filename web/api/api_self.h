/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles of everprof itself, under the paths of Go programs, so that everprof
 * can scrape itself like any other target.
 *
 * Ownership: see web/api/context.h.
 * Threads: called by the query threads, several at a time.
 */
#ifndef WEB_API_API_SELF_H
#define WEB_API_API_SELF_H

#include "web/http/route.h"

/* GET /debug/pprof/: a page that lists the profiles. */
void api_self_list(void *ctx, struct request *r, struct answer *a);

/* GET /debug/pprof/heap: which functions hold memory. */
void api_self_heap(void *ctx, struct request *r, struct answer *a);

/* GET /debug/pprof/profile: a CPU profile of the next seconds. */
void api_self_profile(void *ctx, struct request *r, struct answer *a);

#endif
