/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the API of a server or of a data directory: URL, HTTP options
 * from a file, progress on a terminal, and errors in the words of the server.
 */
#include "cmd/cli/api_client.h"

#include <inttypes.h>
#include <jansson.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/url.h"
#include "client/address/endpoint.h"
#include "client/transfer/http_config.h"
#include "client/transfer/http_status.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "cmd/cli/database.h"
#include "cmd/cli/http_file.h"
#include "cmd/cli/symbols_helper.h"
#include "cmd/cli/version.h"
#include "model/labels.h"
#include "pprof/columns/columns.h"
#include "web/local.h"

/*
 * Answers of the API in JSON, for the query commands.
 */

int query_ask(struct query *q, json_t **root, json_t **data, struct err *err)
{
	struct http_response r;
	json_t *warning;
	size_t i;
	int rc = query_fetch(q, &r, err);

	*root = NULL;
	if (!rc)
		*root = json_loadb((char *)r.body.ptr, r.body.len,
				   JSON_ALLOW_NUL, NULL);
	if (!rc && !*root)
		rc = err_set(err, ERR_INVALID,
			     "the response to the query is not JSON");
	buf_fini(&r.body);
	if (rc)
		return rc;
	*data = json_object_get(*root, "data");
	json_array_foreach(json_object_get(*root, "warnings"), i, warning)
		console_say("warning: %s", json_string_value(warning));
	return 0;
}

int query_finish(struct query *q, json_t *root, int rc, const struct err *err)
{
	json_decref(root);
	query_fini(q);
	return rc ? cmd_fail(err) : 0;
}

/* Append a JSON object of labels as a selector, heap{job="app"}. */
static void query_labels_text(json_t *labels, struct buf *out)
{
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;
	const char *name;
	json_t *value;

	json_object_foreach(labels, name, value)
		labels_set(&b, str_of(name), str_of(json_string_value(value)));
	if (!labels_build(&b, &ls, NULL))
		labels_text(ls, out);
	labels_unref(ls);
	labels_builder_fini(&b);
}

void query_print_labels(json_t *labels)
{
	struct buf text = { 0 };

	query_labels_text(labels, &text);
	console_text(stdout, str_from(buf_bytes(&text)));
	buf_fini(&text);
}

#define ANSWER_MAX (1024 * MIB) /* maximum bytes of a response body */

static const char default_server[] = "http://127.0.0.1:10902";

struct query query_init(void)
{
	return (struct query){ .server = default_server,
			       .storage = "",
			       .memory = GIB,
			       .timeout_ms = 60000 };
}

void query_fini(struct query *q)
{
	buf_fini(&q->url);
}

/*
 * Slashes at the end of q->server are dropped, because `path` begins with one.
 */
void query_path(struct query *q, const char *path)
{
	size_t n = strlen(q->server);

	if (*q->storage) {
		buf_str(&q->url, path);
		return;
	}
	while (n && q->server[n - 1] == '/')
		n--;
	if (!strstr(q->server, "://"))
		buf_str(&q->url, "http://");
	buf_add(&q->url, q->server, n);
	buf_str(&q->url, path);
}

/*
 * In the URL, "?" precedes the first parameter, and "&" precedes each further
 * one.
 */
void query_param(struct query *q, const char *name, const char *value)
{
	if (!*value)
		return;
	buf_byte(&q->url, memchr(q->url.ptr, '?', q->url.len) ? '&' : '?');
	buf_str(&q->url, name);
	buf_byte(&q->url, '=');
	url_escape(str_of(value), &q->url);
}

/* The state of the progress display of a request, on a terminal. */
struct progress {
	const struct query *q;
	const char *shown_server; /* without password */
	int64_t started_ns;
	uint64_t bytes;
	bool shown;
};

/*
 * Called while the request is in flight. Nothing is shown during the first
 * second, nor if stderr is not a terminal.
 */
static void show_progress(void *ctx)
{
	struct progress *p = ctx;
	int64_t s = (clock_mono_ns() - p->started_ns) / 1000000000;

	if (!s || !isatty(2))
		return;
	fprintf(stderr, "\r\033[Kwaiting for %s, %" PRId64 " s",
		p->shown_server, s);
	if (p->bytes)
		fprintf(stderr, ", %.1f MB", (double)p->bytes / (double)MIB);
	fflush(stderr);
	p->shown = true;
}

/*
 * http_request.sink callback: counts the bytes for the progress display, and
 * passes them to q->sink.
 */
