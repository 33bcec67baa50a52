/* SPDX-License-Identifier: Apache-2.0 */
#include "web/http/server.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "base/url.h"
#include "web/http/access.h"
#include "web/http/dispatch.h"
#include "web/http/exchange.h"
#include "web/http/framing.h"
#include "web/http/listen.h"
#include "web/http/reply.h"
#include "web/http/upload.h"

#define TLS_OPTIONS_MAX 4
/*
 * Limit on the parameters in a URL. With more, libmicrohttpd would have no
 * memory left for an error answer and would hang; the connection is closed
 * instead.
 */
#define URL_PARAMS_MAX 450
/* time limit for the first request of a connection, in ms */
#define FIRST_MS 10000
/* time over which the rate of a client is measured, in ms */
#define RATE_MS 30000
/*
 * number of connections that libmicrohttpd accepts above the limit, because
 * connections that are being closed still count
 */
#define SPARE 64
/*
 * Memory of a connection in bytes, for the headers and parameters of a request
 * and the headers of its answer. A larger value would cost time: libmicrohttpd
 * searches the whole line again with each piece that arrives
 * (docs/decisions.md, 81).
 */
#define CONNECTION_MEMORY (32 * KIB)
/*
 * At shutdown: how long queries may still run, and how long answers may still
 * be sent, in ns (docs/decisions.md, 73).
 */
#define STOP_WORK_NS (1 * 1000000000LL)
#define STOP_SEND_NS (10 * 1000000000LL)
#define TICK_NS      (100 * 1000000LL)
#define SWEEP_TICKS  10
/* 0: no limit, because all clients may come through one proxy */
#define PER_IP_MAX 0

/*
 * Ask a client for any certificate, without naming CAs. Naming CAs would have
 * two drawbacks: the CA may change later, and some clients send no certificate
 * if the names do not include the CA that issued it (docs/decisions.md, 78).
 */
static void ask_for_any(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	if (info && info->tls_session)
		tls_hide_authorities(info->tls_session);
}

/* Callback of libmicrohttpd for each connection that is opened or closed. */
static void on_connection(void *ctx, struct MHD_Connection *c, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct server *s = ctx;
	const union MHD_ConnectionInfo *info;
	uint64_t client;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		connection_end(s->connections, *context);
		*context = NULL;
		return;
	}
	if (s->client_ca)
		ask_for_any(c);
	/*
	 * libmicrohttpd 1.0 returns all facts about a connection in one union,
	 * so that the next question overwrites the answer before it.
	 */
	client = client_key(exchange_address(c));
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (info)
		*context = connections_add(s->connections, info->connect_fd,
					   client);
}

/* Cancel the queries whose clients have gone, and count them. */
static void cancel_unwanted(struct server *s)
{
	size_t n = running_sweep(s->running);

	if (n)
		metric_add(s->cancelled, (int64_t)n);
}

/*
 * The sweeper thread. Ten times a second it lets streams that wait for memory
 * try again, and cancels queries whose client has gone. Once a second it closes
 * the connections of slow clients and looks for changes of the web
 * configuration.
 */
static void *server_sweep(void *arg)
{
	struct server *s = arg;
	unsigned tick = 0;
	struct timespec at;

	mutex_lock(&s->mu);
	while (s->sweeping) {
		at = clock_mono_at(clock_mono_ns() + TICK_NS);
		mutex_wait_until(&s->mu, &s->stop, &at);
		mutex_unlock(&s->mu);
		reply_wake_streams(s);
		cancel_unwanted(s);
		if (++tick % SWEEP_TICKS == 0) {
			connections_sweep(s->connections);
			auth_refresh(s->o.auth);
		}
		mutex_lock(&s->mu);
	}
	mutex_unlock(&s->mu);
	return NULL;
}

/* Verify the password of a request before its large body is read. */
static void run_verification(void *ctx, unsigned worker UNUSED)
{
	struct exchange *x = ctx;

	access_verify_early(x);
	MHD_resume_connection(x->connection);
}

/*
 * Begin to receive a large body, or refuse it. A sender whose password has to
 * be hashed is verified first; libmicrohttpd then calls on_request() once more
 * before it reads the body.
 */
static enum MHD_Result server_receive(struct exchange *x)
{
	struct err err;

