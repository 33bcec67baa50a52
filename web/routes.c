/* SPDX-License-Identifier: Apache-2.0 */
#include "web/routes.h"

#include "scrape/run/scrape.h"
#include "web/api/api.h"
#include "web/api/context.h"
#include "web/api/envelope.h"
#include "web/pages/assets.h"
#include "web/pages/page.h"

/*
 * GET /-/healthy: shows that the process answers requests. Strangers may ask
 * this and the next one, so neither answer says more than its status
 * (docs/decisions.md, 175).
 */
static void web_answer_health(void *ctx UNUSED, struct request *r UNUSED,
			      struct answer *a)
{
	answer_text(a, 200, "text/plain; charset=utf-8",
		    str_of("everprof is healthy.\n"));
}

/* GET /-/ready: status 200 if the storage is open, else 503. */
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

/*
 * POST /-/reload: load the configuration again. If that fails, the answer is
 * the error.
 */
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

/* GET /: the list of profiles; for an agent, its targets. */
static void web_page_start(void *ctx, struct request *r, struct answer *a)
{
	const struct web *w = ctx;

	if (w->o.db)
		page_index(ctx, r, a);
	else
		page_targets(ctx, r, a);
}

static void api_status_routes(void *ctx, struct request *r, struct answer *a);

/*
 * The table of all paths. The first route that matches is used. The rows from
 * "/" on need no database; `everprof agent` serves only these, see
 * web_routes_of().
 */
