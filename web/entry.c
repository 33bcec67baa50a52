/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "web/exchange.h"

static bool is_too_often(struct exchange *x)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return info && !limiter_pass(x->server->limiter, info->client_addr,
				     x->started_ns);
}

/* Who asks. */

/* Borrowed from the request, and from x's arena. */
static struct credentials credentials_of(struct exchange *x)
{
	static const char bearer[] = "Bearer ";
	const char *value = exchange_header(x, "Authorization");
	struct credentials c = { 0 };
	char *password = NULL;
	char *user;

	if (!strncasecmp(value, bearer, sizeof(bearer) - 1)) {
		c.token = value + sizeof(bearer) - 1;
		return c;
	}
	user = MHD_basic_auth_get_username_password(x->connection, &password);
	if (user && password) {
		c.user = arena_strndup(&x->request.arena, str_of(user));
		c.password = arena_strndup(&x->request.arena, str_of(password));
	}
	if (password)
		explicit_bzero(password, strlen(password));
	MHD_free(user);
	MHD_free(password);
	return c;
}

static void refuse_nobody(struct exchange *x)
{
	exchange_refuse(
		x, ERR_UNAUTHORIZED,
		"who are you? A user's name and password, or a token, is needed");
	answer_header(&x->answer, "WWW-Authenticate",
		      auth_challenge(x->server->o.auth));
	metric_add(
		metrics_counter(x->server->o.metrics,
				"everprof_http_unauthorized_total",
				"Requests of nobody, or with a wrong password "
				"or token.",
				NULL),
		1);
}

/* After a verdict: an answer, if the request is not to be handled. */
static void judge(struct exchange *x, enum auth_verdict v)
{
	x->unverified = v == AUTH_SLOW;
	if (v == AUTH_REFUSED) {
		refuse_nobody(x);
	} else if (v == AUTH_BUSY) {
		exchange_refuse(x, ERR_LIMIT,
				"too many passwords are being verified");
		answer_header(&x->answer, "Retry-After", "1");
	} else if (v == AUTH_GRANTED && x->route &&
		   (x->who.scopes & x->route->scope) != x->route->scope) {
		exchange_refuse(x, ERR_DENIED,
				"this needs a scope that you do not have");
	}
}

/* By certificate, where that is wanted. */
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
	answer_header(&x->answer, "Connection", "close");
}

static void authenticate(struct exchange *x)
{
	struct credentials c = credentials_of(x);
	judge(x, auth_check(x->server->o.auth, &c, &x->who));
}

/* By a worker: hashing takes long. */
static void verify(struct exchange *x)
{
	struct credentials c = credentials_of(x);
	judge(x, auth_verify(x->server->o.auth, &c, &x->who));
}

/* An origin whose pages may read our answers. The server's thread alone. */
static bool is_friend(struct exchange *x)
{
	const char *origin = exchange_header(x, "Origin");

	return x->server->cors && *origin &&
	       regex_matches(x->server->cors, str_of(origin));
}

/* A page of somebody else's must not post with its reader's password. */
static bool is_forged(const struct exchange *x)
{
	return x->foreign && x->route && x->route->kind == ROUTE_WRITE;
}

/* Whether it comes from a page that is neither ours nor a friend's. */
static bool is_foreign(struct exchange *x)
{
	const char *origin = exchange_header(x, "Origin");
	const char *host = strstr(origin, "://");

	return *origin && !is_friend(x) &&
	       (!host || strcasecmp(host + 3, exchange_header(x, "Host")) != 0);
}

/* What a browser asks before a page of another origin may ask. */
static bool is_preflight(const struct exchange *x)
{
	return x->server->cors && str_is(x->request.method, "OPTIONS");
}

static void answer_preflight(struct exchange *x)
{
	x->answer.status = 204;
	x->answer.content_type = "text/plain; charset=utf-8";
}

void entry_add_cors(struct exchange *x, struct MHD_Response *r)
{
	if (!is_friend(x))
		return;
	MHD_add_response_header(r, "Access-Control-Allow-Origin",
				exchange_header(x, "Origin"));
	MHD_add_response_header(r, "Vary", "Origin");
	MHD_add_response_header(r, "Access-Control-Allow-Methods",
				"GET, POST, OPTIONS");
	MHD_add_response_header(r, "Access-Control-Allow-Headers",
				"Accept, Authorization, Content-Type, Origin");
	MHD_add_response_header(
		r, "Access-Control-Expose-Headers",
		"Date, X-Everprof-Labels, X-Everprof-Timestamp, X-Everprof-Profiles, X-Everprof-Series, X-Everprof-Warning");
}

static void refuse_method(struct exchange *x)
{
	bool post = x->route && x->route->kind == ROUTE_WRITE;

	exchange_refuse(x, ERR_INVALID,
			post ? "only POST and PUT are answered here" :
			       "only GET, HEAD and POST are answered here");
	x->answer.status = 405;
	answer_header(&x->answer, "Allow",
		      post ? "POST, PUT" : "GET, HEAD, POST");
}

static bool is_method_ok(const struct exchange *x)
{
	struct str m = x->request.method;

	if (x->route && x->route->kind == ROUTE_WRITE)
		return str_is(m, "POST") || str_is(m, "PUT");
	return str_is(m, "GET") || str_is(m, "HEAD") || str_is(m, "POST");
}

static void refuse_often(struct exchange *x)
{
	exchange_refuse(x, ERR_LIMIT, "too many requests: --web.rate-limit");
	answer_header(&x->answer, "Retry-After", "1");
}

void entry_refuse_framing(struct exchange *x)
{
	exchange_refuse(x, ERR_INVALID, "the request's length is ambiguous");
	answer_header(&x->answer, "Connection", "close");
}

/* Who asks, and how often. */
static void admit(struct exchange *x)
{
	x->admitted = true;
	if (is_too_often(x))
		refuse_often(x);
	else if (is_preflight(x))
		answer_preflight(x);
	else
		check_client(x);
	if (!x->answer.status)
		authenticate(x);
}

bool entry_refuse_body(struct exchange *x)
{
	const char *length = exchange_header(x, "Content-Length");

	if (!*length || !strcmp(length, "0"))
		return false;
	admit(x);
	if (x->answer.status)
		answer_header(&x->answer, "Connection", "close");
	return x->answer.status;
}

/* What is wrong with a request of somebody whom we know. */
static void find_fault(struct exchange *x)
{
	if (x->bad)
		exchange_refuse(x, ERR_INVALID, EXCHANGE_UNSOUND);
	else if (x->crowded)
		exchange_refuse(x, ERR_LIMIT,
				"too many bodies are on their way");
	else if (x->form.over)
		exchange_refuse(x, ERR_TOOBIG,
				"the request's body is too large");
	else if (!is_method_ok(x))
		refuse_method(x);
	else if (!x->route)
		exchange_refuse(x, ERR_NOTFOUND, "there is no such path");
	else if (is_forged(x))
		exchange_refuse(x, ERR_DENIED,
				"a page of another origin may not do this");
}

void entry_check(struct exchange *x)
{
	x->foreign = is_foreign(x);
	if (!x->admitted)
		admit(x);
	if (!x->answer.status && !x->unverified)
		find_fault(x);
}

void entry_verify(struct exchange *x)
{
	if (!x->unverified)
		return;
	verify(x);
	if (!x->answer.status)
		find_fault(x);
}
