/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transfer/transfer.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/address/endpoint.h"
#include "client/transfer/easy.h"
#include "client/transfer/oauth2.h"
#include "client/transfer/said.h"
#include "client/transfer/transfer_list.h"
#include "client/transfer/transfer_receive.h"

#define CONNECT_TIMEOUT_MS 10000L /* time limit for connecting, in ms */
/* limit on the redirects of a request, as in Go */
#define REDIRECTS_MAX 10

/*
 * Return the time in ms until the request's deadline. The result is at least
 * 1, because for libcurl 0 means no timeout.
 */
static long left_ms(const struct transfer *t)
{
	int64_t left = (t->deadline_ns - clock_mono_ns()) / 1000000;

	return left > 0 ? (long)left : 1;
}

/*
 * Open the socket for an address that libcurl is about to connect to. libcurl
 * calls this for every connection, so refused networks are enforced here.
 */
static curl_socket_t on_open(void *arg, curlsocktype purpose UNUSED,
			     struct curl_sockaddr *a)
{
	struct transfer *t = arg;

	if (networks_hold(t->client->refused, &a->addr)) {
		t->barred = true;
		return CURL_SOCKET_BAD;
	}
	t->barred = false;
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* Set a binary body, which libcurl does not copy. */
static void set_body(CURL *e, struct bytes body)
{
	curl_easy_setopt(e, CURLOPT_POSTFIELDS, body.ptr);
	curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
}

/* Set all options of libcurl's new handle for the transfer's current URL. */
static void set_options(struct transfer *t)
{
	CURL *e = t->easy;
	const long left = left_ms(t);

	curl_easy_setopt(e, CURLOPT_URL, t->url);
	curl_easy_setopt(e, CURLOPT_USERAGENT, t->user_agent);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	/*
	 * libcurl must not read the environment by itself; easy_set_config()
	 * sets the proxy that the configuration asks for.
	 */
	curl_easy_setopt(e, CURLOPT_PROXY, "");
	curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, t->unix_socket);
	curl_easy_setopt(e, CURLOPT_NOPROXY, "");
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, left);
	t->connect_ms = left < CONNECT_TIMEOUT_MS ? left : CONNECT_TIMEOUT_MS;
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, t->connect_ms);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->why);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, transfer_on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, transfer_on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(e, CURLOPT_PRIVATE, t);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, t);
	if (t->post)
		curl_easy_setopt(e, CURLOPT_POSTFIELDS, t->post);
	if (t->method)
		curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, t->method);
	if (t->body.ptr)
		set_body(e, t->body);
	easy_set_config(t);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, t->headers);
}

/*
 * Free libcurl's handle and the lists that it refers to. Every redirect gets a
 * new handle, so that no option of the previous URL remains.
 */
static void handle_drop(struct transfer *t)
{
	if (t->easy) {
		curl_multi_remove_handle(t->client->multi, t->easy);
		curl_easy_cleanup(t->easy);
	}
	curl_slist_free_all(t->headers);
	curl_slist_free_all(t->proxy_headers);
	curl_slist_free_all(t->connect_to);
	curl_slist_free_all(t->resolve);
	t->easy = NULL;
	t->headers = NULL;
	t->proxy_headers = NULL;
	t->connect_to = NULL;
	t->resolve = NULL;
}

/*
 * Mark a transfer as failed. The next http_poll() ends the transfer, so that
 * no callback runs inside of transfer_start().
 */
static void transfer_fail(struct transfer *t, const struct err *err)
{
	t->response.err = *err;
	t->response.code = err->code;
	t->ended = true;
	t->client->ended++;
}

/*
 * Set the loop's waiting_ns to the transfer's deadline, unless waiting_ns is
 * already earlier. Called when the transfer waits for a token or an address,
 * because libcurl does not watch its deadline during this time.
 */
static void wait_for_others(struct transfer *t)
{
	struct http_client *c = t->client;

	if (!c->waiting_ns || t->deadline_ns < c->waiting_ns)
		c->waiting_ns = t->deadline_ns;
}

void transfers_expire(struct http_client *c)
{
	int64_t now = clock_mono_ns();

	if (!c->waiting_ns || now < c->waiting_ns)
		return;
	c->waiting_ns = 0;
	for (struct transfer *t = c->transfers; t; t = t->next) {
		struct err err;

		if (t->ended || !(t->asking || t->finding))
			continue;
		if (now < t->deadline_ns) {
			wait_for_others(t);
			continue;
		}
		err_set(&err, ERR_TIMEOUT,
			"no complete response within %lld ms (%s)",
			(long long)t->timeout_ms,
			t->finding ? "the host name is still being resolved" :
				     "waiting for an OAuth 2.0 token");
		transfer_fail(t, &err);
	}
}

/*
 * Hand the transfer to libcurl. `addresses` are the addresses of t->name, or
 * NULL if t->name is NULL.
 */
