/* SPDX-License-Identifier: Apache-2.0 */
#include "web/web.h"

#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "web/api/api_admin.h"
#include "web/api/api_export.h"
#include "web/api/api_labels.h"
#include "web/api/api_profile.h"
#include "web/api/api_query.h"
#include "web/api/api_range.h"
#include "web/api/api_status.h"
#include "web/handler/context.h"
#include "web/handler/envelope.h"
#include "web/http/listen.h"
#include "web/ui/page.h"
#include "web/ui/page_report.h"

/*
 * GET /-/healthy: the process answers. Like all paths it needs authentication
 * (docs/decisions.md, 67).
 */
static void web_answer_health(void *ctx UNUSED, struct request *r UNUSED,
			      struct answer *a)
{
	answer_text(a, 200, "text/plain; charset=utf-8",
		    str_of("everprof is healthy.\n"));
}

/* GET /-/ready: whether the storage is open. */
static void web_answer_ready(void *ctx, struct request *r UNUSED,
			     struct answer *a)
{
	struct web *w = ctx;

	if (atomic_load(&w->ready))
		answer_text(a, 200, "text/plain; charset=utf-8",
			    str_of("everprof is ready.\n"));
	else
		answer_text(a, 503, "text/plain; charset=utf-8",
			    str_of("everprof is starting.\n"));
}

/* GET /metrics: the server's own metrics, as Prometheus text. */
static void web_answer_metrics(void *ctx, struct request *r UNUSED,
			       struct answer *a)
{
	struct web *w = ctx;

	a->status = 200;
	a->content_type = "text/plain; version=0.0.4; charset=utf-8";
	scrape_update_metrics(w->o.scraper);
	metrics_write(w->o.metrics, &a->body);
}

/* Answer 403 and return true unless reload and quit are enabled. */
static bool refuse_lifecycle(const struct web *w, struct answer *a)
{
	if (!w->o.lifecycle.enabled)
		answer_text(a, 403, "text/plain; charset=utf-8",
			    str_of("Lifecycle API is not enabled: start "
				   "everprof with --web.enable-lifecycle.\n"));
	return !w->o.lifecycle.enabled;
}

/* POST /-/reload: load the configuration again; answer its errors. */
static void web_reload(void *ctx, struct request *r, struct answer *a)
{
	struct web *w = ctx;
	struct err err;
	char *text;

	if (refuse_lifecycle(w, a))
		return;
	if (!w->o.lifecycle.reload(w->o.lifecycle.ctx, &err)) {
		a->status = 200;
		a->content_type = "text/plain; charset=utf-8";
		return;
	}
	text = arena_printf(&r->arena, "%s\n", err.msg);
	answer_text(a, 500, "text/plain; charset=utf-8", str_of(text));
}

/* POST /-/quit: begin the shutdown. */
static void web_answer_quit(void *ctx, struct request *r UNUSED,
			    struct answer *a)
{
	struct web *w = ctx;

	if (refuse_lifecycle(w, a))
		return;
	answer_text(a, 200, "text/plain; charset=utf-8",
		    str_of("Requesting termination... Goodbye!\n"));
	w->o.lifecycle.quit(w->o.lifecycle.ctx);
}

static void api_status_routes(void *ctx, struct request *r, struct answer *a);

/* All paths with the scopes that they need. The first match counts. */
static const struct route routes[] = {
	{ "/", page_index, ROUTE_READ, SCOPE_READ },
	{ "/report", page_report, ROUTE_READ, SCOPE_READ },
	{ "/targets", page_targets, ROUTE_READ, SCOPE_READ },
	{ "/-/healthy", web_answer_health, ROUTE_QUICK, SCOPE_READ },
	{ "/-/ready", web_answer_ready, ROUTE_QUICK, SCOPE_READ },
	{ "/-/reload", web_reload, ROUTE_WRITE, SCOPE_ADMIN },
	{ "/-/quit", web_answer_quit, ROUTE_WRITE, SCOPE_ADMIN },
	{ "/metrics", web_answer_metrics, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/query_range", api_query_range, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/query", api_query, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/export", api_export, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/series", api_series, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/labels", api_labels, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/label/*/values", api_label_values, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/profile_types", api_profile_types, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/targets", api_targets, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/targets/profile", api_targets_profile, ROUTE_WRITE,
	  SCOPE_READ | SCOPE_WRITE },
	{ "/api/v1/status/config", api_status_config, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/status/flags", api_status_flags, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/status/buildinfo", api_status_buildinfo, ROUTE_READ,
	  SCOPE_READ },
	{ "/api/v1/status/runtimeinfo", api_status_runtimeinfo, ROUTE_READ,
	  SCOPE_READ },
	{ "/api/v1/status/routes", api_status_routes, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/status/tsdb", api_status_tsdb, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/admin/tsdb/delete_series", api_admin_delete, ROUTE_WRITE,
	  SCOPE_ADMIN },
	{ "/api/v1/admin/tsdb/clean_tombstones", api_admin_clean, ROUTE_WRITE,
	  SCOPE_ADMIN },
	{ "/api/v1/admin/tsdb/confirm_clock", api_admin_confirm_clock,
	  ROUTE_WRITE, SCOPE_ADMIN },
	{ "/api/v1/admin/tsdb/snapshot", api_admin_snapshot, ROUTE_WRITE,
	  SCOPE_ADMIN },
	{ 0 },
};