const struct route web_routes[] = {
	{ "/profiles", page_index, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/query_range", api_query_range, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/query", api_query, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/changes", api_changes, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/history", api_history, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/export", api_export, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/series", api_series, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/labels", api_labels, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/label/*/values", api_label_values, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/profile_types", api_profile_types, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/targets/profile", api_targets_profile, ROUTE_WRITE,
	  SCOPE_READ | SCOPE_WRITE },
	{ "/api/v1/adhoc", api_adhoc_upload, ROUTE_BODY, SCOPE_READ },
	{ "/api/v1/adhoc", api_adhoc_list, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/adhoc/*", api_adhoc_keep, ROUTE_WRITE, SCOPE_READ },
	{ "/api/v1/adhoc/*", api_adhoc_remove, ROUTE_REMOVE, SCOPE_READ },
	{ "/api/v1/adhoc/*", api_adhoc_show, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/status/runtimeinfo", api_status_runtimeinfo, ROUTE_READ,
	  SCOPE_READ },
	{ "/api/v1/status/queries", api_status_queries, ROUTE_QUICK,
	  SCOPE_READ },
	{ "/api/v1/status/tsdb", api_status_tsdb, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/admin/tsdb/delete_series", api_admin_delete, ROUTE_WRITE,
	  SCOPE_ADMIN },
	{ "/api/v1/admin/tsdb/clean_tombstones", api_admin_clean, ROUTE_WRITE,
	  SCOPE_ADMIN },
	{ "/api/v1/admin/tsdb/confirm_clock", api_admin_confirm_clock,
	  ROUTE_WRITE, SCOPE_ADMIN },
	{ "/api/v1/admin/tsdb/snapshot", api_admin_snapshot, ROUTE_WRITE,
	  SCOPE_ADMIN },
	{ "/querier.v1.QuerierService/*", api_connect, ROUTE_MESSAGE,
	  SCOPE_READ },
	{ "/adhocprofiles.v1.AdHocProfileService/Upload", api_connect,
	  ROUTE_BODY, SCOPE_READ },
	{ "/settings.v1.SettingsService/*", api_connect, ROUTE_MESSAGE,
	  SCOPE_READ },
	{ "/settings.v1.RecordingRulesService/*", api_connect, ROUTE_MESSAGE,
	  SCOPE_READ },
	{ "/capabilities.v1.FeatureFlagsService/*", api_connect, ROUTE_MESSAGE,
	  SCOPE_READ },
	{ "/adhocprofiles.v1.AdHocProfileService/*", api_connect, ROUTE_MESSAGE,
	  SCOPE_READ },
	{ "/vcs.v1.VCSService/*", api_connect, ROUTE_MESSAGE, SCOPE_READ },
	{ "/mcp", api_mcp, ROUTE_MESSAGE, SCOPE_READ },
	{ "/pyroscope/render", api_render, ROUTE_READ, SCOPE_READ },
	{ "/pyroscope/render-diff", api_render_diff, ROUTE_READ, SCOPE_READ },
	{ "/", web_page_start, ROUTE_READ, SCOPE_READ },
	{ "/targets", page_targets, ROUTE_READ, SCOPE_READ },
	{ "/remote_write", page_remote_write, ROUTE_READ, SCOPE_READ },
	{ "/senders", page_senders, ROUTE_READ, SCOPE_READ },
	{ "/-/healthy", web_answer_health, ROUTE_OPEN, 0 },
	{ "/-/ready", web_answer_ready, ROUTE_OPEN, 0 },
	{ "/ready", web_answer_ready, ROUTE_OPEN, 0 },
	{ "/-/reload", web_reload, ROUTE_WRITE, SCOPE_ADMIN },
	{ "/-/quit", web_answer_quit, ROUTE_WRITE, SCOPE_ADMIN },
	{ "/debug/pprof/", api_self_list, ROUTE_READ, SCOPE_READ },
	{ "/debug/pprof/heap", api_self_heap, ROUTE_READ, SCOPE_READ },
	{ "/debug/pprof/profile", api_self_profile, ROUTE_READ, SCOPE_READ },
	{ "/metrics", web_answer_metrics, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/session", api_session, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/session/begin", api_session_begin, ROUTE_WRITE, SCOPE_READ },
	{ "/api/v1/session/end", api_session_end, ROUTE_WRITE, SCOPE_READ },
	{ "/api/v1/write", api_write, ROUTE_BODY, SCOPE_WRITE },
	{ "/ingest", api_ingest, ROUTE_BODY, SCOPE_WRITE },
	{ "/pyroscope/ingest", api_ingest, ROUTE_BODY, SCOPE_WRITE },
	{ "/profiling/v1/input", api_datadog, ROUTE_BODY, SCOPE_WRITE },
	{ "/push.v1.PusherService/Push", api_push, ROUTE_BODY, SCOPE_WRITE },
	{ "/v1development/profiles", api_otlp, ROUTE_BODY, SCOPE_WRITE },
	{ "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
	  api_otlp, ROUTE_BODY, SCOPE_WRITE },
	{ "/api/v1/targets", api_targets, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/senders", api_senders, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/status/config", api_status_config, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/status/flags", api_status_flags, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/status/buildinfo", api_status_buildinfo, ROUTE_READ,
	  SCOPE_READ },
	{ "/api/v1/status/routes", api_status_routes, ROUTE_READ, SCOPE_READ },
	{ "/api/v1/status/remote_write", api_status_remote_write, ROUTE_READ,
	  SCOPE_READ },
	{ 0 },
};

void web_answer_failure(void *ctx, const struct request *r,
			const struct route *route, struct answer *a,
			const struct err *err)
{
	if (route && route->handle == api_ingest) {
		api_push_note_refused(ctx, r, WEB_PUSH_INGEST, err);
		answer_plain_error(a, err);
	} else if (route && route->handle == api_datadog) {
		api_push_note_refused(ctx, r, WEB_PUSH_DATADOG, err);
		answer_plain_error(a, err);
	} else if (route && route->handle == api_push) {
		api_push_note_refused(ctx, r, WEB_PUSH_V1, err);
		answer_connect_error(a, err);
	} else if (route && route->handle == api_otlp) {
		api_push_note_refused(ctx, r, WEB_PUSH_OTLP, err);
		api_otlp_fail(r, a, err);
	} else if (route && (route->handle == api_connect ||
			     route->handle == api_render ||
			     route->handle == api_render_diff)) {
		answer_connect_error(a, err);
	} else if (route && route->handle == api_mcp) {
		answer_rpc_error(a, err);
	} else {
		answer_error(a, err);
	}
}

const struct route *web_routes_of(bool database)
{
	const struct route *r = web_routes;

	while (!database && strcmp(r->path, "/") != 0)
		r++;
	return r;
}

/*
 * The pages and files of the web UI. They take the place of the plain pages of
 * the same paths.
 */
static const struct route ui_pages[] = {
	{ "/", assets_page, ROUTE_OPEN, 0 },
	{ "/compare", assets_page, ROUTE_OPEN, 0 },
	{ "/adhoc", assets_page, ROUTE_OPEN, 0 },
	{ "/targets", assets_page, ROUTE_OPEN, 0 },
	{ "/status", assets_page, ROUTE_OPEN, 0 },
	{ "/assets/*", assets_file, ROUTE_OPEN, 0 },
	{ 0 },
};

const struct route *web_pages_of(bool database)
{
	return database && assets_exist() ? ui_pages : NULL;
}

/* Write one route as an object. */
static void write_route(struct json *j, const struct route *t)
{
	json_begin(j, '{');
	json_key(j, "path");
	json_text(j, t->path);
	json_key(j, "method");
	json_text(j, t->kind == ROUTE_REMOVE                      ? "DELETE" :
		     route_changes(t) || t->kind == ROUTE_MESSAGE ? "POST" :
								    "GET");
	json_key(j, "scope");
	json_text(j, web_config_scope_text(t->scope));
	json_end(j, '}');
}

/* GET /api/v1/status/routes: all paths, with the scopes that they need. */
static void api_status_routes(void *ctx, struct request *r UNUSED,
			      struct answer *a)
{
	const struct web *w = ctx;
	const struct route *pages = web_pages_of(w->o.db);
	struct json j = envelope_begin(a);
	struct str segment;

	json_begin(&j, '[');
	for (const struct route *t = pages; t && t->path; t++)
		write_route(&j, t);
	for (const struct route *t = web_routes_of(w->o.db); t->path; t++) {
		if (!pages || !route_find(pages, str_of("GET"), str_of(t->path),
					  &segment))
			write_route(&j, t);
	}
	json_end(&j, ']');
	envelope_end(&j, a, NULL);
}
