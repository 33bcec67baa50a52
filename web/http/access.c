/* SPDX-License-Identifier: Apache-2.0 */
#include "web/http/access.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "web/guard/hosts.h"
#include "web/http/exchange.h"
#include "web/http/upload.h"

/* Whether the client sends requests at a higher rate than allowed. */
static bool is_too_often(struct exchange *x)
{
	return !limiter_pass(x->server->limiter,
			     exchange_address(x->connection), x->started_ns);
}

/* The following functions check authentication. */

/*
 * Read the credentials of a request. They are borrowed from the request and its
 * arena.
 */
static struct credentials access_credentials(struct exchange *x)
{
	const char *value = exchange_header(x, "Authorization");
	struct credentials c = credentials_read(value, &x->request.arena);

	if (!*value && *x->request.session)
		c.session = x->request.session;
	return c;
}

/* Callback for each header: count the Authorization headers. */
static enum MHD_Result count_authorization(void *ctx, enum MHD_ValueKind kind,
					   const char *name, const char *value)
{
	unsigned *count = ctx;

	(void)kind;
	(void)value;
	*count += !strcasecmp(name, "Authorization");
	return MHD_YES;
}

/*
 * Whether there is more than one Authorization header. Such a request is
 * refused: a proxy may have checked one of these headers, while this server
 * would use another.
 */
static bool is_split(struct exchange *x)
{
	unsigned count = 0;

	MHD_get_connection_values(x->connection, MHD_HEADER_KIND,
				  count_authorization, &count);
	return count > 1;
}

/*
 * The challenge of a 401. A browser that gets the challenge of a known scheme
 * asks for a password by itself; scripts of the web UI, whose requests have the
 * header X-Everprof-Query, show a form instead.
 */
static const char *access_challenge(struct exchange *x)
{
	return *exchange_header(x, "X-Everprof-Query") ?
		       "Session realm=\"everprof\"" :
		       auth_challenge(x->server->o.auth);
}

/* Answer 401, and count the refusal. */
static void refuse_nobody(struct exchange *x)
{
	exchange_refuse(
		x, ERR_UNAUTHORIZED,
		"authentication is required: send a valid user name and password, or a valid bearer token");
	answer_header(&x->answer, "WWW-Authenticate", access_challenge(x));
	metric_add(metrics_counter(
			   x->server->o.metrics,
			   "everprof_http_unauthorized_total",
			   "Requests rejected because credentials are missing "
			   "or wrong.",
			   NULL),
		   1);
}

/*
 * Act on the result of checking credentials. Granted: check the scopes that the
 * route needs. Slow: mark the request as unverified, because its password has
 * to be hashed first. Otherwise: refuse the request.
 */
static void access_judge(struct exchange *x, enum auth_verdict v)
{
	x->unverified = v == AUTH_SLOW;
	if (v == AUTH_REFUSED) {
		refuse_nobody(x);
	} else if (v == AUTH_BUSY) {
		exchange_refuse(x, ERR_LIMIT, AUTH_BUSY_REFUSAL);
		answer_header(&x->answer, "Retry-After", "1");
	} else if (v == AUTH_GRANTED && x->route &&
		   (x->who.scopes & x->route->scope) != x->route->scope) {
		char why[100];

		snprintf(
			why, sizeof(why),
			"insufficient scope: this path needs the scope %s, which the user or token lacks",
			web_config_scope_text(x->route->scope));
		exchange_refuse(x, ERR_DENIED, why);
	}
}

/*
 * Refuse a client whose certificate is not accepted. The certificate is checked
 * with each request rather than in the handshake, so that the CA can change,
 * and so that the answer can say why the certificate is refused
 * (docs/decisions.md, 68).
 */
static void check_client(struct exchange *x)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		x->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	struct err err;

	if (!x->server->tls ||
	    !auth_client(x->server->o.auth, info ? info->tls_session : NULL,
			 &err))
		return;
	exchange_refuse(x, ERR_DENIED, err.msg);
	x->closes = true;
}

