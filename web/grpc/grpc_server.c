/* SPDX-License-Identifier: Apache-2.0 */
#include "web/grpc/grpc_server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "web/grpc/grpc_access.h"
#include "web/grpc/grpc_connection.h"
#include "web/http/listen.h"

#define EVENTS_MAX 64
/* How many connections are accepted before others have their turn. */
#define ACCEPT_MAX 16
/* Time between two looks at what waits, in ms. */
#define TICK_MS 100
/* How long a connection may wait until its client reads, in ns. */
#define BLOCKED_NS (30 * 1000000000LL)
/* How long answers may be sent at shutdown, in ns, as those of HTTP/1. */
#define STOP_NS (10 * 1000000000LL)

struct grpc_metrics {
	struct metric *unauthorized; /* the HTTP server's */
	struct metric *connections;
	struct metric *resets;
	struct metric *floods;
};

struct grpc_server {
	struct grpc_server_options o;
	struct grpc_session_options session;
	struct grpc_memory memory;
	struct grpc_access access;
	struct tls_server *tls; /* NULL: no TLS */
	int listener;           /* -1: closed */
	int epoll;
	int wake; /* an eventfd that wakes the thread */
	unsigned port;
	pthread_t thread;
	bool runs; /* whether the thread was started */
	/* Members of the thread alone. */
	struct grpc_connection ring; /* anchor of the connections */
	bool accept_paused; /* no connection is accepted until the next tick */
	bool has_retired;
	/* Shared members. */
	/* when all connections are closed, at shutdown; INT64_MAX until then */
	_Atomic int64_t stop_ns;
	struct mutex mu;
	struct grpc_stream *done; /* guarded by mu */
	struct grpc_metrics metrics;
};

static const struct metric_row grpc_rows[] = {
	METRIC_ROW(GAUGE, struct grpc_metrics, connections,
		   "everprof_grpc_connections",
		   "Connections to the listener for gRPC."),
	METRIC_ROW(
		COUNTER, struct grpc_metrics, unauthorized,
		"everprof_http_unauthorized_total",
		"Requests rejected because credentials are missing or wrong."),
	METRIC_ROW(
		COUNTER, struct grpc_metrics, resets,
		"everprof_grpc_streams_reset_total",
		"Number of gRPC requests that were reset before they were answered, mostly because their client cancelled them."),
	METRIC_ROW(
		COUNTER, struct grpc_metrics, floods,
		"everprof_grpc_floods_total",
		"Number of connections to the listener for gRPC that were closed because their client sent too much beside messages."),
};

static void grpc_server_wake(struct grpc_server *g)
{
	uint64_t one = 1;

	/* It cannot fail: the thread reads the number long before it is full. */
	(void)!write(g->wake, &one, sizeof(one));
}

/* The functions that follow run on pool threads. */

/* Give a stream back to the server's thread. */
static void grpc_server_give(struct grpc_stream *s)
{
	struct grpc_connection *c = s->owner;
	struct grpc_server *g = c->server;

	mutex_lock(&g->mu);
	s->next_done = g->done;
	g->done = s;
	mutex_unlock(&g->mu);
	grpc_server_wake(g);
}

/* Verify the password of a call. */
static void grpc_server_verify(void *ctx, unsigned worker UNUSED)
{
	struct grpc_stream *s = ctx;
	struct grpc_connection *c = s->owner;

	if (!atomic_load(&s->call.is_cancelled))
		s->must_retry = !grpc_access_verify(&c->server->access,
						    c->client, &s->call);
	grpc_server_give(s);
}

/* Answer a call, unless its client does not want the answer any more. */
static void grpc_server_handle(void *ctx, unsigned worker UNUSED)
{
	struct grpc_stream *s = ctx;
	struct grpc_connection *c = s->owner;

	s->call.is_handled = true;
	if (!atomic_load(&s->call.is_cancelled))
		s->call.method->handle(c->server->o.ctx, &s->call);
	grpc_server_give(s);
}

