/* SPDX-License-Identifier: Apache-2.0 */
#include "web/http/exchange.h"

#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/url.h"
#include "web/http/route.h"

/*
 * limit on the memory of the bodies of all requests that are not answered yet,
 * in bytes
 */
#define FORMS_MAX (32 * MIB)

/*
 * Limit on the memory of the bodies of requests whose password is not verified
 * yet, in bytes. It is separate from FORMS_MAX, so that strangers cannot
 * exhaust the memory for verified clients (docs/decisions.md, 79).
 */
#define STRANGE_FORMS_MAX (8 * MIB)

/*
 * Chunks cost time, however small they are. A chunked body may have this many,
 * and one more for each 16 bytes.
 */
#define PIECES_FREE 1024
#define PIECE_BYTES 16

/* The part of either limit that the bodies of one client may take. */
#define FORMS_SHARE_OF(max) ((max) / 4 * 3)

/*
 * Callback for each parameter of the URL: add it to the request. A parameter
 * with a NUL makes the request invalid, because the text would end at the NUL
 * for C functions.
 */
static enum MHD_Result on_argument(void *ctx, enum MHD_ValueKind kind UNUSED,
				   const char *key, size_t key_len,
				   const char *value, size_t value_len)
{
	struct exchange *x = ctx;

	x->bad |= memchr(key, 0, key_len) ||
		  (value_len && memchr(value, 0, value_len));
	x->wordy |= !params_add(
		&x->request.params, &x->request.arena,
		arena_str(&x->request.arena,
			  (struct str){ .ptr = key, .len = key_len }),
		arena_str(&x->request.arena,
			  (struct str){ .ptr = value ? value : "",
					.len = value_len }));
	return MHD_YES;
}

/*
 * Take n bytes for the body, from what all clients and this client may use.
 * Returns false, and takes nothing, if one of both is used up.
 */
static bool exchange_take_form(struct exchange *x, int64_t n)
{
	struct server *s = x->server;
	struct client *c = x->client;
	int64_t max = x->unverified ? STRANGE_FORMS_MAX : FORMS_MAX;

	x->form_pool = x->unverified ? &s->strange_forms : &s->forms;
	x->form_share = x->unverified ? &c->strange_forms : &c->forms;
	if (atomic_fetch_add(x->form_pool, n) + n <= max) {
		if (atomic_fetch_add(x->form_share, n) + n <=
		    FORMS_SHARE_OF(max)) {
			x->form_taken += n;
			return true;
		}
		atomic_fetch_sub(x->form_share, n);
	}
	atomic_fetch_sub(x->form_pool, n);
	return false;
}

bool exchange_has_message(const struct exchange *x)
{
	return x->route && (x->route->kind == ROUTE_BODY ||
			    x->route->kind == ROUTE_MESSAGE);
}

uint64_t exchange_drop_max(const struct exchange *x)
{
	return 4 * (x->route && x->route->kind == ROUTE_BODY ?
			    (uint64_t)x->server->o.max_body :
			    SERVER_BODY_MAX);
}

bool exchange_count(struct exchange *x, size_t len)
{
	x->received += len;
	x->pieces++;
	return x->framing != FRAMING_CHUNKED ||
	       (x->received <= exchange_drop_max(x) &&
		x->pieces <= PIECES_FREE + x->received / PIECE_BYTES);
}

void exchange_add(struct exchange *x, const char *data, size_t len)
{
	if (x->crowded || x->form.over)
		return;
	x->crowded = !exchange_take_form(x, (int64_t)len);
	if (!x->crowded)
		buf_add(&x->form, data, len);
}

/*
 * Move the first `n` parameters (from the URL) after the others (from the
 * form), so that a parameter of the form takes precedence over a parameter of
 * the URL with the same name, as in Go.
 */
static void move_ahead(struct request *r, size_t n)
{
	struct query_param *first =
		arena_array(&r->arena, struct query_param, r->params.count);
	size_t rest = r->params.count - n;

	memcpy(first, r->params.v + n, rest * sizeof(*first));
	memcpy(first + rest, r->params.v, n * sizeof(*first));
	r->params.v = first;
}

/*
 * Whether the body is a form: Content-Type says so, or there is no
 * Content-Type.
 */
static bool is_form(struct exchange *x)
{
	static const char form[] = "application/x-www-form-urlencoded";
	const char *type = exchange_header(x, "Content-Type");

	return !*type || !strncasecmp(type, form, sizeof(form) - 1);
}

void exchange_parse_form(struct exchange *x)
{
	struct str body = str_from(buf_bytes(&x->form));
	size_t of_url = x->request.params.count;
	bool sound = url_is_sound(body);
	bool form = !body.len || is_form(x);

	if (sound && form)
		x->wordy |= !params_add_form(&x->request.params,
					     &x->request.arena, body);
	/*
	 * The body is freed, but its bytes stay counted in form_pool until the
	 * exchange is freed: they now stand for the decoded parameters, which
	 * need about as much memory.
	 */
	buf_fini(&x->form);
	if (!form)
		exchange_refuse(
			x, ERR_INVALID,
			"unsupported request body: its Content-Type must be "
			"application/x-www-form-urlencoded");
	else if (!sound)
		exchange_refuse(x, ERR_INVALID, EXCHANGE_UNSOUND);
	else if (x->wordy)
		exchange_refuse(x, ERR_TOOBIG,
				"the request has more than 1000 parameters");
	else if (x->request.params.count > of_url)
		move_ahead(&x->request, of_url);
}