	x->verifying = x->unverified;
	if (!x->verifying)
		return upload_refuse(x) ? reply_send(x) : MHD_YES;
	MHD_suspend_connection(x->connection);
	if (pool_submit(x->server->pool, x->client->work, run_verification, x,
			&err)) {
		exchange_fail(x, &err);
		MHD_resume_connection(x->connection);
	}
	return MHD_YES;
}

/* Go on after the verification of the password. */
static enum MHD_Result server_verified(struct exchange *x)
{
	x->verifying = false;
	if (!x->answer.status && !upload_refuse(x))
		return MHD_YES;
	x->closes = true;
	return reply_send(x);
}

/*
 * Callback of libmicrohttpd with the target of a request, before the target is
 * parsed. Facts about the target are recorded in the connection, because there
 * is no exchange yet.
 */
static void *on_target(void *ctx, const char *target, struct MHD_Connection *c)
{
	struct server *s = ctx;
	struct connection *connection = exchange_connection(c);
	struct connection_target *t = connection_target(connection);
	bool wordy = str_count(str_of(target), '&') >= URL_PARAMS_MAX;

	if (t) {
		t->begin = target;
		t->behind = target + strlen(target) + 1;
		t->sound = !wordy && url_is_sound(str_of(target));
	}
	if (wordy)
		connection_drop(s->connections, connection);
	return NULL;
}

/* NOLINTNEXTLINE(readability-function-size): MHD sets the signature */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *data_len, void **state)
{
	struct exchange *x = *state;

	if (!x) {
		x = exchange_new(ctx, c, url, method, version);
		*state = x;
		/*
		 * With ambiguous framing, the length of the body cannot be
		 * trusted, so the answer is sent without reading the body.
		 */
		if (x->framing == FRAMING_AMBIGUOUS ||
		    (x->framing == FRAMING_CHUNKED && !exchange_has_message(x)))
			access_refuse_framing(x);
		else if (!access_refuse_body(x))
			return upload_is(x) && x->admitted ? server_receive(x) :
							     MHD_YES;
		return reply_send(x);
	}
	if (x->verifying)
		return server_verified(x);
	if (x->answered)
		return reply_send(x);
	if (*data_len) {
		/*
		 * The part of a body above the limit is read and dropped: if
		 * the connection were closed early, the client would not
		 * receive the answer.
		 */
		if (!exchange_count(x, *data_len))
			return MHD_NO;
		if (upload_is(x))
			upload_add(x, data, *data_len);
		else
			exchange_add(x, data, *data_len);
		*data_len = 0;
		return MHD_YES;
	}
	return dispatch_request(x);
}

/*
 * Callback of libmicrohttpd at the end of a request, whether answered or not.
 */
static void on_completed(void *ctx, struct MHD_Connection *c, void **state,
			 enum MHD_RequestTerminationCode why UNUSED)
{
	struct exchange *x = *state;
	struct server *s = ctx;

	connection_turn(s->connections, exchange_connection(c),
			CONNECTION_READING);
	if (!x)
		return;
	exchange_free(x);
	*state = NULL;
}

/*
 * Start everything that protects the server from clients: the limits on
 * connections, on rates and on what one client may use, and the sweeper thread.
 */
static void start_guards(struct server *s)
{
	int64_t idle_ms = s->o.read_timeout_ms;
	struct connections_options o = {
		.max = s->o.max_connections,
		.first_ms = idle_ms < FIRST_MS ? idle_ms : FIRST_MS,
		.next_ms = idle_ms,
		.least_rate = s->o.slow_client_rate,
		.rate_ms = RATE_MS,
	};

	s->connections = connections_new(&o);
	s->limiter = limiter_new(s->o.rate_limit);
	s->clients = clients_new(s->o.memory, s->pool, s->body_pool);
	s->running = running_new();
	s->cancelled = metrics_counter(
		s->o.metrics, "everprof_http_cancelled_total",
		"Number of queries that were ended because their client closed the connection.",
		NULL);
	mutex_init(&s->mu);
	clock_cond_init(&s->stop);
	s->sweeping = true;
	s->sweeper = thread_start("web-sweep", server_sweep, s);
}

/*
 * Stop the sweeper thread. The limits are not freed, because open connections
 * still use them.
 */
static void stop_guards(struct server *s)
{
	if (!s->sweeping)
		return;
	mutex_lock(&s->mu);
	s->sweeping = false;
	pthread_cond_signal(&s->stop);
	mutex_unlock(&s->mu);
	pthread_join(s->sweeper, NULL);
}