/* The name of a route's scopes, for /api/v1/status/routes. */
static const char *scope_name(unsigned scope)
{
	return scope == SCOPE_ADMIN                ? "admin" :
	       scope == (SCOPE_READ | SCOPE_WRITE) ? "read+write" :
						     "read";
}

/* GET /api/v1/status/routes: the paths served, and the scopes they need. */
static void api_status_routes(void *ctx UNUSED, struct request *r UNUSED,
			      struct answer *a)
{
	struct json j = envelope_begin(a);

	json_begin(&j, '[');
	for (const struct route *t = routes; t->path; t++) {
		json_begin(&j, '{');
		json_key(&j, "path");
		json_text(&j, t->path);
		json_key(&j, "method");
		json_text(&j, t->kind == ROUTE_WRITE ? "POST" : "GET");
		json_key(&j, "scope");
		json_text(&j, scope_name(t->scope));
		json_end(&j, '}');
	}
	json_end(&j, ']');
	envelope_end(&j, a, NULL);
}

/* The state of the web configuration, for its gauge. */
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
		"Whether the last attempt to load --web.config.file succeeded."),
};

/*
 * The host names to accept. A server without authentication on a loopback
 * address accepts only local ones, for a page in a browser on the same machine
 * could reach it (docs/decisions.md, 93).
 */
static const char *allowed_hosts(const struct web_options *o, struct auth *a)
{
	if (o->allowed_hosts)
		return o->allowed_hosts;
	return web_is_local(o->address) && auth_is_open(a) ? "" : NULL;
}

int web_start(const struct web_options *o, struct web **out, struct err *err)
{
	struct web *w = mem_new(struct web);
	struct server_options so = { .address = o->address,
				     .routes = routes,
				     .ctx = w,
				     .max_connections = o->max_connections,
				     .cors_origin = o->cors_origin,
				     .rate_limit = o->rate_limit,
				     .slow_client_rate = o->slow_client_rate,
				     .threads = o->max_concurrency,
				     .read_timeout_ms = o->read_timeout_ms,
				     .query_timeout_ms = o->query_timeout_ms,
				     .slow_ms = o->slow_ms,
				     .access_log = o->access_log,
				     .memory = &w->memory,
				     .version = o->version,
				     .log = o->log,
				     .metrics = o->metrics,
				     .fail = answer_error,
				     .missing = page_missing };
	int rc;

	rc = auth_new(o->config_file, o->log, &w->auth, err);
	if (rc) {
		mem_free(w);
		return rc;
	}
	so.auth = w->auth;
	so.allowed_hosts = allowed_hosts(o, w->auth);
	w->o = *o;
	w->started_ms = clock_ms(NULL);
	w->memory.name = "query.memory";
	w->memory.max = o->query_memory;
	rc = server_start(&so, &w->server, err);
	if (rc) {
		auth_free(w->auth);
		mem_free(w);
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

/* Listens for a moment, because no other test is certain. */
int web_check_address(const char *address, struct err *err)
{
	int fd = -1;
	int rc = listen_on(address, &fd, err);

	if (fd >= 0)
		close(fd);
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
	if (w)
		server_stop(w->server);
}

void web_free(struct web *w)
{
	if (!w)
		return;
	server_free(w->server);
	auth_free(w->auth);
	mem_free(w);
}