static bool api_client_take_body(void *ctx, struct bytes b)
{
	struct progress *p = ctx;

	p->bytes += b.len;
	return p->q->sink(p->q->sink_ctx, b);
}

/*
 * Explain the status 401: either no credentials were sent, or they are wrong.
 * Returns ERR_INVALID.
 */
static int tell_unauthorized(const struct query *q, const struct http_config *c,
			     struct err *err)
{
	CLEANUP(mem_freep) char *shown = endpoint_url_shown(q->server);

	/* An access token takes precedence over what the address contains. */
	if (strchr(q->server, '@') && !(c && c->auth == HTTP_AUTH_OAUTH2))
		return err_set(
			err, ERR_INVALID,
			"%s does not accept the user and password (401): check them in --server",
			shown);
	if (c && c->auth != HTTP_AUTH_NONE)
		return err_set(
			err, ERR_INVALID,
			"%s does not accept the %s (401): check them in %s",
			shown,
			c->auth == HTTP_AUTH_BASIC ? "user and password" :
						     "credentials",
			q->http_config);
	return err_set(
		err, ERR_INVALID,
		"%s: authentication is required (401): set basic_auth or authorization in %s",
		shown,
		c ? q->http_config : "a file that --http.config.file names");
}

/*
 * Set *err to the error message in the response's JSON body. If there is none,
 * *err names the HTTP status. Returns ERR_INVALID.
 */
static int api_error(struct bytes body, long status, struct err *err)
{
	json_t *root = json_loadb((const char *)body.ptr, body.len, 0, NULL);
	const char *why = json_string_value(json_object_get(root, "error"));

	if (why)
		err_set(err, ERR_INVALID, "%s", why);
	else
		err_set(err, ERR_INVALID,
			"the server returned HTTP status %ld %s", status,
			http_status_text(status));
	json_decref(root);
	return ERR_INVALID;
}

/*
 * Report that the connection failed, with a hint at the usual cause. Returns
 * the error code of the request.
 */
static int tell_transport(const struct query *q, const struct http_response *r,
			  struct err *err)
{
	CLEANUP(mem_freep) char *shown = endpoint_url_shown(q->server);
	const char *hint = "";

	if (strstr(r->err.msg, "this is the proxy"))
		hint = "";
	else if (strstr(r->err.msg, "onnect") && !strstr(r->err.msg, "SSL"))
		hint = ": is an everprof server running at this address (--server)?";
	else if (strstr(r->err.msg, "Empty reply") &&
		 !strncmp(q->server, "http:", 5))
		hint = ": did you mean https?";
	/* It answers without TLS, or closes the connection. */
	else if (strstr(r->err.msg, "wrong version number") ||
		 strstr(r->err.msg, "SSL_ERROR_SYSCALL") ||
		 strstr(r->err.msg, "unexpected eof"))
		hint = ": did you mean http?";
	return err_set(err, r->code, "%s: %s%s", shown, r->err.msg, hint);
}

/*
 * ERR_INVALID: the server is not everprof. This is checked because any web
 * server may answer with status 200, and its page must not be printed as a
 * result (docs/decisions.md, 98).
 */
static int check_server(const struct query *q, const struct http_response *r,
			struct err *err)
{
	CLEANUP(mem_freep) char *shown = endpoint_url_shown(q->server);
	const char *text = http_status_text(r->status);

	if (http_response_header(r, "X-Everprof-Version").len)
		return 0;
	return err_set(
		err, ERR_INVALID,
		"%s answered with HTTP status %ld%s%s, but not as everprof (the response has no X-Everprof-Version header): check the address, and any proxy in between",
		shown, r->status, *text ? " " : "", text);
}

/* Warnings go to stderr, so that they do not mix with the result. */
static void print_warning(struct str warning)
{
	if (warning.len)
		console_say("warning: %.*s", STR_ARG(warning));
}

/*
 * Say which profile the answer is made of. `labels` is a JSON object, and
 * `timestamp` is in ms; they are empty if the answer is not one profile.
 */
static void tell_profile(struct str labels, struct str timestamp)
{
	json_t *object = json_loadb(labels.ptr, labels.len, 0, NULL);
	CLEANUP(buf_fini) struct buf text = { 0 };
	char time[40];
	int64_t ms;

	if (object && str_to_i64(timestamp, &ms)) {
		query_labels_text(object, &text);
		time_format(ms, time);
		console_say("the profile of %s at %s", buf_cstr(&text), time);
	}
	json_decref(object);
}

