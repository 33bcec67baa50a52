/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routes with the scopes that they need, and what the server is started
 * with. The server itself is a stand-in.
 */
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "web/http/server.h"
#include "web/pages/assets.h"
#include "web/web.h"

TestSuite(routes, .timeout = 20);

/* The arguments that the stand-in was started with last. */
static struct server_options started;
static int start_result;
static int stops;
static int frees;

int server_start(const struct server_options *o, struct server **out,
		 struct err *err)
{
	started = *o;
	*out = NULL;
	return start_result ? err_set(err, start_result, "as the test says") :
			      0;
}

unsigned server_port(const struct server *s)
{
	(void)s;
	return 4711;
}

struct server_guards server_guards(const struct server *s)
{
	(void)s;
	return (struct server_guards){ .pool = NULL };
}

struct running *server_running(const struct server *s)
{
	(void)s;
	return NULL;
}

void server_stop(struct server *s)
{
	(void)s;
	stops++;
}

void server_free(struct server *s)
{
	(void)s;
	frees++;
}

/* Stands for a database, which no test here uses. */
static char database;

/* Starts the web part without a database. */
static struct web *start_agent_web(const struct web_options *from)
{
	struct web_options o = *from;
	struct web *w = NULL;
	struct err err = { 0 };

	if (!o.metrics)
		o.metrics = metrics_new();
	if (!o.address)
		o.address = "127.0.0.1:0";
	start_result = 0;
	cr_assert(!web_start(&o, &w, &err), "%s", err.msg);
	return w;
}

static struct web *start_web(const struct web_options *from)
{
	struct web_options o = *from;

	o.db = (struct tsdb *)(void *)&database;
	return start_agent_web(&o);
}

/* Ends the web part, and frees the metrics that start_web() made. */
static void end_web(struct web *w)
{
	struct metrics *m = started.metrics;

	web_free(w);
	metrics_free(m);
}

#define READ  SCOPE_READ
#define ADMIN SCOPE_ADMIN

/*
 * All routes, with their kinds and scopes. Whoever adds a route must add it
 * here, too.
 */
