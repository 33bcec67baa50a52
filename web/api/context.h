/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Context: the state that all handlers share.
 *
 * Ownership: web_start() creates the context, web_free() frees it.
 * Threads: any; members that change are atomic or have their own lock.
 */
#ifndef WEB_API_CONTEXT_H
#define WEB_API_CONTEXT_H

#include <stdatomic.h>

#include "base/json.h"
#include "tsdb/query/querier.h"
#include "web/api/web_options.h"
#include "web/http/server.h"

/* The state of the web server, which every handler receives as its `ctx`. */
struct web {
	struct web_options o;
	struct server *server;
	struct grpc_server *grpc; /* NULL: there is no listener for gRPC */
	struct auth *auth;
	struct budget memory; /* memory that all queries share */
	int64_t started_ms;   /* when the server started, ms since the epoch */
	_Atomic bool ready;   /* whether the storage is open */
};

#endif
