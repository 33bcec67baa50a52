/* SPDX-License-Identifier: Apache-2.0 */
#include "web/server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/url.h"
#include "model/regex.h"
#include "web/connections.h"
#include "web/framing.h"
#include "web/limiter.h"

#define GZIP_MIN        1024 /* smaller bodies are sent as they are */
#define GZIP_LEVEL      1
#define PARAMS_MAX      1000
#define TLS_OPTIONS_MAX 4
#define FIRST_MS        10000 /* for the first request of a connection */
#define SPARE           64    /* connections that are being ended */
#define LOGGED_MAX      1000  /* bytes of parameters in the log */
#define STREAM_BLOCK    (64 * KIB)
/* Headers and parameters of a request, and the headers of its answer. */
#define CONNECTION_MEMORY (256 * KIB)
#define PER_IP_MAX        0 /* all connections may be one proxy's */

struct server {
	struct server_options o;
	struct MHD_Daemon *daemon;
	struct pool *pool;
	unsigned port;
	bool tls;
	char *client_ca;
	char *priorities;
	struct connections *connections;
	struct limiter *limiter;
	struct regex *cors; /* origins; NULL: none */
	pthread_t sweeper;
	pthread_mutex_t mu;
	pthread_cond_t stop;
	bool sweeping;
};

/* A request from its first byte to its answer's last. */
struct exchange {
	struct server *server;
	struct MHD_Connection *connection;
	struct request request;
	struct answer answer;
	struct identity who;
	struct buf form;
	const struct route *route;
	int64_t started_ns;
	struct buf chunk; /* of a stream, being sent */
	size_t sent;      /* of the chunk */
	int more;         /* what the stream said last */
	bool answered;
	bool suspended;
	bool unverified; /* the password is yet to be hashed */
	bool ambiguous;
	bool foreign; /* asked by a page of another origin */
	bool bad;     /* a NUL in a parameter */
};

void answer_header(struct answer *a, const char *name, const char *value)
{
	if (a->header_count == ANSWER_HEADERS_MAX)
		abort(); /* our bug */
	a->headers[a->header_count].name = name;
	a->headers[a->header_count++].value = value;
}

int answer_take(struct answer *a, int64_t n, struct err *err)
{
	int rc = budget_take(a->memory, n, err);

	if (!rc)
		a->taken += n;
	return rc;
}

int answer_account(struct answer *a, struct err *err)
{
	int64_t grown = (int64_t)a->body.cap - a->taken_for_body;

	if (grown <= 0)
		return 0;
	a->taken_for_body += grown;
	return answer_take(a, grown, err);
}

bool request_param(const struct request *r, const char *name, struct str *out)
{
	for (size_t i = 0; i < r->param_count; i++) {
		if (str_is(r->params[i].name, name)) {
			*out = r->params[i].value;
			return true;
		}
	}
	return false;
}

/* Requests. */

static void add_param(struct request *r, struct str name, struct str value)
{
	if (r->param_count == PARAMS_MAX)
		return;
	if (!r->params)
		r->params =
			arena_array(&r->arena, struct param_value, PARAMS_MAX);
	r->params[r->param_count++] =
		(struct param_value){ .name = arena_str(&r->arena, name),
				      .value = arena_str(&r->arena, value) };
}

static enum MHD_Result on_argument(void *ctx, enum MHD_ValueKind kind UNUSED,
				   const char *key, size_t key_len,
				   const char *value, size_t value_len)
{
	struct exchange *x = ctx;

	x->bad |= memchr(key, 0, key_len) ||
		  (value_len && memchr(value, 0, value_len));
	add_param(&x->request, (struct str){ .ptr = key, .len = key_len },
		  (struct str){ .ptr = value ? value : "", .len = value_len });
	return MHD_YES;
}

static void parse_form(struct request *r, struct str body)
{
	while (body.len) {
		struct str pair = str_cut(body, '&', &body);
		struct str value;
		struct str name = str_cut(pair, '=', &value);

		if (name.len)
			add_param(r, url_unescape(name, &r->arena),
				  url_unescape(value, &r->arena));
	}
}

static const char *header(struct exchange *x, const char *name)
{
	const char *v = MHD_lookup_connection_value(x->connection,
						    MHD_HEADER_KIND, name);

	return v ? v : "";
}