/* Answer the request from the data directory, without a server. */
static int fetch_local(struct query *q, struct http_response *r,
		       struct err *err)
{
	struct database dir;
	int rc = database_open(&dir, q->storage, true, err);
	struct web_options web = { .db = dir.db,
				   .query_memory = q->memory,
				   .query_timeout_ms = q->timeout_ms,
				   .symbolizer = symbols_helper_new(
					   q->symbols_path, false),
				   .version = EVERPROF_VERSION,
				   .log = &dir.log,
				   .metrics = dir.metrics };
	const struct local_request request = { .target = buf_cstr(&q->url),
					       .sink = q->sink,
					       .sink_ctx = q->sink_ctx };
	struct local_answer answer = { 0 };

	if (!rc)
		rc = local_ask(&web, &request, &answer, err);
	if (!rc && answer.status != 200)
		rc = api_error(buf_bytes(&answer.body), answer.status, err);
	if (!rc)
		print_warning(str_from(buf_bytes(&answer.warning)));
	if (!rc && q->tell_profile)
		tell_profile(str_from(buf_bytes(&answer.labels)),
			     str_from(buf_bytes(&answer.timestamp)));
	buf_fini(&answer.warning);
	buf_fini(&answer.labels);
	buf_fini(&answer.timestamp);
	*r = (struct http_response){ .status = answer.status,
				     .body = answer.body };
	database_close(&dir);
	symbolizer_free(web.symbolizer);
	return rc;
}

/* ERR_INVALID: flags for a server and for a data directory were both given. */
static int check_way(const struct query *q, struct err *err)
{
	if (!*q->storage ||
	    (!strcmp(q->server, default_server) && !q->http_config))
		return 0;
	return err_set(
		err, ERR_INVALID,
		"--storage.tsdb.path cannot be combined with --server or --http.config.file");
}

/* Send the request to the server; `config` is borrowed and may be NULL. */
static int fetch_remote(struct query *q, struct http_config *config,
			struct http_response *r, struct err *err)
{
	CLEANUP(mem_freep) char *shown = endpoint_url_shown(q->server);
	struct progress p = { .q = q,
			      .shown_server = shown,
			      .started_ns = clock_mono_ns() };
	struct http_request request = {
		.url = buf_cstr(&q->url),
		.config = config,
		.timeout_ms = q->timeout_ms,
		.max_body = ANSWER_MAX,
		.user_agent = EVERPROF_USER_AGENT,
		.post = q->post && !q->body.ptr ? "" : NULL,
		.body = q->body,
		.sink = q->sink ? api_client_take_body : NULL,
		.keep_headers = true,
		.waiting = show_progress,
		.sink_ctx = &p,
	};

	int rc;

	http_get(&request, r);
	if (p.shown)
		fprintf(stderr, "\r\033[K");
	if (r->code)
		rc = tell_transport(q, r, err);
	else
		rc = check_server(q, r, err);
	if (!rc && r->status == 401)
		rc = tell_unauthorized(q, config, err);
	else if (!rc && r->status != 200 && !(q->post && r->status == 204))
		rc = api_error(buf_bytes(&r->body), r->status, err);
	if (!rc)
		print_warning(http_response_header(r, "X-Everprof-Warning"));
	if (!rc && q->tell_profile)
		tell_profile(http_response_header(r, "X-Everprof-Labels"),
			     http_response_header(r, "X-Everprof-Timestamp"));
	/* The caller frees only the body, so the headers are freed here. */
	buf_fini(&r->headers);
	return rc;
}

int query_fetch(struct query *q, struct http_response *r, struct err *err)
{
	struct http_config *config = NULL;
	int rc = check_way(q, err);

	*r = (struct http_response){ 0 };
	if (rc)
		return rc;
	if (*q->storage)
		return fetch_local(q, r, err);
	rc = http_file_load(q->http_config, &config, err);
	if (!rc)
		rc = fetch_remote(q, config, r, err);
	http_config_unref(config);
	return rc;
}

int query_check_server(const struct query *from, struct http_config *config,
		       struct err *err)
{
	struct query q = *from;
	struct http_response r = { 0 };
	int rc;

	q.url = (struct buf){ 0 };
	query_path(&q, "/api/v1/status/buildinfo");
	rc = fetch_remote(&q, config, &r, err);
	buf_fini(&r.body);
	query_fini(&q);
	/* 403: the credentials are accepted, but not for reading. */
	return rc == ERR_INVALID && r.status != 403 ? rc : 0;
}
