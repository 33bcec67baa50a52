/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transfer/http.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/transfer/transfer.h"
#include "client/transfer/transfer_list.h"

#define MAX_IDLE_CONNECTIONS 256L /* idle connections kept for reuse */
/* number of events taken from epoll at once */
#define EVENTS 64

/* libcurl must be initialised once per process. */
static pthread_once_t global_once = PTHREAD_ONCE_INIT;

/* Initialise libcurl. It fails only for lack of memory. */
static void global_init(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		abort(); /* out of memory */
}

/*
 * Called by libcurl to change the events for which a socket is watched. `known`
 * is the pointer that curl_multi_assign() has stored for the socket, NULL for a
 * new socket.
 */
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
	/*
	 * Store any pointer but NULL, so that the next call for this socket
	 * uses EPOLL_CTL_MOD.
	 */
	curl_multi_assign(c->multi, fd, c);
	return 0;
}

/* Called by libcurl to set its only timer; http_poll() checks the timer. */
static int on_timer(CURLM *multi UNUSED, long timeout_ms, void *arg)
{
	struct http_client *c = arg;

	c->deadline_ns =
		timeout_ms < 0 ? 0 : clock_mono_ns() + timeout_ms * 1000000;
	return 0;
}

/* Called in the thread of a lookup that has finished. */
static void on_resolved(void *ctx)
{
	http_wake(ctx);
}

int http_client_new(struct http_client **out, struct err *err)
{
	struct http_client *c = mem_new(struct http_client);
	struct epoll_event e = { .events = EPOLLIN };

	pthread_once(&global_once, global_init);
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->resolver = resolver_new(on_resolved, c);
	c->multi = curl_multi_init();
	if (!c->multi)
		abort(); /* out of memory */
	/*
	 * epoll identifies events by descriptor: the eventfd, watched
	 * descriptors and libcurl's sockets share one epoll.
	 */
	e.data.fd = c->wake;
	if (c->epoll < 0 || c->wake < 0 ||
	    epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->wake, &e) < 0) {
		int rc = err_sys(
			err, "cannot create the event loop of the HTTP client");

		http_client_free(c);
		return rc;
	}
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, MAX_IDLE_CONNECTIONS);
	/*
	 * HTTP/2 could carry several requests on one connection at the same
	 * time. This is switched off, because the connection may be a tunnel
	 * that the proxy has opened for the credentials of one of the requests.
	 */
	curl_multi_setopt(c->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	*out = c;
	return 0;
}

void http_client_refuse(struct http_client *c, const struct networks *n)
{
	c->refused = n;
}

/*
 * Take from libcurl the transfers that have ended. For each of them, follows
 * the redirect in its response or reports the result.
 */
static void http_collect(struct http_client *c)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(c->multi, &left))) {
		struct transfer *t;
		CURLcode result = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
		if (result != CURLE_OK || !transfer_follow(t))
			transfer_end(t, result);
	}
}

/*
 * Return the paused transfer to resume after `last`, or NULL. Transfers that
 * want less memory are resumed first, and older transfers first among those
 * that want the same amount. `last` is the transfer that was resumed last (NULL
 * at first), and `above` the number of bytes that it wanted.
 */
static struct transfer *next_waiting(struct http_client *c, size_t above,
				     const struct transfer *last)
{
	struct transfer *best = NULL;
	bool newer = last != NULL;

	for (struct transfer *t = c->transfers; t; t = t->next) {
		/*
		 * The list has the newest transfer first. Transfers before
		 * `last` in the list are newer than `last`, so they come
		 * after it in the order of resuming.
		 */
		newer &= t != last;
		if (!t->wants ||
		    !(t->wants > above || (t->wants == above && newer)))
			continue;
		if (!best || t->wants <= best->wants)
			best = t;
	}
	return best;
}

/* Resume a paused transfer, for which the limiter has granted memory. */
static void go_on(struct transfer *t)
{
	t->wants = 0;
	/* This calls transfer_on_body(), which may pause the transfer again. */
	(void)curl_easy_pause(t->easy, CURLPAUSE_CONT);
}