static const struct route expected[] = {
	{ "/", NULL, ROUTE_READ, READ },
	{ "/profiles", NULL, ROUTE_READ, READ },
	{ "/targets", NULL, ROUTE_READ, READ },
	{ "/remote_write", NULL, ROUTE_READ, READ },
	{ "/senders", NULL, ROUTE_READ, READ },
	/* Probes of orchestrators have no credentials. */
	{ "/-/healthy", NULL, ROUTE_OPEN, 0 },
	{ "/-/ready", NULL, ROUTE_OPEN, 0 },
	{ "/ready", NULL, ROUTE_OPEN, 0 },
	{ "/-/reload", NULL, ROUTE_WRITE, ADMIN },
	{ "/-/quit", NULL, ROUTE_WRITE, ADMIN },
	{ "/debug/pprof/", NULL, ROUTE_READ, READ },
	{ "/debug/pprof/heap", NULL, ROUTE_READ, READ },
	{ "/debug/pprof/profile", NULL, ROUTE_READ, READ },
	{ "/metrics", NULL, ROUTE_READ, READ },
	{ "/api/v1/query_range", NULL, ROUTE_READ, READ },
	{ "/api/v1/query", NULL, ROUTE_READ, READ },
	{ "/api/v1/changes", NULL, ROUTE_READ, READ },
	{ "/api/v1/history", NULL, ROUTE_READ, READ },
	{ "/api/v1/export", NULL, ROUTE_READ, READ },
	{ "/api/v1/series", NULL, ROUTE_READ, READ },
	{ "/api/v1/labels", NULL, ROUTE_READ, READ },
	{ "/api/v1/label/*/values", NULL, ROUTE_READ, READ },
	{ "/api/v1/profile_types", NULL, ROUTE_READ, READ },
	{ "/api/v1/adhoc", NULL, ROUTE_BODY, READ },
	{ "/api/v1/adhoc", NULL, ROUTE_READ, READ },
	{ "/api/v1/adhoc/*", NULL, ROUTE_WRITE, READ },
	{ "/api/v1/adhoc/*", NULL, ROUTE_REMOVE, READ },
	{ "/api/v1/adhoc/*", NULL, ROUTE_READ, READ },
	{ "/adhocprofiles.v1.AdHocProfileService/Upload", NULL, ROUTE_BODY,
	  READ },
	{ "/api/v1/session", NULL, ROUTE_READ, READ },
	/* These two change only what the sender's own browser may do. */
	{ "/api/v1/session/begin", NULL, ROUTE_WRITE, READ },
	{ "/api/v1/session/end", NULL, ROUTE_WRITE, READ },
	{ "/api/v1/write", NULL, ROUTE_BODY, SCOPE_WRITE },
	{ "/ingest", NULL, ROUTE_BODY, SCOPE_WRITE },
	{ "/pyroscope/ingest", NULL, ROUTE_BODY, SCOPE_WRITE },
	{ "/profiling/v1/input", NULL, ROUTE_BODY, SCOPE_WRITE },
	{ "/push.v1.PusherService/Push", NULL, ROUTE_BODY, SCOPE_WRITE },
	{ "/v1development/profiles", NULL, ROUTE_BODY, SCOPE_WRITE },
	{ "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
	  NULL, ROUTE_BODY, SCOPE_WRITE },
	{ "/querier.v1.QuerierService/*", NULL, ROUTE_MESSAGE, READ },
	{ "/settings.v1.SettingsService/*", NULL, ROUTE_MESSAGE, READ },
	{ "/settings.v1.RecordingRulesService/*", NULL, ROUTE_MESSAGE, READ },
	{ "/capabilities.v1.FeatureFlagsService/*", NULL, ROUTE_MESSAGE, READ },
	{ "/adhocprofiles.v1.AdHocProfileService/*", NULL, ROUTE_MESSAGE,
	  READ },
	{ "/vcs.v1.VCSService/*", NULL, ROUTE_MESSAGE, READ },
	{ "/pyroscope/render", NULL, ROUTE_READ, READ },
	{ "/pyroscope/render-diff", NULL, ROUTE_READ, READ },
	{ "/api/v1/targets", NULL, ROUTE_READ, READ },
	/* This route takes a profile of a target and shows it. */
	{ "/api/v1/targets/profile", NULL, ROUTE_WRITE, READ | SCOPE_WRITE },
	{ "/api/v1/senders", NULL, ROUTE_READ, READ },
	{ "/api/v1/status/config", NULL, ROUTE_READ, READ },
	{ "/api/v1/status/flags", NULL, ROUTE_READ, READ },
	{ "/api/v1/status/buildinfo", NULL, ROUTE_READ, READ },
	{ "/api/v1/status/runtimeinfo", NULL, ROUTE_READ, READ },
	{ "/api/v1/status/routes", NULL, ROUTE_READ, READ },
	{ "/api/v1/status/tsdb", NULL, ROUTE_READ, READ },
	{ "/api/v1/status/queries", NULL, ROUTE_QUICK, READ },
	{ "/api/v1/status/remote_write", NULL, ROUTE_READ, READ },
	{ "/mcp", NULL, ROUTE_MESSAGE, READ },
	{ "/api/v1/admin/tsdb/delete_series", NULL, ROUTE_WRITE, ADMIN },
	{ "/api/v1/admin/tsdb/clean_tombstones", NULL, ROUTE_WRITE, ADMIN },
	{ "/api/v1/admin/tsdb/confirm_clock", NULL, ROUTE_WRITE, ADMIN },
	{ "/api/v1/admin/tsdb/snapshot", NULL, ROUTE_WRITE, ADMIN },
};

static const struct route *find_route(const struct route *v, size_t n,
				      const char *path)
{
	for (size_t i = 0; i < n && v[i].path; i++) {
		if (!strcmp(v[i].path, path))
			return &v[i];
	}
	return NULL;
}