/* Check the credentials without hashing. Runs on the server's thread. */
static void access_authenticate(struct exchange *x)
{
	struct credentials c = access_credentials(x);

	if (x->route && x->route->kind == ROUTE_OPEN)
		return;
	access_judge(x, auth_check(x->server->o.auth, &c, &x->who));
}

/*
 * Whether the request's origin is allowed by --web.cors.origin. Only the
 * server's thread may call this.
 */
static bool is_friend(struct exchange *x)
{
	const char *origin = exchange_header(x, "Origin");

	return x->server->cors && *origin &&
	       regex_matches(x->server->cors, str_of(origin));
}

/*
 * Whether a page of another origin tries to change something (request forgery).
 * Such a request is refused even with a valid password, because browsers send
 * the password of the page's reader with it.
 */
static bool is_forged(const struct exchange *x)
{
	return x->request.is_foreign && x->route && route_changes(x->route);
}

/*
 * Whether `scheme`, taken from an Origin header, is the scheme by which
 * browsers reach this server. A proxy in front of the server reports this
 * scheme in X-Forwarded-Proto; without that header it is the server's own
 * scheme. A page of another origin cannot forge the header: the browser would
 * first send a preflight request.
 */
static bool is_our_scheme(struct exchange *x, struct str scheme)
{
	const char *proxied = exchange_header(x, "X-Forwarded-Proto");

	if (*proxied)
		return str_is(scheme, proxied);
	return str_is(scheme, x->server->tls ? "https" : "http");
}

/*
 * Whether the request was sent by a page of another origin that
 * --web.cors.origin does not allow.
 */
static bool is_foreign(struct exchange *x)
{
	const char *origin = exchange_header(x, "Origin");
	const char *host = strstr(origin, "://");
	struct str scheme = { .ptr = origin };

	if (!*origin || is_friend(x))
		return false;
	if (!host)
		return true;
	scheme.len = (size_t)(host - origin);
	return !is_our_scheme(x, scheme) ||
	       strcasecmp(host + 3, exchange_header(x, "Host")) != 0;
}

/* Refuse a request for an unknown host name (docs/decisions.md, 93). */
static void refuse_host(struct exchange *x)
{
	exchange_refuse(x, ERR_DENIED, HOSTS_REFUSAL);
}

/*
 * Whether this is a preflight request for a page of an allowed origin. By a
 * preflight request, a browser asks whether the page may send its actual
 * request.
 */
static bool is_preflight(struct exchange *x)
{
	return str_is(x->request.method, "OPTIONS") && is_friend(x);
}

/* Answer a preflight request; access_add_cors() adds the headers. */
static void answer_preflight(struct exchange *x)
{
	x->answer.status = 204;
	x->answer.content_type = "text/plain; charset=utf-8";
}

void access_add_cors(struct exchange *x, struct MHD_Response *r)
{
	if (!is_friend(x))
		return;
	MHD_add_response_header(r, "Access-Control-Allow-Origin",
				exchange_header(x, "Origin"));
	MHD_add_response_header(r, "Vary", "Origin");
	MHD_add_response_header(r, "Access-Control-Allow-Methods",
				"GET, POST, DELETE, OPTIONS");
	/* The last three are those of the Model Context Protocol. */
	MHD_add_response_header(
		r, "Access-Control-Allow-Headers",
		"Accept, Authorization, Content-Type, Origin, MCP-Protocol-Version, Mcp-Method, Mcp-Name");
	MHD_add_response_header(
		r, "Access-Control-Expose-Headers",
		"Date, X-Everprof-Labels, X-Everprof-Timestamp, X-Everprof-Profiles, X-Everprof-Profiles-A, X-Everprof-Normalize, X-Everprof-Factor, X-Everprof-Series, X-Everprof-Covered-Seconds, X-Everprof-Warning");
}

/* Whether one of the routes of a path accepts a method. */
static bool is_accepted(const struct exchange *x, const char *method)
{
	const struct route *t = x->server->o.routes;

	if (route_accepts(x->route, str_of(method)))
		return true;
	for (; x->route && t->path; t++) {
		if (!strcmp(t->path, x->route->path) &&
		    route_accepts(t, str_of(method)))
			return true;
	}
	return false;
}