/*
 * Fill in the TLS options for libmicrohttpd; without TLS, the list of options
 * is empty. The texts are kept in `s`, because libmicrohttpd may borrow them.
 */
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

/* A server that is being stopped closes new connections at once. */
static enum MHD_Result on_accept(void *cls,
				 const struct sockaddr *address UNUSED,
				 socklen_t len UNUSED)
{
	const struct server *s = cls;

	return atomic_load(&s->stop_ns) == INT64_MAX ? MHD_YES : MHD_NO;
}

int server_start(const struct server_options *o, struct server **out,
		 struct err *err)
{
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD |
			 MHD_ALLOW_SUSPEND_RESUME;
	struct MHD_OptionItem tls[TLS_OPTIONS_MAX];
	struct server *s;
	size_t tasks;
	int fd = -1;
	struct regex *cors = NULL;
	int rc = 0;

	if (o->cors_origin)
		rc = regex_new(str_of(o->cors_origin), &cors, err);
	if (rc)
		return err_wrap(err, rc, "invalid --web.cors.origin");
	rc = listen_on(o->flag, o->address, &fd, err);
	if (rc) {
		regex_free(cors);
		return rc;
	}
	s = mem_new(struct server);
	s->cors = cors;
	s->o = *o;
	atomic_init(&s->stop_ns, INT64_MAX);
	s->port = listen_port(fd);
	s->session_cookie = mem_printf("everprof_session_%u", s->port);
	tasks = ((size_t)o->max_connections + SPARE) * o->tasks_per_connection;
	s->pool = pool_start("query", o->threads, tasks);
	s->body_pool = pool_start("receive", o->body_threads, tasks);
	start_guards(s);
	s->tls = auth_has_tls(o->auth);
	if (s->tls)
		flags |= MHD_USE_TLS;
	s->daemon = MHD_start_daemon(
		flags, 0, on_accept, s, on_request, s, MHD_OPTION_ARRAY,
		tls_options(s, tls), MHD_OPTION_URI_LOG_CALLBACK, on_target, s,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		o->max_connections + SPARE, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)(o->read_timeout_ms / 1000),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)PER_IP_MAX,
		MHD_OPTION_STRICT_FOR_CLIENT, framing_strictness(),
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_END);
	if (!s->daemon) {
		(void)err_sys(err, "cannot start the HTTP server");
		close(fd);
		server_free(s);
		return err->code;
	}
	*out = s;
	return 0;
}

struct running *server_running(const struct server *s)
{
	return s->running;
}

struct server_guards server_guards(const struct server *s)
{
	return (struct server_guards){ .connections = s->connections,
				       .limiter = s->limiter,
				       .clients = s->clients,
				       .pool = s->pool,
				       .body_pool = s->body_pool };
}

unsigned server_port(const struct server *s)
{
	return s->port;
}

void server_stop(struct server *s)
{
	int64_t now = clock_mono_ns();

	if (!s || !s->daemon)
		return;
	reply_stop_streams(s);
	/*
	 * on_accept() sees this. MHD_quiesce_daemon() would be the alternative,
	 * but it races with the daemon's thread: both may take the socket out of
	 * the epoll set, and the second one ends the process (0.9.75).
	 */
	atomic_store(&s->stop_ns, now + STOP_WORK_NS);
	/*
	 * The worker threads resume connections of the daemon, so they must end
	 * before the daemon is stopped.
	 */
	pool_stop(s->pool);
	pool_stop(s->body_pool);
	/*
	 * Stopping the daemon closes its connections, even those with an answer
	 * that is only half sent. So wait for the answers first.
	 */
	(void)connections_settle(s->connections, now + STOP_SEND_NS);
	MHD_stop_daemon(s->daemon);
	s->daemon = NULL;
}

void server_free(struct server *s)
{
	if (!s)
		return;
	server_stop(s);
	stop_guards(s);
	connections_free(s->connections);
	limiter_free(s->limiter);
	clients_free(s->clients);
	running_free(s->running);
	pool_free(s->pool);
	pool_free(s->body_pool);
	regex_free(s->cors);
	mem_free(s->client_ca);
	mem_free(s->session_cookie);
	mem_free(s->priorities);
	mem_free(s);
}