/* Returns the route of a path that accepts the same methods as another route. */
static const struct route *find_twin(const struct route *v, size_t n,
				     const struct route *of)
{
	for (size_t i = 0; i < n && v[i].path; i++) {
		if (!strcmp(v[i].path, of->path) &&
		    !strcmp(route_methods(&v[i]), route_methods(of)))
			return &v[i];
	}
	return NULL;
}

Test(routes, each_path_needs_the_scopes_of_what_it_does)
{
	struct web *w = start_web(&(struct web_options){ 0 });
	size_t count = 0;

	for (const struct route *r = started.routes; r->path; r++, count++) {
		const struct route *want =
			find_twin(expected, ARRAY_SIZE(expected), r);

		cr_expect(want != NULL, "%s is new", r->path);
		cr_assert(want, "%s: %u", r->path, r->scope);
		cr_expect(r->scope == want->scope, "%s: %u", r->path, r->scope);
		cr_assert(want, "%s", r->path);
		cr_expect(r->kind == want->kind, "%s", r->path);
		cr_expect(r->handle != NULL, "%s", r->path);
		/*
		 * The scope to read is never enough for a route that changes
		 * something, but for a session, and for a file that is uploaded
		 * to be read. Only routes of health need no scope.
		 */
		cr_expect(!route_changes(r) ||
				  (r->scope & ~(unsigned)SCOPE_READ) ||
				  strstr(r->path, "/session/") ||
				  strcasestr(r->path, "adhoc"),
			  "%s", r->path);
		cr_expect(!r->scope == (r->kind == ROUTE_OPEN), "%s", r->path);
		cr_expect(find_twin(started.routes, SIZE_MAX, r) == r,
			  "%s stands there twice", r->path);
	}
	cr_expect(count == ARRAY_SIZE(expected), "%zu", count);
	end_web(w);
}

Test(routes, only_pages_without_data_need_no_credentials)
{
	struct web *w = start_web(&(struct web_options){ 0 });

	/* A build without the web UI has none of them. */
	for (const struct route *r = started.pages; r && r->path; r++) {
		cr_assert(r->kind == ROUTE_OPEN, "%s", r->path);
		cr_expect(!r->scope, "%s", r->path);
		cr_expect(r->handle == assets_page || r->handle == assets_file,
			  "%s", r->path);
	}
	cr_expect(!started.pages == !assets_exist());
	end_web(w);
	w = start_agent_web(&(struct web_options){ 0 });
	cr_expect(!started.pages, "an agent has plain pages, with its targets");
	end_web(w);
}

Test(routes, an_agent_has_those_that_need_no_database)
{
	static const char *const paths[] = {
		"/",
		"/targets",
		"/remote_write",
		"/-/healthy",
		"/-/ready",
		"/-/reload",
		"/-/quit",
		"/debug/pprof/",
		"/debug/pprof/heap",
		"/debug/pprof/profile",
		"/metrics",
		"/api/v1/session",
		"/api/v1/session/begin",
		"/api/v1/session/end",
		"/api/v1/write",
		"/api/v1/targets",
		"/api/v1/status/config",
		"/api/v1/status/flags",
		"/api/v1/status/buildinfo",
		"/api/v1/status/routes",
		"/api/v1/status/remote_write",
		"/senders",
		"/ready",
		"/api/v1/senders",
		"/ingest",
		"/pyroscope/ingest",
		"/profiling/v1/input",
		"/push.v1.PusherService/Push",
		"/v1development/profiles",
		"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
	};
	struct web *w = start_agent_web(&(struct web_options){ 0 });
	size_t n = 0;

	while (started.routes[n].path)
		n++;
	cr_expect(n == ARRAY_SIZE(paths), "%zu", n);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		cr_expect(find_route(started.routes, SIZE_MAX, paths[i]), "%s",
			  paths[i]);
	end_web(w);
}