static void transfer_go_on(struct transfer *t, const char *addresses)
{
	t->easy = curl_easy_init();
	if (!t->easy)
		abort(); /* out of memory */
	set_options(t);
	if (t->name) {
		/*
		 * The "+" lets the entry expire from libcurl's DNS cache like
		 * an entry that libcurl has looked up itself; without the "+"
		 * it would stay forever.
		 */
		char *line =
			mem_printf("+%s:%s:%s", t->name, t->port, addresses);

		t->resolve = curl_slist_append(NULL, line);
		curl_easy_setopt(t->easy, CURLOPT_RESOLVE, t->resolve);
		mem_free(line);
	}
	curl_multi_add_handle(t->client->multi, t->easy);
}

/* Called by the resolver with the addresses of t->name. */
static void on_addresses(void *ctx, const char *addresses,
			 const struct err *err)
{
	struct transfer *t = ctx;

	t->finding = false;
	if (t->ended)
		return; /* the transfer's deadline has passed meanwhile */
	if (addresses)
		transfer_go_on(t, addresses);
	else
		transfer_fail(t, err);
}

/*
 * Start the transfer to its current URL: at first, and again after each
 * redirect. Data of the previous response are dropped.
 */
static void transfer_launch(struct transfer *t)
{
	struct err err;

	handle_drop(t);
	t->header_bytes = 0;
	*t->why = 0;
	t->wants = 0;
	buf_fini(&t->response.body);
	buf_reset(&t->response.headers);
	ingest_limiter_release(&t->response.share);
	t->response.body = buf_init(t->max_body);
	if (easy_route(t, &err)) {
		transfer_fail(t, &err);
		return;
	}
	if (!t->name) {
		transfer_go_on(t, NULL);
		return;
	}
	t->finding = true;
	wait_for_others(t);
	resolver_ask(t->client->resolver, t->name, on_addresses, t);
}

/* Called by oauth2_ask() with a token or an error. */
static void on_token(void *ctx, const char *value, const struct err *err)
{
	struct transfer *t = ctx;

	t->asking = false;
	if (t->ended)
		return; /* the transfer's deadline has passed meanwhile */
	if (err) {
		transfer_fail(t, err);
		return;
	}
	t->token = mem_strdup(value);
	transfer_launch(t);
}