/* The functions that follow run on the server's thread. */

/* Let a pool work on a stream, or fail its call. */
static void grpc_server_submit(struct grpc_stream *s, struct pool *pool,
			       struct pool_group *group, pool_fn fn)
{
	struct grpc_connection *c = s->owner;
	struct err err;

	/* Those whose clients have cancelled them still wait for their threads. */
	if (c->busy >= GRPC_SESSION_STREAMS) {
		err_set(&err, ERR_LIMIT,
			"too many requests of this connection are still being handled; retry later");
		grpc_call_fail(&s->call, &err);
		return;
	}
	s->is_busy = true;
	if (!pool_submit(pool, group, fn, s, &err)) {
		c->busy++;
		return;
	}
	s->is_busy = false;
	grpc_call_fail(&s->call, &err);
}

/* Implement grpc_session_options.admit. */
static void grpc_server_admit(void *ctx, struct grpc_stream *s)
{
	struct grpc_connection *c = ctx;
	struct grpc_server *g = c->server;
	const struct grpc_caller caller = {
		.address = (const struct sockaddr *)&c->address,
		.tls = c->tls ? tls_session_handle(c->tls) : NULL,
	};

	if (!s->is_checked) {
		s->is_checked = true;
		s->owner = c;
		s->call.share.sender = &c->client->uploads;
		s->call.peer = client_text(caller.address, &s->call.arena);
		grpc_access_check(&g->access, &caller, &s->call,
				  clock_mono_ns());
	}
	if (grpc_access_authenticate(&g->access, &s->call))
		grpc_server_submit(s, g->o.guards.pool, c->client->work,
				   grpc_server_verify);
}

/* Implement grpc_session_options.run. */
static void grpc_server_run(void *ctx, struct grpc_stream *s)
{
	struct grpc_connection *c = ctx;
	struct grpc_server *g = c->server;

	if (s->call.method->is_open)
		s->call.method->handle(g->o.ctx, &s->call);
	else
		grpc_server_submit(s, g->o.guards.body_pool, c->client->store,
				   grpc_server_handle);
}

/* Log a call if it was slow, or if all calls are logged. */
static void grpc_server_log(const struct grpc_server *g,
			    const struct grpc_stream *s)
{
	int64_t took_ms = (clock_mono_ns() - s->began_ns) / 1000000;
	bool slow = took_ms > g->o.slow_ms;
	const struct grpc_call *c = &s->call;

	if (!slow && !g->o.access_log)
		return;
	log_event(g->o.log, slow ? LOG_WARN : LOG_INFO,
		  slow ? "slow request" : "request",
		  LOG_FIELDS(log_text("client", c->peer),
			     log_text("user", c->who.name),
			     log_text("method", "gRPC"),
			     log_text("path", c->path),
			     log_text("status", grpc_code_name(c->code)),
			     log_text("error", c->why),
			     log_int("took_ms", took_ms)));
}

/* Implement grpc_session_options.observe. */
static void grpc_server_observe(void *ctx, const struct grpc_stream *s)
{
	struct grpc_server *g = ((struct grpc_connection *)ctx)->server;
	const struct grpc_call *c = &s->call;
	const char *path = c->method ? c->method->path : "none";

	metric_add(
		metrics_counter(g->o.metrics, "everprof_grpc_requests_total",
				"Number of gRPC requests by method and code.",
				&(struct metric_labels){
					{ "method", "code" },
					{ path, grpc_code_name(c->code) } }),
		1);
	if (c->code == GRPC_UNAUTHENTICATED)
		metric_add(g->metrics.unauthorized, 1);
	if (c->code && !c->is_handled && c->method && c->method->refused)
		c->method->refused(g->o.ctx, c);
	grpc_server_log(g, s);
}

/* Implement grpc_session_options.reset. */
static void grpc_server_reset(void *ctx, const struct grpc_stream *s UNUSED)
{
	metric_add(((struct grpc_connection *)ctx)->server->metrics.resets, 1);
}