/* Answers a request by the handler of a route. */
static struct buf ask(const char *path, unsigned *status)
{
	const struct route *r = find_route(started.routes, SIZE_MAX, path);
	struct request request = { .method = str_of("GET"),
				   .path = str_of(path) };
	struct answer a = { 0 };

	cr_assert(r);
	r->handle(started.ctx, &request, &a);
	arena_fini(&request.arena);
	*status = a.status;
	return a.body;
}

/* Whether a page of the web UI takes the place of a plain page. */
static bool of_the_ui(const char *path)
{
	return started.pages && find_route(started.pages, SIZE_MAX, path);
}

Test(routes, the_list_of_routes_names_them_all)
{
	struct web *w = start_web(&(struct web_options){ 0 });
	unsigned status;
	struct buf body = ask("/api/v1/status/routes", &status);
	const char *text = buf_cstr(&body);

	cr_expect(status == 200);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct route *r = &expected[i];
		char want[200];

		snprintf(want, sizeof(want),
			 "{\"path\":\"%s\",\"method\":\"%s\",\"scope\":\"%s\"}",
			 r->path,
			 r->kind == ROUTE_REMOVE ? "DELETE" :
			 route_changes(r) || r->kind == ROUTE_MESSAGE ? "POST" :
									"GET",
			 !r->scope               ? "none" :
			 of_the_ui(r->path)      ? "none" :
			 r->scope == ADMIN       ? "admin" :
			 r->scope == READ        ? "read" :
			 r->scope == SCOPE_WRITE ? "write" :
						   "read+write");
		cr_expect(strstr(text, want) != NULL, "%s in %s", want, text);
	}
	buf_fini(&body);
	end_web(w);
}

Test(routes, a_server_is_ready_when_it_is_told)
{
	struct web *w = start_web(&(struct web_options){ 0 });
	unsigned status;
	struct buf body = ask("/-/ready", &status);

	cr_expect(status == 503);
	buf_fini(&body);
	web_set_ready(w, true);
	body = ask("/-/ready", &status);
	cr_expect(status == 200);
	buf_fini(&body);
	web_set_ready(w, false);
	body = ask("/-/ready", &status);
	cr_expect(status == 503);
	buf_fini(&body);
	/* The answer is "healthy" all the time. */
	body = ask("/-/healthy", &status);
	cr_expect(status == 200);
	buf_fini(&body);
	end_web(w);
}

static int on_reload(void *ctx, struct err *err)
{
	int *count = ctx;

	(*count)++;
	return *count > 1 ? err_set(err, ERR_INVALID, "e.yaml:1:1: wrong") : 0;
}

static void on_quit(void *ctx)
{
	int *count = ctx;

	*count = -1;
}

Test(routes, reload_and_quit_are_there_only_if_enabled)
{
	for (int enabled = 0; enabled < 2; enabled++) {
		int count = 0;
		struct web_options o = { .lifecycle = { .ctx = &count,
							.enabled = enabled,
							.reload = on_reload,
							.quit = on_quit } };
		struct web *w = start_web(&o);
		unsigned status;
		struct buf body = ask("/-/reload", &status);

		cr_assert(status == (enabled ? 200 : 403));
		cr_expect(count == enabled);
		buf_fini(&body);
		/*
		 * The second reload finds a mistake, and the answer tells it.
		 */
		body = ask("/-/reload", &status);
		cr_expect(status == (enabled ? 500 : 403), "%u", status);
		cr_expect(!enabled || strstr(buf_cstr(&body), "e.yaml:1:1"));
		buf_fini(&body);
		body = ask("/-/quit", &status);
		cr_expect(status == (enabled ? 200 : 403));
		cr_expect(count == (enabled ? -1 : 0));
		buf_fini(&body);
		end_web(w);
	}
}

#define HASH "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"

/*
 * By DNS rebinding, a page in a browser could reach a server on this machine
 * that asks for no password. So such a server accepts local names only.
 */