/*
 * Resume paused transfers, smallest first, for as long as the limiter has
 * room. The first refusal ends the loop, because the limiter is unlikely to
 * accept a larger transfer. The remaining transfers are tried after the next
 * http_room().
 */
static void http_resume(struct http_client *c)
{
	struct transfer *t = NULL;
	size_t above = 0;

	while ((t = next_waiting(c, above, t))) {
		above = t->wants;
		if (!ingest_limiter_take(c->limiter, &t->response.share,
					 (int64_t)t->wants))
			return;
		go_on(t);
	}
}

/*
 * End transfers that failed before libcurl received them. They do not end in
 * transfer_start(), so that a callback never runs inside of the call that started
 * its request.
 */
static void end_failed(struct http_client *c)
{
	struct transfer *t = c->transfers;

	while (t && c->ended) {
		struct transfer *next = t->next;

		if (t->ended)
			transfer_end(t, CURLE_OK);
		/*
		 * Callbacks may have added transfers to the front of the list.
		 * If such a transfer has failed, it ends in the next
		 * http_poll().
		 */
		t = next;
	}
}

void http_cancel(struct http_client *c, const void *ctx)
{
	transfer_list_visit(c, ctx, transfer_cancel);
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	/*
	 * Transfers are freed first, because they refer to the resolver and to
	 * libcurl's multi handle.
	 */
	while (c->transfers)
		transfer_cancel(c->transfers);
	resolver_free(c->resolver);
	curl_multi_cleanup(c->multi);
	if (c->epoll >= 0)
		close(c->epoll);
	if (c->wake >= 0)
		close(c->wake);
	vec_fini(&c->watches);
	mem_free(c);
}

/*
 * Return the milliseconds until the time `moment_ns`, but at most `ms`. The
 * result is rounded up, so that the loop does not spin. If `moment_ns` is 0,
 * returns `ms`.
 */
static int64_t http_time_until(int64_t moment_ns, int64_t ms)
{
	int64_t left = moment_ns - clock_mono_ns();

	if (!moment_ns)
		return ms;
	left = left > 0 ? (left + 999999) / 1000000 : 0;
	return left < ms ? left : ms;
}

/*
 * Return for how many milliseconds to wait for events: until `timeout_ms`,
 * libcurl's timer, the first deadline in waiting_ns or the resolver's next
 * check, whichever comes first.
 */
static int wait_ms(const struct http_client *c, int64_t timeout_ms)
{
	int64_t left = c->ended || atomic_load(&c->room) ? 0 : timeout_ms;

	left = http_time_until(c->deadline_ns, left);
	left = http_time_until(c->waiting_ns, left);
	left = http_time_until(resolver_due_ns(c->resolver), left);
	return (int)(left < 0 ? 0 : left > 60000 ? 60000 : left);
}

/*
 * Call the callback of a watched descriptor. Returns false if the descriptor
 * is not watched, which means that it is a socket of libcurl. The entry is
 * copied, because the callback may call http_unwatch().
 */
static bool call_watch(struct http_client *c, const struct epoll_event *e)
{
	unsigned ready = e->events & EPOLLOUT ? HTTP_WRITABLE : 0;

	if (e->events & ~(uint32_t)EPOLLOUT)
		ready |= HTTP_READABLE;
	for (size_t i = 0; i < c->watches.count; i++) {
		struct watch w = c->watches.v[i];

		if (w.fd != e->data.fd)
			continue;
		w.fn(w.ctx, w.fd, ready);
		return true;
	}
	return false;
}

