/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of /api/v1/targets and /api/v1/status: the state of scraping and of
 * the server itself.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_API_STATUS_H
#define WEB_API_API_STATUS_H

#include "web/api/context.h"

/*
 * GET /api/v1/targets: all targets, with their health. The parameter `state`
 * restricts the list to "active" or "dropped" targets.
 */
void api_targets(void *ctx, struct request *r, struct answer *a);

/* GET …/config: the configuration in use, without secrets. */
void api_status_config(void *ctx, struct request *r, struct answer *a);

/* GET …/flags: the command-line flags. */
void api_status_flags(void *ctx, struct request *r, struct answer *a);

/* GET …/buildinfo: version, revision and compiler. */
void api_status_buildinfo(void *ctx, struct request *r, struct answer *a);

/* GET …/runtimeinfo: start time, working directory, retention. */
void api_status_runtimeinfo(void *ctx, struct request *r, struct answer *a);

/* GET …/queries: the queries that are running (running_json()). */
void api_status_queries(void *ctx, struct request *r, struct answer *a);

/*
 * GET …/tsdb: counts and sizes of heads, blocks and the WAL, and which types,
 * labels and values have the most series.
 */
void api_status_tsdb(void *ctx, struct request *r, struct answer *a);

#endif
