/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges without a network: the bytes of a request go over a socket pair to
 * libmicrohttpd, which runs in the test's own thread, and the test sees the
 * exchange that is made of them.
 */
#ifndef TESTS_WEB_EXCHANGES_H
#define TESTS_WEB_EXCHANGES_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/url.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "web/api/envelope.h"
#include "web/http/exchange.h"
#include "web/http/framing.h"
#include "web/http/reply.h"
#include "web/pages/page.h"
#include "web/routes.h"

#define BENCH_PATIENCE_NS 20000000000LL /* for a busy machine */
#define BENCH_MEMORY      (64 * MIB)

/* A test's callback for an exchange; see struct bench. */
typedef void (*bench_fn)(struct exchange *x, void *ctx);

/* A server in which only the parts are running that a test needs. */
struct bench {
	struct server server;
	struct MHD_Daemon *daemon;
	struct tempdir dir;      /* of the web configuration */
	struct budget memory;    /* of all queries */
	struct sockaddr_in from; /* the address that clients have */
	bool finish;             /* clients end their side when all is sent */
	bench_fn head;           /* is called when the headers are complete */
	bench_fn look;           /* is called when the request is complete */
	void (*tick)(struct bench *b); /* is called while the server works */
	void *ctx;                     /* for head and look */
	size_t heads;     /* requests whose headers were complete */
	size_t looks;     /* requests that were complete */
	size_t ended;     /* requests that libmicrohttpd is done with */
	size_t open;      /* connections */
	struct buf reply; /* what came back; ends in NUL when read */
};

static inline void *bench_target(void *ctx, const char *target,
				 struct MHD_Connection *c)
{
	struct connection_target *t = connection_target(exchange_connection(c));

	(void)ctx;
	t->begin = target;
	t->behind = target + strlen(target) + 1;
	t->sound = url_is_sound(str_of(target));
	return NULL;
}

static inline void bench_connection(void *ctx, struct MHD_Connection *c,
				    void **context,
				    enum MHD_ConnectionNotificationCode what)
{
	struct bench *b = ctx;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		b->open++;
		*context = connections_add(
			b->server.connections,
			MHD_get_connection_info(
				c, MHD_CONNECTION_INFO_CONNECTION_FD)
				->connect_fd,
			1);
	} else {
		b->open--;
		connection_end(b->server.connections, *context);
	}
}

static inline void bench_completed(void *ctx, struct MHD_Connection *c,
				   void **state,
				   enum MHD_RequestTerminationCode why)
{
	struct bench *b = ctx;

	(void)c;
	(void)why;
	b->ended++;
	if (*state)
		exchange_free(*state);
	*state = NULL;
}

/* Send the answer. If nobody has set it, it is empty. */
static inline enum MHD_Result bench_answer(struct exchange *x)
{
	if (!x->answer.status) {
		x->answer.status = 204;
		x->answer.content_type = "text/plain";
	}
	return reply_send(x);
}

/* NOLINTNEXTLINE(readability-function-size): libmicrohttpd calls it so */
static inline enum MHD_Result bench_request(void *ctx, struct MHD_Connection *c,
					    const char *url, const char *method,
					    const char *version,
					    const char *data, size_t *len,
					    void **state)
{
	struct bench *b = ctx;
	struct exchange *x = *state;

	if (!x) {
		x = exchange_new(&b->server, c, url, method, version);
		*state = x;
		b->heads++;
		if (b->head)
			b->head(x, b->ctx);
		return x->answer.status ? bench_answer(x) : MHD_YES;
	}
	if (*len) {
		exchange_add(x, data, *len);
		*len = 0;
		return MHD_YES;
	}
	b->looks++;
	if (b->look)
		b->look(x, b->ctx);
	return bench_answer(x);
}

static inline void bench_serve(void *ctx, struct request *r, struct answer *a)
{
	(void)ctx;
	(void)r;
	a->status = 200;
}

/* The routes of every bench. */
static const struct route bench_routes[] = {
	{ "/", bench_serve, ROUTE_READ, SCOPE_READ },
	{ "/read", bench_serve, ROUTE_READ, SCOPE_READ },
	{ "/write", bench_serve, ROUTE_WRITE, SCOPE_ADMIN },
	{ "/both", bench_serve, ROUTE_WRITE, SCOPE_READ | SCOPE_WRITE },
	{ "/label/*/values", bench_serve, ROUTE_READ, SCOPE_READ },
	{ "/label/none", bench_serve, ROUTE_READ, SCOPE_READ },
	{ "/file", bench_serve, ROUTE_OPEN, 0 },
	{ 0 },
};

/*
 * Start a bench with the web configuration file `config`; NULL: with no file.
 */