/* Whether path fits the route; its * gives *segment. */
static bool fits(const char *route, struct str path, struct str *segment)
{
	struct str pattern = str_of(route);

	while (pattern.len || path.len) {
		struct str want = str_cut(pattern, '/', &pattern);
		struct str have = str_cut(path, '/', &path);

		if (str_is(want, "*") && have.len)
			*segment = have;
		else if (!str_eq(want, have))
			return false;
	}
	return true;
}

static const struct route *find_route(const struct server *s, struct request *r)
{
	for (const struct route *t = s->o.routes; t->path; t++) {
		if (fits(t->path, r->path, &r->segment))
			return t;
	}
	return NULL;
}

/* Answers. */

static void refuse(struct exchange *x, int code, const char *why)
{
	struct err err;

	err_set(&err, code, "%s", why);
	x->server->o.fail(&x->answer, &err);
}

static void refuse_method(struct exchange *x)
{
	bool post = x->route && x->route->kind == ROUTE_WRITE;

	refuse(x, ERR_INVALID,
	       post ? "only POST and PUT are answered here" :
		      "only GET, HEAD and POST are answered here");
	x->answer.status = 405;
	answer_header(&x->answer, "Allow",
		      post ? "POST, PUT" : "GET, HEAD, POST");
}

/* Connections. */

static struct connection *connection_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void on_connection(void *ctx, struct MHD_Connection *c, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct server *s = ctx;
	const union MHD_ConnectionInfo *info;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		connection_end(s->connections, *context);
		*context = NULL;
		return;
	}
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		*context = connections_add(s->connections, info->connect_fd);
}

static void turn(struct exchange *x, enum connection_state state)
{
	connection_turn(x->server->connections, connection_of(x->connection),
			state);
}