/* Copy a text that may be NULL. */
static char *copy_of(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

/*
 * Set t->url to the request's URL without user and password. User and password
 * are meant only for the host in this URL and must not appear in a redirect or
 * a message (docs/decisions.md, 80).
 */
static void set_url(struct transfer *t, const struct http_request *r)
{
	t->url = endpoint_split_user(r->url, &t->username, &t->password);
	if (!t->url)
		t->url = mem_strdup(r->url);
	if (!r->username)
		return;
	mem_free(t->username);
	mem_forget(t->password);
	t->username = mem_strdup(r->username);
	t->password = copy_of(r->password);
}

/*
 * Create a transfer from a request, copy its strings and put the transfer
 * at the front of the client's list.
 */
static struct transfer *transfer_new(struct http_client *c,
				     const struct http_request *r)
{
	struct transfer *t = mem_new(struct transfer);

	t->client = c;
	t->done = r->done;
	t->ctx = r->ctx;
	t->max_body = r->max_body;
	t->max_body_name = r->max_body_name;
	t->keep_headers = r->keep_headers;
	t->sink = r->sink;
	t->sink_ctx = r->sink_ctx;
	t->timeout_ms = r->timeout_ms;
	t->deadline_ns = clock_mono_ns() + r->timeout_ms * 1000000;
	t->user_agent = mem_strdup(r->user_agent);
	t->unix_socket = copy_of(r->unix_socket);
	t->post = copy_of(r->post);
	t->is_http2 = r->is_http2;
	t->has_secret = r->has_secret;
	t->method = copy_of(r->method);
	t->aws_scope = copy_of(r->aws_scope);
	t->body = r->body;
	set_url(t, r);
	t->config = r->config ? http_config_ref(r->config) : NULL;
	for (const char *const *h = r->headers; h && *h; h++)
		t->own = curl_slist_append(t->own, *h);
	transfer_list_add(t);
	return t;
}

/*
 * The configuration's files are loaded here, before every request, so that a
 * changed password file needs no reload of the configuration.
 */
void transfer_start(struct http_client *c, const struct http_request *r)
{
	struct transfer *t = transfer_new(c, r);
	struct err err;

	if ((t->config && http_config_load(t->config, &err)) ||
	    easy_check_headers(t, &err)) {
		transfer_fail(t, &err);
	} else if (t->config && t->config->auth == HTTP_AUTH_OAUTH2) {
		t->asking = true;
		wait_for_others(t);
		oauth2_ask(t->config->oauth2, t->config, c, r, on_token, t);
	} else {
		transfer_launch(t);
	}
}

/* Set the error of a request that took too long. */
static void set_timed_out(struct transfer *t, const char *why)
{
	struct http_response *r = &t->response;
	curl_off_t connected = 0;

	/* The time until the request could be sent; 0: it never could. */
	curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
	if (t->wants)
		r->code = err_set(
			&r->err, ERR_TIMEOUT,
			"no complete response within %lld ms (everprof had no memory left for the response: too much of %s is in use)",
			(long long)t->timeout_ms, t->client->limiter_name);
	else
		r->code = err_set(
			&r->err, ERR_TIMEOUT, "%s within %lld ms (%s)",
			connected ? "no complete response" : "no connection",
			connected ? (long long)t->timeout_ms : t->connect_ms,
			why);
}

/*
 * Translate libcurl's result to an error code and message. If a callback in
 * this program has aborted the transfer, the callback's error is kept, because
 * libcurl knows only that a callback aborted.
 */
static void set_result(struct transfer *t, CURLcode result)
{
	struct http_response *r = &t->response;
	const char *why = *t->why ? t->why : curl_easy_strerror(result);

	if (r->code || result == CURLE_OK)
		return;
	if (t->barred && result == CURLE_COULDNT_CONNECT) {
		r->code = err_set(
			&r->err, ERR_DENIED,
			"the address to connect to is in a refused network (--scrape.refused-networks)");
		return;
	}
	if (t->unix_socket && result == CURLE_COULDNT_CONNECT) {
		r->code = easy_socket_error(t, &r->err);
		return;
	}
	switch (result) {
	case CURLE_OPERATION_TIMEDOUT:
		set_timed_out(t, why);
		break;
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		r->code = err_set(&r->err, ERR_INVALID, "%s", why);
		break;
	default:
		r->code = easy_transfer_error(t, result, why, &r->err);
		break;
	}
}

/* Free a transfer and wipe its secrets. */
static void transfer_free(struct transfer *t)
{
	handle_drop(t);
	curl_slist_free_all(t->own);
	buf_fini(&t->response.headers);
	buf_fini(&t->response.body);
	ingest_limiter_release(&t->response.share);
	mem_forget(t->proxy);
	mem_free(t->name);
	mem_free(t->port);
	mem_free(t->url);
	mem_free(t->user_agent);
	mem_free(t->unix_socket);
	mem_forget(t->post);
	mem_free(t->method);
	mem_free(t->aws_scope);
	mem_free(t->username);
	mem_forget(t->password);
	mem_forget(t->token);
	http_config_unref(t->config);
	transfer_list_remove(t);
	mem_free(t);
}

/* Return whether the request contained a secret that the server could echo. */
static bool sent_secret(const struct transfer *t)
{
	return t->has_secret || t->username || t->token ||
	       (t->redirects && endpoint_url_has_secret(str_of(t->url))) ||
	       (t->proxy && strchr(t->proxy, '@')) ||
	       (t->config && (t->config->auth || t->config->headers.count ||
			      t->config->proxy_headers.count));
}

/* Set response.said for an error response. */
static void note_said(struct transfer *t)
{
	struct http_response *r = &t->response;

	if (r->status >= 400 && !sent_secret(t))
		said_copy(r->content_type, buf_bytes(&r->body), r->said,
			  sizeof(r->said));
}

/* Add to an error that redirects led to another URL. */
static void note_redirect(struct transfer *t)
{
	struct err *err = &t->response.err;
	CLEANUP(mem_freep) char *shown = endpoint_url_shown(t->url);

	err_wrap(err, err->code, "redirected to %s", shown);
}

void transfer_end(struct transfer *t, CURLcode result)
{
	struct http_response *r = &t->response;
	char *type = NULL;
	char *location = easy_location_shown(t);
	curl_off_t ready_us = 0;

	if (t->ended)
		t->client->ended--;
	if (t->asking)
		oauth2_forget(t->config->oauth2, t);
	if (t->finding)
		resolver_forget(t->client->resolver, t->name, t);
	set_result(t, result);
	if (r->code && t->redirects)
		note_redirect(t);
	if (t->easy) {
		curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &r->status);
		curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
		curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T,
				  &ready_us);
	}
	r->connected = ready_us > 0 || r->status;
	r->content_type = type ? type : "";
	r->location = location ? location : "";
	r->unfollowed = easy_unfollowed(t);
	note_said(t);
	/*
	 * The server has refused the token, so the next request fetches a new
	 * one. This request is not repeated.
	 */
	if (r->status == 401 && t->token)
		oauth2_expire(t->config->oauth2);
	t->done(t->ctx, r);
	mem_free(location);
	transfer_free(t);
}

/* A redirect does not extend the deadline of the request. */
bool transfer_follow(struct transfer *t)
{
	char *url = easy_redirect(t);
	struct err err;

	if (!url)
		return false;
	if (++t->redirects > REDIRECTS_MAX) {
		err_set(&err, ERR_INVALID, "stopped after %d redirects",
			REDIRECTS_MAX);
		t->response.err = err;
		t->response.code = err.code;
		mem_free(url);
		return false;
	}
	/*
	 * Credentials stay withheld even if a later redirect leads back to the
	 * origin (scheme, host, port) of the request.
	 */
	t->foreign |= !endpoint_same_origin(t->url, url);
	mem_free(t->url);
	t->url = url;
	transfer_launch(t);
	return true;
}

void transfer_cancel(struct transfer *t)
{
	t->response.code = err_set(&t->response.err, ERR_CLOSED,
				   "everprof is shutting down");
	transfer_end(t, CURLE_OK);
}