/* Answer 405, with a list of the methods that the path accepts. */
static void refuse_method(struct exchange *x)
{
	static const char *const all[] = { "GET", "HEAD", "POST", "PUT",
					   "DELETE" };
	const char *methods = "";

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (is_accepted(x, all[i]))
			methods = arena_printf(&x->request.arena, "%s%s%s",
					       methods, *methods ? ", " : "",
					       all[i]);
	}
	exchange_refuse(x, ERR_INVALID,
			arena_printf(&x->request.arena,
				     "method not allowed: use one of %s",
				     methods));
	x->answer.status = 405;
	answer_header(&x->answer, "Allow", methods);
}

/* Answer 429 to a client that exceeds its rate of requests. */
static void refuse_often(struct exchange *x)
{
	exchange_refuse(x, ERR_LIMIT, LIMITER_REFUSAL);
	answer_header(&x->answer, "Retry-After", "1");
}

void access_refuse_framing(struct exchange *x)
{
	exchange_refuse(
		x, ERR_INVALID,
		"the request is malformed or ambiguous: it needs one Host header and, with a body, one Content-Length; chunked encoding is accepted instead only on paths that take no form");
	x->closes = true;
}

/*
 * Check everything that is known before the body is read: rate, host,
 * certificate, credentials. A preflight request is answered before the check of
 * credentials, because it carries none.
 */
static void access_admit(struct exchange *x)
{
	x->admitted = true;
	if (is_too_often(x))
		refuse_often(x);
	else if (!hosts_allow(x->server->o.allowed_hosts,
			      exchange_header(x, "Host")))
		refuse_host(x);
	else
		check_client(x);
	if (!x->answer.status && is_preflight(x))
		answer_preflight(x);
	if (!x->answer.status && is_split(x))
		exchange_refuse(x, ERR_INVALID, AUTH_SPLIT_REFUSAL);
	if (!x->answer.status)
		access_authenticate(x);
}

bool access_refuse_body(struct exchange *x)
{
	const char *length = exchange_header(x, "Content-Length");

	if (x->framing != FRAMING_CHUNKED && (!*length || !strcmp(length, "0")))
		return false;
	access_admit(x);
	/* Such a path needs no credentials: anybody could send a body. */
	if (!x->answer.status && x->route && x->route->kind == ROUTE_OPEN)
		exchange_refuse(x, ERR_INVALID,
				"this path accepts no request body");
	if (x->answer.status)
		x->closes = true;
	return x->answer.status;
}

/*
 * Check the rest of an authenticated request (parameters, size, method, path,
 * origin), and refuse the request if something is wrong. This comes last, so
 * that clients without access learn nothing about the server.
 */
static void find_fault(struct exchange *x)
{
	if (x->bad)
		exchange_refuse(x, ERR_INVALID, EXCHANGE_UNSOUND);
	else if (x->crowded)
		exchange_refuse(
			x, ERR_LIMIT,
			upload_is(x) ?
				UPLOAD_CROWDED :
				"too many request bodies are being received; retry later");
	else if (x->form.over)
		exchange_refuse(
			x, ERR_TOOBIG,
			upload_is(x) ?
				UPLOAD_LARGE :
				"the request body is larger than 1 MiB, a fixed limit");
	else if (!route_accepts(x->route, x->request.method))
		refuse_method(x);
	else if (!x->route)
		x->server->o.missing(&x->request, &x->answer);
	else if (is_forged(x))
		exchange_refuse(
			x, ERR_DENIED,
			"cross-origin request refused: the Origin header is not the address of this server (a proxy must pass Host and X-Forwarded-Proto), and --web.cors.origin does not allow it");
}

void access_check(struct exchange *x)
{
	x->request.is_foreign = is_foreign(x);
	if (!x->admitted)
		access_admit(x);
	if (!x->answer.status && !x->unverified)
		find_fault(x);
}

void access_verify_early(struct exchange *x)
{
	struct credentials c = access_credentials(x);

	access_judge(x,
		     client_verify(x->client, x->server->o.auth, &c, &x->who));
}

void access_verify(struct exchange *x)
{
	if (!x->unverified)
		return;
	access_verify_early(x);
	if (!x->answer.status)
		find_fault(x);
}