/* Ends requests that are late, once a second. */
static void *sweep(void *arg)
{
	struct server *s = arg;
	struct timespec at;

	pthread_setname_np(pthread_self(), "web-sweep");
	pthread_mutex_lock(&s->mu);
	while (s->sweeping) {
		clock_gettime(CLOCK_REALTIME, &at);
		at.tv_sec++;
		pthread_cond_timedwait(&s->stop, &s->mu, &at);
		connections_sweep(s->connections);
	}
	pthread_mutex_unlock(&s->mu);
	return NULL;
}

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
	const char *value = header(x, "Authorization");
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
	struct auth *a = x->server->o.auth;
	bool users = auth_has_users(a);
	bool tokens = auth_has_tokens(a);

	refuse(x, ERR_DENIED,
	       "who are you? A user's name and password, or a token, is needed");
	x->answer.status = 401;
	answer_header(
		&x->answer, "WWW-Authenticate",
		users && tokens ?
			"Basic realm=\"everprof\", Bearer realm=\"everprof\"" :
		users ? "Basic realm=\"everprof\"" :
			"Bearer realm=\"everprof\"");
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
		refuse(x, ERR_LIMIT, "too many passwords are being verified");
		answer_header(&x->answer, "Retry-After", "1");
	} else if (v == AUTH_GRANTED && x->route &&
		   !(x->who.scopes & x->route->scope)) {
		refuse(x, ERR_DENIED,
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
	refuse(x, ERR_DENIED, err.msg);
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
	const char *origin = header(x, "Origin");

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
	const char *origin = header(x, "Origin");
	const char *host = strstr(origin, "://");

	return *origin && !is_friend(x) &&
	       (!host || strcasecmp(host + 3, header(x, "Host")) != 0);
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

static void add_cors(struct exchange *x, struct MHD_Response *r)
{
	if (!is_friend(x))
		return;
	MHD_add_response_header(r, "Access-Control-Allow-Origin",
				header(x, "Origin"));
	MHD_add_response_header(r, "Vary", "Origin");
	MHD_add_response_header(r, "Access-Control-Allow-Methods",
				"GET, POST, OPTIONS");
	MHD_add_response_header(r, "Access-Control-Allow-Headers",
				"Accept, Authorization, Content-Type, Origin");
	MHD_add_response_header(
		r, "Access-Control-Expose-Headers",
		"Date, X-Everprof-Labels, X-Everprof-Timestamp, X-Everprof-Profiles, X-Everprof-Series, X-Everprof-Warning");
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
	refuse(x, ERR_LIMIT, "too many requests: --web.rate-limit");
	answer_header(&x->answer, "Retry-After", "1");
}

static void refuse_framing(struct exchange *x)
{
	refuse(x, ERR_INVALID, "the request's length is ambiguous");
	answer_header(&x->answer, "Connection", "close");
}

/* What is wrong with a request of somebody whom we know. */
static void find_fault(struct exchange *x)
{
	if (x->bad)
		refuse(x, ERR_INVALID, "a parameter holds a NUL character");
	else if (x->form.over)
		refuse(x, ERR_TOOBIG, "the request's body is too large");
	else if (!is_method_ok(x))
		refuse_method(x);
	else if (!x->route)
		refuse(x, ERR_NOTFOUND, "there is no such path");
	else if (is_forged(x))
		refuse(x, ERR_DENIED,
		       "a page of another origin may not do this");
}

static void compress(struct exchange *x)
{
	struct answer *a = &x->answer;
	struct buf packed = buf_init(a->body.len + KIB);
	struct gzip *g;

	if (a->as_is || !x->request.accepts_gzip || a->body.len < GZIP_MIN)
		return;
	g = gzip_new();
	gzip_compress(g, GZIP_LEVEL, buf_bytes(&a->body), &packed);
	gzip_free(g);
	if (packed.over || packed.len >= a->body.len) {
		buf_fini(&packed);
		return;
	}
	buf_fini(&a->body);
	a->body = packed;
	answer_header(a, "Content-Encoding", "gzip");
}

static void run_handler(void *ctx, unsigned worker UNUSED)
{
	struct exchange *x = ctx;

	if (x->unverified)
		verify(x);
	if (!x->answer.status)
		find_fault(x);
	if (!x->answer.status)
		x->route->handle(x->server->o.ctx, &x->request, &x->answer);
	if (x->answer.body.over)
		refuse(x, ERR_LIMIT, "the answer is too large");
	compress(x);
	x->answered = true;
	if (x->suspended)
		MHD_resume_connection(x->connection);
}

/* A client's address as text. */
static void format_client(struct exchange *x, char out[INET6_ADDRSTRLEN])
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	*out = 0;
	if (info && info->client_addr->sa_family == AF_INET) {
		memcpy(&v4, info->client_addr, sizeof(v4));
		inet_ntop(AF_INET, &v4.sin_addr, out, INET6_ADDRSTRLEN);
	} else if (info && info->client_addr->sa_family == AF_INET6) {
		memcpy(&v6, info->client_addr, sizeof(v6));
		inet_ntop(AF_INET6, &v6.sin6_addr, out, INET6_ADDRSTRLEN);
	}
}

/* What was asked for, as name=value …; what is long is cut. */
static void format_params(const struct request *r, struct buf *out)
{
	for (size_t i = 0; i < r->param_count; i++)
		buf_printf(out, "%s%.*s=%.*s", i ? " " : "",
			   STR_ARG(r->params[i].name),
			   STR_ARG(r->params[i].value));
	if (out->len > LOGGED_MAX)
		out->len = LOGGED_MAX;
}

static void log_request(struct exchange *x, int64_t took_ns)
{
	const struct server *s = x->server;
	bool slow = took_ns > s->o.slow_ms * 1000000;
	char client[INET6_ADDRSTRLEN];
	struct buf params = { 0 };

	if (!slow && !s->o.access_log)
		return;
	format_client(x, client);
	format_params(&x->request, &params);
	log_event(s->o.log, slow ? LOG_WARN : LOG_INFO,
		  slow ? "slow request" : "request",
		  LOG_FIELDS(log_text("client", client),
			     log_text("user", x->who.name),
			     log_text("method", x->request.method.ptr),
			     log_text("path", x->request.path.ptr),
			     log_text("params", buf_cstr(&params)),
			     log_int("status", x->answer.status),
			     log_int("took_ms", took_ns / 1000000)));
	buf_fini(&params);
}

static void observe(struct exchange *x)
{
	int64_t took_ns = clock_mono_ns() - x->started_ns;
	const char *handler = x->route ? x->route->path : "none";
	struct metrics *m = x->server->o.metrics;
	char code[8];

	snprintf(code, sizeof(code), "%u", x->answer.status);
	metric_add(
		metrics_counter(m, "everprof_http_requests_total",
				"HTTP requests by handler and status.",
				&(struct metric_labels){ { "handler", "code" },
							 { handler, code } }),
		1);
	histogram_observe(
		metrics_histogram(
			m, "everprof_http_request_duration_seconds",
			"HTTP requests by handler, to the end of the handler.",
			&(struct metric_labels){ { "handler" }, { handler } }),
		took_ns);
	log_request(x, took_ns);
}

/* Streams: a worker makes a piece while the connection is suspended. */

static void fill_chunk(void *ctx, unsigned worker UNUSED)
{
	struct exchange *x = ctx;
	struct answer_stream *s = &x->answer.stream;
	struct err err;

	buf_reset(&x->chunk);
	x->sent = 0;
	x->more = s->next(s->ctx, &x->chunk, &err);
	if (x->more < 0)
		log_event(x->server->o.log, LOG_WARN, "an answer broke off",
			  LOG_FIELDS(log_text("path", x->route->path),
				     log_err(&err)));
	MHD_resume_connection(x->connection);
}

static ssize_t on_chunk(void *ctx, uint64_t at UNUSED, char *out, size_t max)
{
	struct exchange *x = ctx;
	size_t n = x->chunk.len - x->sent;

	turn(x, CONNECTION_SENDING);
	if (n) {
		n = n < max ? n : max;
		memcpy(out, x->chunk.ptr + x->sent, n);
		x->sent += n;
		return (ssize_t)n;
	}
	if (!x->more)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (x->more < 0)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	MHD_suspend_connection(x->connection);
	if (pool_submit(x->server->pool, fill_chunk, x, NULL)) {
		x->more = ERR_LIMIT;
		MHD_resume_connection(x->connection);
	}
	return 0;
}

static struct MHD_Response *make_response(struct exchange *x)
{
	struct answer *a = &x->answer;
	struct MHD_Response *r;

	if (a->stream.next) {
		x->more = 1;
		return MHD_create_response_from_callback(
			MHD_SIZE_UNKNOWN, STREAM_BLOCK, on_chunk, x, NULL);
	}
	r = MHD_create_response_from_buffer(a->body.len, a->body.ptr,
					    MHD_RESPMEM_MUST_FREE);
	if (r)
		a->body = (struct buf){ 0 };
	return r;
}

static void add_web_header(void *ctx, const char *name, const char *value)
{
	struct MHD_Response *r = ctx;

	/* What is configured stands instead of what we would say. */
	MHD_del_response_header(r, name,
				MHD_get_response_header(r, name) ?
					MHD_get_response_header(r, name) :
					"");
	if (*value)
		MHD_add_response_header(r, name, value);
}

static enum MHD_Result send_answer(struct exchange *x)
{
	struct answer *a = &x->answer;
	struct MHD_Response *r = make_response(x);
	enum MHD_Result rc;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", a->content_type);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Vary", "Accept-Encoding");
	for (size_t i = 0; i < a->header_count; i++)
		MHD_add_response_header(r, a->headers[i].name,
					a->headers[i].value);
	add_cors(x, r);
	auth_headers(x->server->o.auth, add_web_header, r);
	observe(x);
	turn(x, CONNECTION_SENDING);
	rc = MHD_queue_response(x->connection, a->status, r);
	MHD_destroy_response(r);
	return rc;
}

