/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that all handlers share.
 *
 * Ownership: web_start() makes it, web_free() frees it.
 * Threads: any; what changes is atomic or has its own lock.
 */
#ifndef WEB_HANDLER_CONTEXT_H
#define WEB_HANDLER_CONTEXT_H

#include <stdatomic.h>

#include "base/json.h"
#include "tsdb/querier.h"
#include "web/handler/web_options.h"
#include "web/http/server.h"

struct web {
	struct web_options o;
	struct server *server;
	struct auth *auth;
	struct budget memory;
	int64_t started_ms;
	_Atomic bool ready;
};

#endif