const char *exchange_header(struct exchange *x, const char *name)
{
	const char *v = MHD_lookup_connection_value(x->connection,
						    MHD_HEADER_KIND, name);

	return v ? v : "";
}

/*
 * Store in the exchange what on_target() has recorded about the target, and
 * check the framing.
 */
static void exchange_take_target(struct exchange *x, const char *method,
				 const char *version)
{
	const struct connection_target *t =
		connection_target(exchange_connection(x->connection));

	x->bad = !t || !t->sound;
	x->framing = framing_of(x->connection, method, t, version);
	/*
	 * libmicrohttpd takes more for a chunk than a proxy may do. Nothing that
	 * is behind such a body is read as a request.
	 */
	x->closes = x->framing == FRAMING_CHUNKED;
}

/*
 * Whether an Accept-Encoding header accepts an encoding: the header lists it,
 * with a weight other than 0 (RFC 9110, 12.5.3).
 */
static bool exchange_accepts(const char *header, const char *encoding)
{
	struct str rest = str_of(header);

	while (rest.len) {
		struct str item = str_cut(rest, ',', &rest);
		struct str weight;
		struct str name = str_trim(str_cut(item, ';', &weight));
		double q;

		if (!str_is_nocase(name, encoding))
			continue;
		weight = str_trim(weight);
		if (!str_starts(weight, str_of("q=")))
			return true;
		weight.ptr += 2;
		weight.len -= 2;
		return str_to_double(str_trim(weight), &q) && q > 0;
	}
	return false;
}

/* Set the members of the request that the handlers of sessions need. */
static void exchange_take_session(struct exchange *x)
{
	struct request *r = &x->request;
	const char *cookie = MHD_lookup_connection_value(
		x->connection, MHD_COOKIE_KIND, x->server->session_cookie);

	r->who = &x->who;
	r->origin = exchange_header(x, "Origin");
	r->session_cookie = x->server->session_cookie;
	r->session = cookie ? cookie : "";
}

struct exchange *exchange_new(struct server *s, struct MHD_Connection *c,
			      const char *path, const char *method,
			      const char *version)
{
	struct exchange *x = mem_new(struct exchange);
	struct request *r = &x->request;
	const char *encodings;

	x->server = s;
	x->connection = c;
	x->started_ns = clock_mono_ns();
	x->form = buf_init(SERVER_BODY_MAX);
	x->client = clients_get(s->clients, exchange_address(c));
	x->answer.work.memory = &x->client->memory;
	x->answer.work.output = &x->answer.body;
	x->answer.body = buf_init((size_t)s->o.memory->max);
	r->method = arena_str(&r->arena, str_of(method));
	r->path = arena_str(&r->arena, str_of(path));
	r->if_none_match = exchange_header(x, "If-None-Match");
	r->range = exchange_header(x, "Range");
	encodings = exchange_header(x, "Accept-Encoding");
	r->accepts_gzip = exchange_accepts(encodings, "gzip") ||
			  exchange_accepts(encodings, "x-gzip");
	r->accepts_brotli = exchange_accepts(encodings, "br");
	r->accepts_html = strstr(exchange_header(x, "Accept"), "text/html");
	r->has_ui = x->server->o.pages;
	r->peer = client_text(exchange_address(c), &r->arena);
	r->user_agent = exchange_header(x, "User-Agent");
	r->accept = exchange_header(x, "Accept");
	r->connect_timeout = exchange_header(x, "Connect-Timeout-Ms");
	r->mcp_version = exchange_header(x, "MCP-Protocol-Version");
	r->mcp_method = exchange_header(x, "Mcp-Method");
	r->mcp_name = exchange_header(x, "Mcp-Name");
	r->is_go = str_starts(str_of(r->user_agent), str_of("Go-http-client/"));
	exchange_take_target(x, method, version);
	MHD_get_connection_values_n(c, MHD_GET_ARGUMENT_KIND, on_argument, x);
	r->content_type = exchange_header(x, "Content-Type");
	r->content_encoding = exchange_header(x, "Content-Encoding");
	r->content_digest = exchange_header(x, "Content-Digest");
	exchange_take_session(x);
	if (s->o.pages)
		x->route =
			route_find(s->o.pages, r->method, r->path, &r->segment);
	if (!x->route)
		x->route = route_find(s->o.routes, r->method, r->path,
				      &r->segment);
	return x;
}

void exchange_free(struct exchange *x)
{
	if (x->answer.stream.free)
		x->answer.stream.free(x->answer.stream.ctx);
	query_release(&x->answer.work);
	buf_fini(&x->chunk);
	buf_fini(&x->answer.body);
	buf_fini(&x->form);
	ingest_limiter_release(&x->request.share);
	if (x->form_pool) {
		atomic_fetch_sub(x->form_pool, x->form_taken);
		atomic_fetch_sub(x->form_share, x->form_taken);
	}
	clients_put(x->server->clients, x->client);
	arena_fini(&x->request.arena);
	mem_free(x);
}

void exchange_refuse(struct exchange *x, int code, const char *why)
{
	struct err err;

	err_set(&err, code, "%s", why);
	exchange_fail(x, &err);
}

void exchange_fail(struct exchange *x, const struct err *err)
{
	x->server->o.fail(x->server->o.ctx, &x->request, x->route, &x->answer,
			  err);
}

struct connection *exchange_connection(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

const struct sockaddr *exchange_address(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return info ? info->client_addr : NULL;
}

void exchange_turn(struct exchange *x, enum connection_state state)
{
	connection_turn(x->server->connections,
			exchange_connection(x->connection), state);
}