/* The request is complete: answer it here, or have a worker do it. */
static enum MHD_Result handle(struct exchange *x)
{
	struct server *s = x->server;
	struct err err;

	x->request.now_ms = clock_ms(NULL);
	x->request.deadline_ns =
		x->started_ns + s->o.query_timeout_ms * 1000000;
	turn(x, CONNECTION_WORKING);
	x->foreign = is_foreign(x);
	if (is_too_often(x))
		refuse_often(x);
	else if (is_preflight(x))
		answer_preflight(x);
	else
		check_client(x);
	if (!x->answer.status)
		authenticate(x);
	if (!x->answer.status && !x->unverified)
		find_fault(x);
	if (x->answer.status)
		return send_answer(x);
	parse_form(&x->request, str_from(buf_bytes(&x->form)));
	if (!x->unverified && x->route->kind == ROUTE_QUICK) {
		run_handler(x, 0);
		return send_answer(x);
	}
	x->suspended = true;
	MHD_suspend_connection(x->connection);
	if (pool_submit(s->pool, run_handler, x, &err)) {
		s->o.fail(&x->answer, &err);
		x->answered = true;
		MHD_resume_connection(x->connection);
	}
	return MHD_YES;
}

static struct exchange *exchange_new(struct server *s, struct MHD_Connection *c,
				     const char *url, const char *method,
				     const char *version)
{
	struct exchange *x = mem_new(struct exchange);
	struct request *r = &x->request;

	x->server = s;
	x->connection = c;
	x->started_ns = clock_mono_ns();
	x->form = buf_init(SERVER_BODY_MAX);
	x->answer.memory = s->o.memory;
	x->answer.body = buf_init((size_t)s->o.memory->max);
	r->memory = s->o.memory;
	r->method = arena_str(&r->arena, str_of(method));
	r->path = arena_str(&r->arena, str_of(url));
	r->if_none_match = header(x, "If-None-Match");
	r->range = header(x, "Range");
	r->accepts_gzip = strstr(header(x, "Accept-Encoding"), "gzip");
	MHD_get_connection_values_n(c, MHD_GET_ARGUMENT_KIND, on_argument, x);
	x->route = find_route(s, r);
	x->ambiguous = framing_is_ambiguous(c, method, version);
	return x;
}