Test(routes, an_open_server_on_this_machine_has_local_names_only)
{
	static const struct {
		const char *address;
		const char *hosts;
		const char *config;
		const char *want; /* NULL: any name */
	} cases[] = {
		{ "127.0.0.1:1", NULL, NULL, "" },
		{ "127.0.0.1:1", NULL, "", "" },
		{ "[::1]:1", NULL, NULL, "" },
		{ "localhost:1", NULL, NULL, "" },
		{ "0.0.0.0:1", NULL, NULL, NULL },
		{ "127.0.0.1:1", NULL, "basic_auth_users: {a: " HASH "}",
		  NULL },
		{ "127.0.0.1:1", "a,b", NULL, "a,b" },
		{ "0.0.0.0:1", "a,b", "basic_auth_users: {a: " HASH "}",
		  "a,b" },
	};
	struct tempdir d = tempdir_make();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char path[200];
		struct web_options o = { .address = cases[i].address,
					 .allowed_hosts = cases[i].hosts };
		struct web *w;
		FILE *f;

		snprintf(path, sizeof(path), "%s/web.yml", d.path);
		f = fopen(path, "w");
		cr_assert(f);
		cr_assert(fputs(cases[i].config ? cases[i].config : "", f) >=
			  0);
		cr_assert(!fclose(f));
		o.config_file = cases[i].config ? path : NULL;
		w = start_web(&o);
		cr_expect(cases[i].want ? started.allowed_hosts &&
						  !strcmp(started.allowed_hosts,
							  cases[i].want) :
					  !started.allowed_hosts,
			  "case %zu", i);
		cr_expect(check_str(str_of(web_scheme(w)), "http"));
		cr_expect(web_port(w) == 4711);
		end_web(w);
	}
	tempdir_fini(&d);
}

Test(routes, loopback_addresses_are_known)
{
	static const struct {
		const char *address;
		bool local;
	} cases[] = {
		{ "127.0.0.1:1", true }, { "127.9.9.9:1", true },
		{ "[::1]:1", true },     { "localhost:1", true },
		{ "0.0.0.0:1", false },  { "[::]:1", false },
		{ ":1", false },         { "128.0.0.1:1", false },
		{ "127x:1", false },     { "localhost.example:1", false },
		{ "[::10]:1", false },   { "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(web_is_local(cases[i].address) == cases[i].local,
			  "%s", cases[i].address);
}

Test(routes, a_start_that_fails_leaves_nothing)
{
	struct metrics *m = metrics_new();
	struct web_options o = { .address = "127.0.0.1:0",
				 .metrics = m,
				 .config_file = "/nowhere/web.yml" };
	struct web *w = NULL;
	struct err err = { 0 };

	cr_expect(web_start(&o, &w, &err) == ERR_NOTFOUND);
	o.config_file = NULL;
	start_result = ERR_IO;
	cr_assert(web_start(&o, &w, &err) == ERR_IO);
	cr_expect(!w);
	start_result = 0;
	cr_expect(!web_start(&o, &w, &err));
	stops = 0;
	frees = 0;
	web_stop(w);
	web_stop(NULL);
	web_free(w);
	web_free(NULL);
	cr_assert(stops == 2, "web_free() stops again, which does nothing");
	cr_expect(frees == 1);
	metrics_free(m);
}

Test(routes, text_in_headers_is_cut_and_has_no_controls)
{
	static const struct {
		const char *text;
		size_t max;
		const char *want;
	} cases[] = {
		{ "", 10, "" },
		{ "ten bytes.", 10, "ten bytes." },
		{ "eleven byte", 10, "eleven …" },
		{ "a\r\nB: c\x7f", 20, "a  B: c " },
		/* No character is cut in two. */
		{ "abcdef\xc3\xa9\xc3\xa9", 10, "abcdef\xc3\xa9\xc3\xa9" },
		{ "abcdef\xc3\xa9\xc3\xa9.", 10, "abcdef…" },
	};
	struct arena arena = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(check_str(
			str_of(answer_header_text(&arena, str_of(cases[i].text),
						  cases[i].max)),
			cases[i].want));
	arena_fini(&arena);
}
