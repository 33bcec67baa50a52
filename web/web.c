/* SPDX-License-Identifier: Apache-2.0 */
#include "web/web.h"

#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "web/api/api.h"
#include "web/api/context.h"
#include "web/api/envelope.h"
#include "web/grpc/grpc_server.h"
#include "web/grpc/grpc_session.h"
#include "web/http/listen.h"
#include "web/pages/page.h"
#include "web/routes.h"

/*
 * Number of threads that store the profiles of remote write. More threads would
 * not store faster: appends run one after the other, and each thread that
 * decodes needs a core of its own.
 */
#define BODY_THREADS 4

/*
 * The value of the metric below, which shows whether the web configuration is
 * current.
 */
struct config_state {
	int64_t is_current;
};

static void web_take_config_state(void *auth, void *snapshot)
{
	((struct config_state *)snapshot)->is_current = auth_is_current(auth);
}

static const struct metric_row config_rows[] = {
	METRIC_ROW(
		GAUGE, struct config_state, is_current,
		"everprof_web_config_last_reload_successful",
		"Whether the last attempt to load --web.config.file succeeded (1) or failed (0)."),
};

/*
 * The host names that a request may use, for server_options. A server without
 * authentication on a loopback address accepts only local names; otherwise a
 * web page in a browser on the same machine could read from the server by DNS
 * rebinding (docs/decisions.md, 93).
 */
static const char *allowed_hosts(const struct web_options *o,
				 const char *address, struct auth *a)
{
	if (o->allowed_hosts)
		return o->allowed_hosts;
	return web_is_local(address) && auth_is_open(a) ? "" : NULL;
}

/* Start the listener for gRPC, if there is one. */
static int web_start_grpc(struct web *w, struct err *err)
{
	const struct web_options *o = &w->o;
	const struct grpc_server_options go = {
		.flag = WEB_GRPC_FLAG,
		.address = o->grpc_address,
		.methods = api_grpc_methods,
		.ctx = w,
		.guards = server_guards(w->server),
		.auth = w->auth,
		.limiter = o->writer.limiter,
		.max_body = o->writer.max_body,
		.allowed_hosts =
			allowed_hosts(o, o->grpc_address ?: "", w->auth),
		.read_timeout_ms = o->read_timeout_ms,
		.call_timeout_ms = o->query_timeout_ms,
		.slow_ms = o->slow_ms,
		.access_log = o->access_log,
		.log = o->log,
		.metrics = o->metrics,
	};

	return o->grpc_address ? grpc_server_start(&go, &w->grpc, err) : 0;
}

int web_start(const struct web_options *o, struct web **out, struct err *err)
{
	struct web *w = mem_new(struct web);
	struct server_options so = { .flag = WEB_FLAG,
				     .address = o->address,
				     .routes = web_routes_of(o->db),
				     .pages = web_pages_of(o->db),
				     .ctx = w,
				     .max_connections = o->max_connections,
				     .cors_origin = o->cors_origin,
				     .rate_limit = o->rate_limit,
				     .slow_client_rate = o->slow_client_rate,
				     .threads = o->max_concurrency,
				     .tasks_per_connection =
					     o->grpc_address ?
						     GRPC_SESSION_STREAMS :
						     1,
				     .body_threads = BODY_THREADS,
				     .limiter = o->writer.limiter,
				     .max_body = o->writer.max_body,
				     .read_timeout_ms = o->read_timeout_ms,
				     .query_timeout_ms = o->query_timeout_ms,
				     .slow_ms = o->slow_ms,
				     .access_log = o->access_log,
				     .memory = &w->memory,
				     .version = o->version,
				     .log = o->log,
				     .metrics = o->metrics,
				     .fail = web_answer_failure,
				     .missing = page_missing };
	int rc;

	rc = auth_new(o->config_file, o->log, &w->auth, err);
	if (rc) {
		mem_free(w);
		return rc;
	}
	so.auth = w->auth;
	so.allowed_hosts = allowed_hosts(o, o->address, w->auth);
	w->o = *o;
	w->started_ms = clock_ms(NULL);
	w->memory.name = "query.memory";
	w->memory.max = o->query_memory;
	rc = server_start(&so, &w->server, err);
	if (!rc)
		rc = web_start_grpc(w, err);
	if (rc) {
		web_free(w);
		return rc;
	}
	metrics_register_snapshot(o->metrics,
				  &(struct metric_snapshot){
					  .rows = config_rows,
					  .count = ARRAY_SIZE(config_rows),
					  .size = sizeof(struct config_state),
					  .take = web_take_config_state,
					  .ctx = w->auth,
				  });
	*out = w;
	return 0;
}

/*
 * Listen for a moment, on both addresses at once, because nothing else shows
 * reliably that they are free.
 */
int web_check_addresses(const char *address, const char *grpc_address,
			struct err *err)
{
	int fds[2] = { -1, -1 };
	int rc = listen_on(WEB_FLAG, address, &fds[0], err);

	if (!rc && grpc_address)
		rc = listen_on(WEB_GRPC_FLAG, grpc_address, &fds[1], err);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	return rc;
}

bool web_is_local(const char *address)
{
	return !strncmp(address, "127.", 4) || !strncmp(address, "[::1]", 5) ||
	       !strncmp(address, "localhost:", 10);
}

void web_set_ready(struct web *w, bool is_ready)
{
	atomic_store(&w->ready, is_ready);
}

unsigned web_port(const struct web *w)
{
	return server_port(w->server);
}

unsigned web_grpc_port(const struct web *w)
{
	return w->grpc ? grpc_server_port(w->grpc) : 0;
}

const char *web_exposure(const struct web *w)
{
	return auth_exposure(w->auth);
}

const char *web_scheme(const struct web *w)
{
	return auth_has_tls(w->auth) ? "https" : "http";
}

void web_stop(struct web *w)
{
	if (!w)
		return;
	grpc_server_retire(w->grpc);
	server_stop(w->server);
}

void web_free(struct web *w)
{
	if (!w)
		return;
	web_stop(w);
	grpc_server_free(w->grpc);
	server_free(w->server);
	auth_free(w->auth);
	mem_free(w);
}