/* What a request is before it is an exchange, when its target holds a %00. */
static char nul_marker;
static void *const has_nul = &nul_marker;

/* The target as it came: later a %00 would only be its end. */
static void *on_target(void *ctx UNUSED, const char *target,
		       struct MHD_Connection *c UNUSED)
{
	const char *query = strchrnul(target, '?');
	const char *nul = strstr(target, "%00");

	return nul && nul < query ? has_nul : NULL;
}

/* NOLINTNEXTLINE(readability-function-size): libmicrohttpd calls it so */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *data_len, void **state)
{
	struct exchange *x = *state;

	if (!x || *state == has_nul) {
		x = exchange_new(ctx, c, url, method, version);
		x->bad |= *state == has_nul;
		*state = x;
		/* Whatever its body is said to be, nobody waits for it. */
		if (!x->ambiguous)
			return MHD_YES;
		refuse_framing(x);
		return send_answer(x);
	}
	if (x->answered)
		return send_answer(x);
	if (*data_len) {
		/* Too much is read and forgotten, so that the answer arrives. */
		buf_add(&x->form, data, *data_len);
		*data_len = 0;
		return MHD_YES;
	}
	return handle(x);
}

static void on_completed(void *ctx, struct MHD_Connection *c, void **state,
			 enum MHD_RequestTerminationCode why UNUSED)
{
	struct exchange *x = *state;
	struct server *s = ctx;

	connection_turn(s->connections, connection_of(c), CONNECTION_READING);
	if (!x || *state == has_nul)
		return;
	budget_give(x->answer.memory, x->answer.taken);
	if (x->answer.stream.free)
		x->answer.stream.free(x->answer.stream.ctx);
	buf_fini(&x->chunk);
	buf_fini(&x->answer.body);
	buf_fini(&x->form);
	arena_fini(&x->request.arena);
	mem_free(x);
	*state = NULL;
}

/* Listening. */

static int split_address(const char *address, char *host, size_t host_len,
			 const char **port, struct err *err)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;
	int64_t number;

	if (!colon || n >= host_len ||
	    !str_to_i64(str_of(colon + 1), &number) || number < 0 ||
	    number > 65535)
		return err_set(err, ERR_INVALID,
			       "listen address \"%s\" is not host:port",
			       address);
	if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	memcpy(host, address, n);
	host[n] = 0;
	*port = colon + 1;
	return 0;
}

static int listen_one(const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, 256) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int listen_on(const char *address, int *out, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE };
	struct addrinfo *list = NULL;
	const char *port = NULL;
	char host[256] = "";
	int fd = -1;
	int rc = split_address(address, host, sizeof(host), &port, err);

	if (rc)
		return rc;
	rc = getaddrinfo(*host ? host : NULL, port, &hints, &list);
	if (rc)
		return err_set(err, ERR_INVALID, "listen address \"%s\": %s",
			       address, gai_strerror(rc));
	for (struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = listen_one(ai);
	rc = fd < 0 ? err_sys(err, "listen on %s", address) : 0;
	freeaddrinfo(list);
	*out = fd;
	return rc;
}