/* Tell the limits of connections what a connection is doing. */
static void grpc_server_report_state(struct grpc_server *g,
				     struct grpc_connection *c)
{
	enum connection_state state = c->out.len ?
					      CONNECTION_SENDING :
					      grpc_session_state(c->session);
	uint64_t requests = grpc_session_requests(c->session);

	/*
	 * A client that has said nothing yet has less time. Each request has a time
	 * limit of its own, so that with each of them time begins anew.
	 */
	if (!c->is_greeted ||
	    (c->is_turned && state == c->state && requests == c->requests))
		return;
	c->is_turned = true;
	c->state = state;
	c->requests = requests;
	connection_turn(g->o.guards.connections, c->entry, state);
}

/* Close a connection; it is freed once no thread works on its streams. */
static void grpc_server_close(struct grpc_server *g, struct grpc_connection *c)
{
	if (c->fd >= 0) {
		connection_end(g->o.guards.connections, c->entry);
		grpc_connection_close(c);
		metric_add(g->metrics.connections, -1);
	}
	if (c->busy)
		return;
	c->prev->next = c->next;
	c->next->prev = c->prev;
	clients_put(g->o.guards.clients, c->client);
	grpc_connection_free(c);
}

/* Do what a connection can do now, and wait for its next event. */
static void grpc_server_step(struct grpc_server *g, struct grpc_connection *c,
			     bool reads)
{
	struct epoll_event e = { .data.ptr = c };
	struct err err;
	int rc = grpc_connection_step(c, reads, &err);

	if (rc && rc != ERR_CLOSED)
		log_event(g->o.log, LOG_DEBUG, "gRPC connection closed",
			  LOG_FIELDS(log_err(&err)));
	if (rc) {
		if (grpc_session_is_flooded(c->session))
			metric_add(g->metrics.floods, 1);
		grpc_server_close(g, c);
		return;
	}
	grpc_server_report_state(g, c);
	e.events = grpc_connection_wants(c);
	if (e.events == c->events)
		return;
	c->events = e.events;
	(void)epoll_ctl(g->epoll, EPOLL_CTL_MOD, c->fd, &e);
}

/* Take a new connection, whose descriptor it owns. */
static void grpc_server_add(struct grpc_server *g, int fd,
			    const struct sockaddr_storage *address)
{
	const struct sockaddr *a = (const struct sockaddr *)address;
	struct grpc_connection *c;
	struct epoll_event e = { .events = EPOLLIN };
	struct err err;
	int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (grpc_connection_new(g, fd, &g->session, g->tls, &c, &err)) {
		log_event(g->o.log, LOG_WARN, "gRPC connection refused",
			  LOG_FIELDS(log_err(&err)));
		return;
	}
	c->address = *address;
	c->client = clients_get(g->o.guards.clients, a);
	c->entry = connections_add(g->o.guards.connections, fd, client_key(a));
	c->prev = g->ring.prev;
	c->next = &g->ring;
	c->prev->next = c->next->prev = c;
	metric_add(g->metrics.connections, 1);
	c->events = e.events;
	e.data.ptr = c;
	if (epoll_ctl(g->epoll, EPOLL_CTL_ADD, fd, &e))
		grpc_server_close(g, c);
	else
		grpc_server_step(g, c, false);
}

/* Whether new connections are accepted. */
static void grpc_server_listen(struct grpc_server *g, bool listens)
{
	struct epoll_event e = { .events = listens ? EPOLLIN : 0,
				 .data.ptr = &g->listener };

	g->accept_paused = !listens;
	if (g->listener >= 0)
		(void)epoll_ctl(g->epoll, EPOLL_CTL_MOD, g->listener, &e);
}