static inline struct bench *bench_start(const char *config)
{
	struct bench *b = mem_new(struct bench);
	struct server *s = &b->server;
	const struct connections_options limits = { .max = 100,
						    .first_ms = 60000,
						    .next_ms = 60000 };
	CLEANUP(mem_freep) char *path = NULL;
	struct err err = { .msg = "" };
	FILE *f;

	b->dir = tempdir_make();
	b->memory =
		(struct budget){ .name = "query.memory", .max = BENCH_MEMORY };
	if (config) {
		path = mem_printf("%s/web.yml", b->dir.path);
		f = fopen(path, "we");
		cr_assert(f);
		cr_assert(fputs(config, f) >= 0);
		cr_assert(!fclose(f));
	}
	s->o = (struct server_options){ .routes = bench_routes,
					.memory = &b->memory,
					.metrics = metrics_new(),
					.query_timeout_ms = 60000,
					.slow_ms = 60000,
					.version = "1.2.3",
					.fail = web_answer_failure,
					.missing = page_missing };
	cr_assert(!auth_new(path, NULL, &s->o.auth, &err), "%s", err.msg);
	atomic_init(&s->stop_ns, INT64_MAX);
	s->session_cookie = mem_strdup("everprof_session_1");
	s->pool = pool_start("bench", 2, 16);
	s->connections = connections_new(&limits);
	s->limiter = limiter_new(0);
	s->clients = clients_new(&b->memory, s->pool, s->pool);
	mutex_init(&s->mu);
	b->from = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	b->daemon = MHD_start_daemon(
		MHD_USE_NO_LISTEN_SOCKET | MHD_USE_EPOLL |
			MHD_ALLOW_SUSPEND_RESUME,
		0, NULL, NULL, bench_request, b, MHD_OPTION_URI_LOG_CALLBACK,
		bench_target, b, MHD_OPTION_NOTIFY_CONNECTION, bench_connection,
		b, MHD_OPTION_NOTIFY_COMPLETED, bench_completed, b,
		MHD_OPTION_STRICT_FOR_CLIENT, framing_strictness(),
		MHD_OPTION_END);
	cr_assert(b->daemon);
	return b;
}

/*
 * End a bench, and check that its exchanges have given back all that they took.
 */
static inline void bench_stop(struct bench *b)
{
	struct server *s = &b->server;

	MHD_stop_daemon(b->daemon);
	pool_stop(s->pool);
	cr_expect(!atomic_load(&b->memory.used), "memory was not given back");
	cr_assert(!atomic_load(&s->forms));
	cr_expect(!atomic_load(&s->strange_forms));
	connections_free(s->connections);
	limiter_free(s->limiter);
	clients_free(s->clients);
	pool_free(s->pool);
	regex_free(s->cors);
	mem_free(s->session_cookie);
	auth_free(s->o.auth);
	metrics_free(s->o.metrics);
	mutex_destroy(&s->mu);
	buf_fini(&b->reply);
	tempdir_fini(&b->dir);
	mem_free(b);
}

/* Allow the origins that this expression matches. */
static inline void bench_allow_origins(struct bench *b, const char *regex)
{
	cr_assert(!regex_new(str_of(regex), &b->server.cors, NULL));
}

/* Take what has come back so far. Returns whether the connection ended. */
static inline bool bench_read(struct bench *b, int fd)
{
	char part[4096];
	ssize_t n;

	while ((n = recv(fd, part, sizeof(part), MSG_DONTWAIT)) > 0)
		buf_add(&b->reply, part, (size_t)n);
	return n == 0;
}

/*
 * Send bytes over a new connection, and run until `requests` are answered or
 * the connection ended. The reply is in b->reply.
 */
static inline void bench_send(struct bench *b, const char *bytes, size_t len,
			      size_t requests)
{
	int64_t end_ns = clock_mono_ns() + BENCH_PATIENCE_NS;
	size_t want = b->ended + requests;
	size_t sent = 0;
	bool over = false;
	int fds[2];

	cr_assert(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
	buf_reset(&b->reply);
	cr_assert(MHD_add_connection(b->daemon, fds[1],
				     (const struct sockaddr *)&b->from,
				     sizeof(b->from)) == MHD_YES);
	while (!over && b->ended < want && clock_mono_ns() < end_ns) {
		ssize_t n = send(fds[0], bytes + sent, len - sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		sent += n > 0 ? (size_t)n : 0;
		if (b->finish && sent == len)
			(void)shutdown(fds[0], SHUT_WR);
		if (b->tick)
			b->tick(b);
		MHD_run_wait(b->daemon, 10);
		over = bench_read(b, fds[0]);
	}
	cr_expect(over || b->ended >= want, "no answer");
	(void)bench_read(b, fds[0]);
	close(fds[0]);
	while (b->open && clock_mono_ns() < end_ns)
		MHD_run_wait(b->daemon, 10);
	cr_expect(!b->open, "the connection is still there");
}

/* Send one request. */
static inline void bench_ask(struct bench *b, const char *text)
{
	bench_send(b, text, strlen(text), 1);
}

/* The status of the reply; 0 when there is none. */
static inline int bench_status(struct bench *b)
{
	const char *text = buf_cstr(&b->reply);

	return strncmp(text, "HTTP/1.1 ", 9) ? 0 : atoi(text + 9);
}

/* Whether the reply's head has this line; "Name:" stands for any value. */
static inline bool bench_has(struct bench *b, const char *line)
{
	const char *text = buf_cstr(&b->reply);
	const char *end = strstr(text, "\r\n\r\n");
	size_t len = strlen(line);

	for (const char *p = strstr(text, "\r\n"); p && p < end;
	     p = strstr(p + 2, "\r\n")) {
		if (!strncasecmp(p + 2, line, len) &&
		    (line[len - 1] == ':' || p[2 + len] == '\r'))
			return true;
	}
	return false;
}

/* The body of the reply: the bytes after the head. */
static inline struct str bench_body(struct bench *b)
{
	struct str all = str_from(buf_bytes(&b->reply));
	const char *end = memmem(all.ptr, all.len, "\r\n\r\n", 4);

	return end ? (struct str){ .ptr = end + 4,
				   .len = all.len -
					  (size_t)(end + 4 - all.ptr) } :
		     (struct str){ 0 };
}

/* The number of requests that a counter has counted. */
static inline int64_t bench_count(struct bench *b, const char *name,
				  const struct metric_labels *labels)
{
	return metric_get(
		metrics_counter(b->server.o.metrics, name, "", labels));
}

#endif