static unsigned port_of(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} a = { .v6 = { 0 } };
	socklen_t len = sizeof(a);

	if (getsockname(fd, &a.any, &len) < 0)
		return 0;
	return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port :
						   a.v4.sin_port);
}

static void start_guards(struct server *s)
{
	int64_t idle_ms = s->o.read_timeout_ms;
	struct connections_options o = {
		.max = s->o.max_connections,
		.first_ms = idle_ms < FIRST_MS ? idle_ms : FIRST_MS,
		.next_ms = idle_ms,
	};

	s->connections = connections_new(&o);
	s->limiter = limiter_new(s->o.rate_limit);
	pthread_mutex_init(&s->mu, NULL);
	pthread_cond_init(&s->stop, NULL);
	s->sweeping = true;
	if (pthread_create(&s->sweeper, NULL, sweep, s))
		abort(); /* as when memory is out */
}

static void stop_guards(struct server *s)
{
	if (!s->sweeping)
		return;
	pthread_mutex_lock(&s->mu);
	s->sweeping = false;
	pthread_cond_signal(&s->stop);
	pthread_mutex_unlock(&s->mu);
	pthread_join(s->sweeper, NULL);
}

/* Where certificates come from, and what is offered; an empty list without. */
static struct MHD_OptionItem *tls_options(struct server *s,
					  struct MHD_OptionItem *out)
{
	size_t n = 0;

	if (s->tls) {
		tls_serve(auth_tls_material, s->o.auth);
		s->client_ca = auth_client_ca(s->o.auth);
		s->priorities = auth_tls_priorities(s->o.auth);
		out[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_PRIORITIES,
						    0, s->priorities };
		out[n++] = (struct MHD_OptionItem){
			MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, tls_callback()
		};
	}
	if (s->client_ca)
		out[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_TRUST,
						    0, s->client_ca };
	out[n] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
	return out;
}

int server_start(const struct server_options *o, struct server **out,
		 struct err *err)
{
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD |
			 MHD_ALLOW_SUSPEND_RESUME;
	struct MHD_OptionItem tls[TLS_OPTIONS_MAX];
	struct server *s;
	int fd = -1;
	struct regex *cors = NULL;
	int rc = 0;

	if (o->cors_origin)
		rc = regex_new(str_of(o->cors_origin), &cors, NULL, err);
	if (rc)
		return err_wrap(err, rc, "--web.cors.origin");
	rc = listen_on(o->address, &fd, err);
	if (rc) {
		regex_free(cors);
		return rc;
	}
	s = mem_new(struct server);
	s->cors = cors;
	s->o = *o;
	s->port = port_of(fd);
	s->pool = pool_start("query", o->threads,
			     (size_t)o->max_connections + SPARE);
	start_guards(s);
	s->tls = auth_has_tls(o->auth);
	if (s->tls)
		flags |= MHD_USE_TLS;
	s->daemon = MHD_start_daemon(
		flags, 0, NULL, NULL, on_request, s, MHD_OPTION_ARRAY,
		tls_options(s, tls), MHD_OPTION_URI_LOG_CALLBACK, on_target,
		NULL, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		o->max_connections + SPARE, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)(o->read_timeout_ms / 1000),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)PER_IP_MAX,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_END);
	if (!s->daemon) {
		close(fd);
		server_free(s);
		return err_set(err, ERR_IO, "the HTTP server did not start");
	}
	*out = s;
	return 0;
}

unsigned server_port(const struct server *s)
{
	return s->port;
}

void server_stop(struct server *s)
{
	MHD_socket fd;

	if (!s || !s->daemon)
		return;
	fd = MHD_quiesce_daemon(s->daemon);
	/* Handlers end, and resume their connections, before the daemon. */
	pool_stop(s->pool);
	MHD_stop_daemon(s->daemon);
	s->daemon = NULL;
	if (fd != MHD_INVALID_SOCKET)
		close(fd);
}

void server_free(struct server *s)
{
	if (!s)
		return;
	server_stop(s);
	pool_free(s->pool);
	stop_guards(s);
	connections_free(s->connections);
	limiter_free(s->limiter);
	regex_free(s->cors);
	mem_free(s->client_ca);
	mem_free(s->priorities);
	mem_free(s);
}