/* Accept connections. Without descriptors or memory, the next tick tries again. */
static void grpc_server_accept(struct grpc_server *g)
{
	struct sockaddr_storage address;
	socklen_t len;
	int fd;

	for (unsigned i = 0; i < ACCEPT_MAX && g->listener >= 0; i++) {
		len = sizeof(address);
		fd = accept4(g->listener, (struct sockaddr *)&address, &len,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			grpc_server_add(g, fd, &address);
		else if (errno == EMFILE || errno == ENFILE ||
			 errno == ENOBUFS || errno == ENOMEM)
			grpc_server_listen(g, false);
		if (fd < 0 && errno != ECONNABORTED)
			return;
	}
}

/* Go on with the streams on which no pool thread works any more. */
static void grpc_server_collect(struct grpc_server *g)
{
	struct grpc_stream *s;
	struct grpc_stream *next;
	uint64_t number;

	(void)!read(g->wake, &number, sizeof(number));
	mutex_lock(&g->mu);
	s = g->done;
	g->done = NULL;
	mutex_unlock(&g->mu);
	for (; s; s = next) {
		struct grpc_connection *c = s->owner;

		next = s->next_done;
		c->busy--;
		grpc_session_finish(s);
		if (c->fd < 0)
			grpc_server_close(g, c);
		else
			grpc_server_step(g, c, false);
	}
}

/* Begin the shutdown. */
static void grpc_server_begin_end(struct grpc_server *g)
{
	struct grpc_connection *next;

	g->has_retired = true;
	close(g->listener);
	g->listener = -1;
	for (struct grpc_connection *c = g->ring.next; c != &g->ring;
	     c = next) {
		next = c->next;
		if (c->fd < 0)
			continue;
		/* One that has not begun owes nothing, and gets nothing. */
		if (!c->is_greeted) {
			grpc_server_close(g, c);
			continue;
		}
		grpc_session_stop(c->session);
		grpc_server_step(g, c, false);
	}
}

/* Look after each connection, as is due with time. */
static void grpc_server_tick(struct grpc_server *g, int64_t now_ns)
{
	struct grpc_connection *next;

	if (g->accept_paused)
		grpc_server_listen(g, true);
	for (struct grpc_connection *c = g->ring.next; c != &g->ring;
	     c = next) {
		next = c->next;
		if (c->fd < 0)
			continue;
		grpc_session_tick(c->session, now_ns);
		if (c->blocked_ns && now_ns - c->blocked_ns >= BLOCKED_NS)
			grpc_server_close(g, c);
		else
			grpc_server_step(g, c, false);
	}
}

/* Whether the thread may end: at shutdown, when nothing is left to do or to wait for. */
static bool grpc_server_is_over(const struct grpc_server *g, int64_t now_ns)
{
	return now_ns >= atomic_load(&g->stop_ns) ||
	       (g->has_retired && g->ring.next == &g->ring);
}

static void grpc_server_take_events(struct grpc_server *g,
				    const struct epoll_event *events, int n)
{
	bool wakes = false;

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == &g->listener)
			grpc_server_accept(g);
		else if (events[i].data.ptr == &g->wake)
			wakes = true;
		else
			grpc_server_step(g, events[i].data.ptr, true);
	}
	/* This may free connections, to which other events may point. */
	if (wakes)
		grpc_server_collect(g);
}

/* The server's thread. */
static void *grpc_server_serve(void *arg)
{
	struct grpc_server *g = arg;
	struct epoll_event events[EVENTS_MAX];
	int64_t now_ns = clock_mono_ns();
	int64_t tick_ns = now_ns;
	int n;

	while (!grpc_server_is_over(g, now_ns)) {
		n = epoll_wait(g->epoll, events, EVENTS_MAX, TICK_MS);
		grpc_server_take_events(g, events, n);
		now_ns = clock_mono_ns();
		if (atomic_load(&g->stop_ns) != INT64_MAX && !g->has_retired)
			grpc_server_begin_end(g);
		if (now_ns - tick_ns < TICK_MS * 1000000LL)
			continue;
		tick_ns = now_ns;
		grpc_server_tick(g, now_ns);
	}
	return NULL;
}

/* The functions that follow start and stop the server. */