/* Processes one event of epoll. */
static void http_dispatch(struct http_client *c, const struct epoll_event *e)
{
	uint64_t count;
	int flags = 0;
	int running;

	if (e->data.fd == c->wake) {
		/*
		 * Reset the eventfd. The value does not matter, and neither
		 * does a failure: the loop is awake.
		 */
		/* Already reset by an earlier event. */
		(void)!read(c->wake, &count, sizeof(count));
		return;
	}
	if (call_watch(c, e))
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

/*
 * Call poll() on the epoll descriptor instead of epoll_wait(): no event is
 * consumed, so http_poll() finds all of them.
 */
void http_wait(const struct http_client *c, int64_t ms)
{
	struct pollfd p = { .fd = c->epoll, .events = POLLIN };

	(void)poll(&p, 1, (int)ms);
}

/*
 * The order of the steps matters: resolved addresses and expired deadlines can
 * end transfers, so these two steps come before ended transfers are collected.
 */
void http_poll(struct http_client *c, int64_t timeout_ms)
{
	struct epoll_event events[EVENTS];
	int n = epoll_wait(c->epoll, events, EVENTS, wait_ms(c, timeout_ms));
	int running;

	for (int i = 0; i < n; i++)
		http_dispatch(c, &events[i]);
	resolver_poll(c->resolver);
	transfers_expire(c);
	/*
	 * `room` is cleared before transfers are resumed. If memory becomes
	 * free meanwhile, `room` is set again, and the next call resumes more
	 * transfers.
	 */
	if (c->limiter && atomic_exchange(&c->room, false))
		http_resume(c);
	if (c->deadline_ns && clock_mono_ns() >= c->deadline_ns) {
		c->deadline_ns = 0;
		curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0,
					 &running);
	}
	http_collect(c);
	end_failed(c);
}

void http_watch(struct http_client *c, int fd, unsigned events,
		http_watch_fn fn, void *ctx)
{
	struct epoll_event e = { .data.fd = fd };

	e.events = (events & HTTP_READABLE ? EPOLLIN : 0) |
		   (events & HTTP_WRITABLE ? EPOLLOUT : 0);
	http_unwatch(c, fd);
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

	/* The eventfd's counter is full: a wake-up is already pending. */
	(void)!write(c->wake, &one, sizeof(one));
}

void http_client_set_limiter(struct http_client *c, struct ingest_limiter *in,
			     const char *name)
{
	c->limiter = in;
	c->limiter_name = name;
}

void http_room(struct http_client *c)
{
	atomic_store(&c->room, true);
	http_wake(c);
}

uint64_t http_waits(const struct http_client *c)
{
	return atomic_load(&c->waits);
}

/* The number of requests that have not ended. */
static size_t http_running(const struct http_client *c)
{
	return c->running;
}

/*
 * Callback of http_get(): moves the response out of the transfer. Borrowed
 * texts are left out, because they are not valid after the callback.
 */
static void http_keep(void *ctx, struct http_response *r)
{
	struct http_response *out = ctx;

	*out = *r;
	out->content_type = "";
	out->location = "";
	r->body = (struct buf){ 0 };
	r->headers = (struct buf){ 0 };
}

/* Return the value of a header in a text of header lines, or "". */
static struct str http_find_header(struct str rest, const char *name)
{
	while (rest.len) {
		struct str value;
		struct str line = str_cut(rest, '\n', &rest);
		struct str key = str_cut(line, ':', &value);

		if (key.len == strlen(name) &&
		    !strncasecmp(key.ptr, name, key.len))
			return str_trim(value);
	}
	return (struct str){ .ptr = "", .len = 0 };
}

struct str http_response_header(const struct http_response *r, const char *name)
{
	struct str lines = str_from(buf_bytes(&r->headers));

	lines.len = r->trailers_at;
	return http_find_header(lines, name);
}

struct str http_response_trailer(const struct http_response *r,
				 const char *name)
{
	struct str lines = str_from(buf_bytes(&r->headers));

	lines.ptr += r->trailers_at;
	lines.len -= r->trailers_at;
	return http_find_header(lines, name);
}

void http_get(const struct http_request *request, struct http_response *r)
{
	struct http_request one = *request;
	struct http_client *c = NULL;

	*r = (struct http_response){ 0 };
	r->code = http_client_new(&c, &r->err);
	if (r->code || !c)
		return;
	one.done = http_keep;
	one.ctx = r;
	transfer_start(c, &one);
	while (http_running(c)) {
		http_poll(c, request->waiting ? 200 : 1000);
		if (request->waiting)
			request->waiting(request->sink_ctx);
	}
	http_client_free(c);
}
