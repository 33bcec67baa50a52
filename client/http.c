/* SPDX-License-Identifier: Apache-2.0 */
#include "client/http.h"

#include <curl/curl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"

#define MAX_IDLE_CONNECTIONS 256L
#define CONNECT_TIMEOUT_MS   10000L
#define EVENTS               64

/* One request in flight. */
struct transfer {
	struct http_client *client;
	CURL *easy;
	struct http_response response;
	http_done_fn done;
	void *ctx;
	size_t max_body;
	bool (*sink)(void *ctx, struct bytes b);
	void *sink_ctx;
	int64_t timeout_ms;
	size_t header_bytes;
	char why[CURL_ERROR_SIZE];
	struct curl_slist *headers;
	struct transfer *prev;
	struct transfer *next;
};

/* A descriptor of somebody else. */
struct watch {
	int fd;
	http_watch_fn fn;
	void *ctx;
};

struct http_client {
	CURLM *multi;
	int epoll;
	int wake;
	int64_t deadline_ns; /* of libcurl's timer; 0: none */
	struct transfer *transfers;
	size_t running;
	VEC(struct watch) watches;
};

static pthread_once_t global_once = PTHREAD_ONCE_INIT;

static void global_init(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		abort(); /* out of memory */
}

static int on_socket(CURL *easy UNUSED, curl_socket_t fd, int what, void *arg,
		     void *known)
{
	struct http_client *c = arg;
	struct epoll_event e = { .data.fd = fd };

	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		e.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		e.events |= EPOLLOUT;
	epoll_ctl(c->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e);
	/* Not NULL: the next change of this socket is a modification. */
	curl_multi_assign(c->multi, fd, c);
	return 0;
}

static int on_timer(CURLM *multi UNUSED, long timeout_ms, void *arg)
{
	struct http_client *c = arg;

	c->deadline_ns =
		timeout_ms < 0 ? 0 : clock_mono_ns() + timeout_ms * 1000000;
	return 0;
}

int http_client_new(struct http_client **out, struct err *err)
{
	struct http_client *c = mem_new(struct http_client);
	struct epoll_event e = { .events = EPOLLIN };

	pthread_once(&global_once, global_init);
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->multi = curl_multi_init();
	if (!c->multi)
		abort(); /* out of memory */
	e.data.fd = c->wake;
	if (c->epoll < 0 || c->wake < 0 ||
	    epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->wake, &e) < 0) {
		int rc = err_sys(err, "event loop");

		http_client_free(c);
		return rc;
	}
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, MAX_IDLE_CONNECTIONS);
	*out = c;
	return 0;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;
	long status = 0;

	if (t->sink)
		curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200)
		return t->sink(t->sink_ctx,
			       (struct bytes){ (const uint8_t *)p, size * n }) ?
			       size * n :
			       0;
	buf_add(&t->response.body, p, size * n);
	if (!t->response.body.over)
		return size * n;
	t->response.code = err_set(&t->response.err, ERR_TOOBIG,
				   "the body is larger than %zu bytes",
				   t->max_body);
	return 0;
}

static size_t on_header(char *p UNUSED, size_t size, size_t n, void *arg)
{
	struct transfer *t = arg;

	t->header_bytes += size * n;
	if (t->header_bytes <= HTTP_HEADER_MAX)
		return size * n;
	t->response.code = err_set(&t->response.err, ERR_TOOBIG,
				   "the headers are larger than %d bytes",
				   HTTP_HEADER_MAX);
	return 0;
}

static void set_options(struct transfer *t, const struct http_request *r)
{
	CURL *e = t->easy;

	curl_easy_setopt(e, CURLOPT_URL, r->url);
	curl_easy_setopt(e, CURLOPT_USERAGENT, r->user_agent);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(e, CURLOPT_PROXY, "");
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
			 r->timeout_ms < CONNECT_TIMEOUT_MS ?
				 (long)r->timeout_ms :
				 CONNECT_TIMEOUT_MS);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->why);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(e, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(e, CURLOPT_PRIVATE, t);
}

void http_start(struct http_client *c, const struct http_request *r)
{
	struct transfer *t = mem_new(struct transfer);

	t->client = c;
	t->done = r->done;
	t->ctx = r->ctx;
	t->max_body = r->max_body;
	t->sink = r->sink;
	t->sink_ctx = r->sink_ctx;
	t->timeout_ms = r->timeout_ms;
	t->response.body = buf_init(r->max_body);
	for (const char *const *h = r->headers; h && *h; h++)
		t->headers = curl_slist_append(t->headers, *h);
	t->easy = curl_easy_init();
	if (!t->easy)
		abort(); /* out of memory */
	set_options(t, r);
	t->next = c->transfers;
	if (t->next)
		t->next->prev = t;
	c->transfers = t;
	c->running++;
	curl_multi_add_handle(c->multi, t->easy);
}

/* What a transfer's end means to the caller. */
static void set_result(struct transfer *t, CURLcode result)
{
	struct http_response *r = &t->response;
	const char *why = *t->why ? t->why : curl_easy_strerror(result);

	if (r->code || result == CURLE_OK)
		return;
	switch (result) {
	case CURLE_OPERATION_TIMEDOUT:
		r->code = err_set(&r->err, ERR_TIMEOUT,
				  "no complete answer within %lld ms (%s)",
				  (long long)t->timeout_ms, why);
		break;
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		r->code = err_set(&r->err, ERR_INVALID, "%s", why);
		break;
	default:
		r->code = err_set(&r->err, ERR_AGAIN, "%s", why);
		break;
	}
}