static int grpc_server_watch(struct grpc_server *g, int fd, void *what,
			     struct err *err)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = what };

	return epoll_ctl(g->epoll, EPOLL_CTL_ADD, fd, &e) ?
		       err_sys(err, "cannot start the gRPC server") :
		       0;
}

/* Open the descriptors that the thread waits for. */
static int grpc_server_open(struct grpc_server *g, struct err *err)
{
	int rc = listen_on(g->o.flag, g->o.address, &g->listener, err);

	if (rc)
		return rc;
	g->port = listen_port(g->listener);
	g->epoll = epoll_create1(EPOLL_CLOEXEC);
	g->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (g->epoll < 0 || g->wake < 0 ||
	    fcntl(g->listener, F_SETFL, O_NONBLOCK))
		return err_sys(err, "cannot start the gRPC server");
	rc = grpc_server_watch(g, g->listener, &g->listener, err);
	return rc ? rc : grpc_server_watch(g, g->wake, &g->wake, err);
}

/* Prepare TLS, if the web configuration has it. */
static int grpc_server_secure(struct grpc_server *g, struct err *err)
{
	CLEANUP(mem_freep)
	char *priorities = auth_tls_priorities(g->o.auth);
	CLEANUP(mem_freep)
	char *client_ca = auth_client_ca(g->o.auth);

	if (!auth_has_tls(g->o.auth))
		return 0;
	return tls_server_new(priorities, client_ca, &g->tls, err);
}

int grpc_server_start(const struct grpc_server_options *o,
		      struct grpc_server **out, struct err *err)
{
	struct grpc_server *g = mem_new(struct grpc_server);
	int rc;

	g->o = *o;
	g->listener = g->epoll = g->wake = -1;
	g->memory.limiter = o->limiter;
	g->session = (struct grpc_session_options){
		.memory = &g->memory,
		.max_body = o->max_body,
		.read_timeout_ns = o->read_timeout_ms * 1000000,
		.call_timeout_ns = o->call_timeout_ms * 1000000,
		/*
		 * Before the limits of connections end it without GOAWAY, unless the
		 * time is short.
		 */
		.idle_ns = o->read_timeout_ms * 800000,
		.admit = grpc_server_admit,
		.run = grpc_server_run,
		.observe = grpc_server_observe,
		.reset = grpc_server_reset,
	};
	g->access = (struct grpc_access){ .methods = o->methods,
					  .auth = o->auth,
					  .limiter = o->guards.limiter,
					  .allowed_hosts = o->allowed_hosts };
	g->ring.next = g->ring.prev = &g->ring;
	atomic_init(&g->stop_ns, INT64_MAX);
	mutex_init(&g->mu);
	metrics_register(o->metrics, grpc_rows, ARRAY_SIZE(grpc_rows),
			 &g->metrics);
	rc = grpc_server_open(g, err);
	if (!rc)
		rc = grpc_server_secure(g, err);
	if (rc) {
		grpc_server_free(g);
		return rc;
	}
	g->thread = thread_start("grpc", grpc_server_serve, g);
	g->runs = true;
	*out = g;
	return 0;
}

unsigned grpc_server_port(const struct grpc_server *g)
{
	return g->port;
}

void grpc_server_retire(struct grpc_server *g)
{
	if (!g || atomic_load(&g->stop_ns) != INT64_MAX)
		return;
	atomic_store(&g->stop_ns, clock_mono_ns() + STOP_NS);
	grpc_server_wake(g);
}

static void grpc_server_close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void grpc_server_free(struct grpc_server *g)
{
	if (!g)
		return;
	grpc_server_retire(g);
	if (g->runs)
		pthread_join(g->thread, NULL);
	/* The pools have ended, so that no thread works on a stream. */
	grpc_server_collect(g);
	while (g->ring.next != &g->ring)
		grpc_server_close(g, g->ring.next);
	grpc_server_close_fd(g->listener);
	grpc_server_close_fd(g->epoll);
	grpc_server_close_fd(g->wake);
	tls_server_free(g->tls);
	mutex_destroy(&g->mu);
	mem_free(g);
}