static void transfer_end(struct transfer *t, CURLcode result)
{
	struct http_client *c = t->client;
	struct http_response *r = &t->response;
	char *text = NULL;

	set_result(t, result);
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &r->status);
	curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &text);
	r->content_type = text ? text : "";
	text = NULL;
	curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &text);
	r->location = text ? text : "";
	t->done(t->ctx, r);
	curl_multi_remove_handle(c->multi, t->easy);
	curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	buf_fini(&r->body);
	if (t->prev)
		t->prev->next = t->next;
	else
		c->transfers = t->next;
	if (t->next)
		t->next->prev = t->prev;
	c->running--;
	mem_free(t);
}

static void collect(struct http_client *c)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(c->multi, &left))) {
		struct transfer *t;
		CURLcode result = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
		transfer_end(t, result);
	}
}

static void transfer_cancel(struct transfer *t)
{
	t->response.code = err_set(&t->response.err, ERR_CLOSED, "stopped");
	transfer_end(t, CURLE_OK);
}

void http_cancel(struct http_client *c, const void *ctx)
{
	struct transfer *t = c->transfers;

	while (t) {
		struct transfer *next = t->next;

		if (t->ctx == ctx)
			transfer_cancel(t);
		t = next;
	}
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	while (c->transfers)
		transfer_cancel(c->transfers);
	curl_multi_cleanup(c->multi);
	if (c->epoll >= 0)
		close(c->epoll);
	if (c->wake >= 0)
		close(c->wake);
	vec_fini(&c->watches);
	mem_free(c);
}

/* Milliseconds to wait: the caller's, or until libcurl's timer. */
static int wait_ms(const struct http_client *c, int64_t timeout_ms)
{
	int64_t left = timeout_ms;

	if (c->deadline_ns) {
		int64_t until = c->deadline_ns - clock_mono_ns();
		int64_t ms = until > 0 ? (until + 999999) / 1000000 : 0;

		left = ms < left ? ms : left;
	}
	return (int)(left < 0 ? 0 : left > 60000 ? 60000 : left);
}

static bool call_watch(struct http_client *c, int fd)
{
	for (size_t i = 0; i < c->watches.count; i++) {
		struct watch w = c->watches.v[i];

		if (w.fd != fd)
			continue;
		w.fn(w.ctx);
		return true;
	}
	return false;
}

static void dispatch(struct http_client *c, const struct epoll_event *e)
{
	uint64_t count;
	int flags = 0;
	int running;

	if (e->data.fd == c->wake) {
		if (read(c->wake, &count, sizeof(count)) < 0) {
			/* Somebody else has taken it: awake all the same. */
		}
		return;
	}
	if (call_watch(c, e->data.fd))
		return;
	if (e->events & (EPOLLIN | EPOLLHUP))
		flags |= CURL_CSELECT_IN;
	if (e->events & EPOLLOUT)
		flags |= CURL_CSELECT_OUT;
	if (e->events & EPOLLERR)
		flags |= CURL_CSELECT_ERR;
	curl_multi_socket_action(c->multi, e->data.fd, flags, &running);
}

int64_t http_next_ms(const struct http_client *c, int64_t max_ms)
{
	return wait_ms(c, max_ms);
}

void http_wait(const struct http_client *c, int64_t ms)
{
	struct pollfd p = { .fd = c->epoll, .events = POLLIN };

	(void)poll(&p, 1, (int)ms);
}

void http_poll(struct http_client *c, int64_t timeout_ms)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(c->epoll, events, EVENTS, wait_ms(c, timeout_ms));
	int running;

	for (int i = 0; i < n; i++)
		dispatch(c, &events[i]);
	if (c->deadline_ns && clock_mono_ns() >= c->deadline_ns) {
		c->deadline_ns = 0;
		curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0,
					 &running);
	}
	collect(c);
}

void http_watch(struct http_client *c, int fd, http_watch_fn fn, void *ctx)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	*vec_add(&c->watches) = (struct watch){ fd, fn, ctx };
	epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e);
}

void http_unwatch(struct http_client *c, int fd)
{
	for (size_t i = 0; i < c->watches.count; i++) {
		if (c->watches.v[i].fd != fd)
			continue;
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, fd, NULL);
		c->watches.v[i] = c->watches.v[--c->watches.count];
		return;
	}
}

void http_wake(struct http_client *c)
{
	uint64_t one = 1;

	if (write(c->wake, &one, sizeof(one)) < 0) {
		/* Full: it is awake already. */
	}
}

size_t http_running(const struct http_client *c)
{
	return c->running;
}

static void keep(void *ctx, struct http_response *r)
{
	struct http_response *out = ctx;

	*out = *r;
	out->content_type = "";
	out->location = "";
	r->body = (struct buf){ 0 };
}

void http_get(const struct http_request *request, struct http_response *r)
{
	struct http_request one = *request;
	struct http_client *c = NULL;

	*r = (struct http_response){ 0 };
	r->code = http_client_new(&c, &r->err);
	if (r->code || !c)
		return;
	one.done = keep;
	one.ctx = r;
	http_start(c, &one);
	while (http_running(c)) {
		http_poll(c, request->waiting ? 200 : 1000);
		if (request->waiting)
			request->waiting(request->sink_ctx);
	}
	http_client_free(c);
}

const char *http_status_text(long status)
{
	static const struct {
		long status;
		const char *text;
	} names[] = {
		{ 200, "OK" },
		{ 204, "No Content" },
		{ 301, "Moved Permanently" },
		{ 302, "Found" },
		{ 303, "See Other" },
		{ 304, "Not Modified" },
		{ 307, "Temporary Redirect" },
		{ 308, "Permanent Redirect" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 429, "Too Many Requests" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].status == status)
			return names[i].text;
	}
	return "";
}
