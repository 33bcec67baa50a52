/* SPDX-License-Identifier: Apache-2.0 */
/* The server over loopback: how it starts, where handlers run, how it stops. */
#include <arpa/inet.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tests/check.h"
#include "web/api/envelope.h"
#include "web/guard/running.h"
#include "web/http/server.h"
#include "web/pages/page.h"
#include "web/routes.h"

TestSuite(server, .timeout = 60);

#define END "Host: localhost\r\nConnection: close\r\n\r\n"

#define LARGE ((size_t)8 * MIB)

/* The state that the handlers of a test share. */
struct stage {
	sem_t entered; /* a handler runs */
	sem_t leave;   /* the handler may end */
	pthread_t runner;
	size_t params;
	int64_t deadline_ns;
	bool is_stopping; /* the handler was told to end soon */
	char end[512];    /* why a query ended */
};

static void serve_plain(void *ctx, struct request *r, struct answer *a)
{
	struct stage *s = ctx;

	s->runner = pthread_self();
	s->params = r->params.count;
	s->deadline_ns = a->work.deadline_ns;
	a->status = 200;
	a->content_type = "text/plain";
	buf_str(&a->body, "plain");
}

/* Ends when the test lets it end, or when the server tells it to. */
static void serve_slowly(void *ctx, struct request *r, struct answer *a)
{
	struct stage *s = ctx;

	sem_post(&s->entered);
	while (sem_trywait(&s->leave) && !s->is_stopping) {
		s->is_stopping = atomic_load(a->work.stop_ns) != INT64_MAX;
		sched_yield();
	}
	serve_plain(ctx, r, a);
}

/* Answers more than a socket holds. */
static void serve_large(void *ctx, struct request *r, struct answer *a)
{
	struct stage *s = ctx;

	(void)r;
	a->status = 200;
	a->content_type = "text/plain";
	for (size_t i = 0; i < LARGE; i++)
		buf_byte(&a->body, 'x');
	sem_post(&s->entered);
}

/* Answers with the body of the request. */
static void serve_echo(void *ctx, struct request *r, struct answer *a)
{
	(void)ctx;
	a->status = 200;
	a->content_type = "text/plain";
	buf_add(&a->body, r->body.ptr, r->body.len);
}

/* Runs until the query must end, and stores why. */
static void serve_until_told(void *ctx, struct request *r, struct answer *a)
{
	struct stage *s = ctx;
	struct err err = { .msg = "" };

	(void)r;
	query_count(&a->work, 100, 40);
	sem_post(&s->entered);
	while (!query_check_deadline(&a->work, &err))
		usleep(1000);
	snprintf(s->end, sizeof(s->end), "%s", err.msg);
	answer_error(a, &err);
	sem_post(&s->leave);
}

static const struct route routes[] = {
	{ "/large", serve_large, ROUTE_READ, SCOPE_READ },
	{ "/plain", serve_plain, ROUTE_READ, SCOPE_READ },
	{ "/quick", serve_plain, ROUTE_QUICK, SCOPE_READ },
	{ "/slow", serve_slowly, ROUTE_READ, SCOPE_READ },
	{ "/store", serve_plain, ROUTE_BODY, SCOPE_READ },
	{ "/store/echo", serve_echo, ROUTE_BODY, SCOPE_READ },
	{ "/store/slowly", serve_slowly, ROUTE_BODY, SCOPE_READ },
	{ "/until", serve_until_told, ROUTE_READ, SCOPE_READ },
	{ "/until/changed", serve_until_told, ROUTE_WRITE, SCOPE_READ },
	{ 0 },
};

/* A server and what it borrows. */
struct host {
	struct stage stage;
	struct budget memory;
	struct ingest_limiter *limiter;
	struct metrics *metrics;
	struct auth *auth;
	struct server_options o;
	struct server *server;
};

static struct host *host_new(void)
{
	struct host *h = mem_new(struct host);

	sem_init(&h->stage.entered, 0, 0);
	sem_init(&h->stage.leave, 0, 0);
	h->memory = (struct budget){ .name = "query.memory", .max = 1 << 24 };
	h->limiter = ingest_limiter_new(4 * MIB, MIB);
	h->metrics = metrics_new();
	cr_assert(!auth_new(NULL, NULL, &h->auth, NULL));
	h->o = (struct server_options){ .flag = "--web.listen-address",
					.address = "127.0.0.1:0",
					.tasks_per_connection = 1,
					.routes = routes,
					.ctx = &h->stage,
					.max_connections = 16,
					.threads = 2,
					.body_threads = 4,
					.limiter = h->limiter,
					.max_body = MIB,
					.read_timeout_ms = 20000,
					.query_timeout_ms = 30000,
					.slow_ms = 60000,
					.memory = &h->memory,
					.metrics = h->metrics,
					.auth = h->auth,
					.version = "1.2.3",
					.fail = web_answer_failure,
					.missing = page_missing };
	return h;
}

static struct host *host_start(void)
{
	struct host *h = host_new();
	struct err err = { .msg = "" };

	cr_assert(!server_start(&h->o, &h->server, &err), "%s", err.msg);
	return h;
}

static void host_free(struct host *h)
{
	server_free(h->server);
	cr_expect(!atomic_load(&h->memory.used));
	cr_expect(!ingest_limiter_held(h->limiter));
	ingest_limiter_free(h->limiter);
	auth_free(h->auth);
	metrics_free(h->metrics);
	sem_destroy(&h->stage.entered);
	sem_destroy(&h->stage.leave);
	mem_free(h);
}

/*
 * Connects from a loopback address and sends a text. Returns the socket, or -1
 * when nobody listens.
 */
static int send_from(const struct host *h, in_addr_t from, const char *text)
{
	const struct sockaddr_in source = { .sin_family = AF_INET,
					    .sin_addr.s_addr = htonl(from) };
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(
					 (uint16_t)server_port(h->server)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert(fd >= 0);
	cr_assert(!bind(fd, (const struct sockaddr *)&source, sizeof(source)));
	if (connect(fd, (const struct sockaddr *)&a, sizeof(a))) {
		close(fd);
		return -1;
	}
	cr_assert(send(fd, text, strlen(text), MSG_NOSIGNAL) ==
		  (ssize_t)strlen(text));
	return fd;
}

static int send_text(const struct host *h, const char *text)
{
	return send_from(h, INADDR_LOOPBACK, text);
}

/* Read to the end of a connection, and close it. */
static void receive_all(int fd, char *out, size_t max)
{
	size_t len = 0;
	ssize_t n;

	while ((n = recv(fd, out + len, max - 1 - len, 0)) > 0)
		len += (size_t)n;
	out[len] = 0;
	close(fd);
}

static void exchange_text(const struct host *h, const char *text, char *out,
			  size_t max)
{
	int fd = send_text(h, text);

	cr_assert(fd >= 0);
	receive_all(fd, out, max);
}

Test(server, a_server_that_cannot_start_says_why)
{
	struct host *h = host_new();
	struct host *taken = host_start();
	char address[32];
	struct err err = { .msg = "" };

	h->o.address = "127.0.0.1";
	cr_expect(server_start(&h->o, &h->server, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "127.0.0.1"), "%s", err.msg);
	h->o.address = "127.0.0.1:0";
	h->o.cors_origin = "(";
	cr_expect(server_start(&h->o, &h->server, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "--web.cors.origin"), "%s", err.msg);
	h->o.cors_origin = ".*";
	snprintf(address, sizeof(address), "127.0.0.1:%u",
		 server_port(taken->server));
	h->o.address = address;
	cr_expect(server_start(&h->o, &h->server, &err) == ERR_IO);
	cr_expect(strstr(err.msg, address), "%s", err.msg);
	cr_expect(!h->server);
	server_stop(NULL);
	server_free(NULL);
	host_free(h);
	host_free(taken);
}

Test(server, quick_handlers_run_on_the_thread_that_reads)
{
	struct host *h = host_start();
	char got[4096];
	pthread_t reader;

	exchange_text(h, "GET /quick HTTP/1.1\r\n" END, got, sizeof(got));
	cr_assert(strstr(got, "200 OK"));
	cr_expect(strstr(got, "\r\n\r\nplain"));
	reader = h->stage.runner;
	exchange_text(h, "GET /quick HTTP/1.1\r\n" END, got, sizeof(got));
	cr_expect(pthread_equal(reader, h->stage.runner));
	exchange_text(h, "GET /plain HTTP/1.1\r\n" END, got, sizeof(got));
	cr_assert(strstr(got, "200 OK"));
	cr_expect(strstr(got, "\r\n\r\nplain"));
	cr_expect(!pthread_equal(reader, h->stage.runner), "on a worker");
	exchange_text(h, "GET /none HTTP/1.1\r\n" END, got, sizeof(got));
	cr_expect(strstr(got, "404 Not Found"), "%s", got);
	host_free(h);
}

Test(server, a_slow_handler_keeps_nobody_waiting)
{
	struct host *h = host_start();
	char got[4096];
	int slow = send_text(h, "GET /slow HTTP/1.1\r\n" END);

	sem_wait(&h->stage.entered);
	exchange_text(h, "GET /plain HTTP/1.1\r\n" END, got, sizeof(got));
	cr_expect(strstr(got, "200 OK"));
	exchange_text(h, "GET /quick HTTP/1.1\r\n" END, got, sizeof(got));
	cr_expect(strstr(got, "200 OK"));
	sem_post(&h->stage.leave);
	receive_all(slow, got, sizeof(got));
	cr_assert(strstr(got, "200 OK"));
	cr_expect(!h->stage.is_stopping);
	host_free(h);
}

/* There are four threads for uploads. */
Test(server, slow_uploads_of_one_client_leave_a_thread_to_others)
{
	struct host *h = host_start();
	char got[4096];
	int slow[4];
	int other;

	for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
		slow[i] = send_text(h, "POST /store/slowly HTTP/1.1\r\n"
				       "Content-Length: 1\r\n" END "x");
	for (int i = 0; i < 3; i++)
		sem_wait(&h->stage.entered);
	other = send_from(h, INADDR_LOOPBACK + 1,
			  "POST /store HTTP/1.1\r\nContent-Length: 1\r\n" END
			  "x");
	receive_all(other, got, sizeof(got));
	cr_expect(strstr(got, "200 OK"), "%s", got);
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
		sem_post(&h->stage.leave);
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
		receive_all(slow[i], got, sizeof(got));
		cr_expect(strstr(got, "200 OK"), "%s", got);
	}
	host_free(h);
}

/* Takes nearly all memory for the bodies of requests. */
static void take_memory(struct host *h, struct ingest_sender *senders,
			struct ingest_share *others, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		others[i].sender = &senders[i];
		(void)!ingest_limiter_take(h->limiter, &others[i], 256 * KIB);
	}
}

/* An agent sends a body again after 429, but not after 413. */
Test(server, a_body_that_is_too_large_is_refused_as_such_without_memory)
{
	struct host *h = host_start();
	struct ingest_sender senders[8] = { 0 };
	struct ingest_share others[8] = { 0 };
	struct buf request = { 0 };
	char got[4096];
	int fd;

	take_memory(h, senders, others, ARRAY_SIZE(others));
	cr_assert(!ingest_limiter_has_room(
		h->limiter, &(struct ingest_share){ .sender = &senders[0] },
		KIB));
	buf_printf(&request,
		   "POST /store HTTP/1.1\r\nContent-Length: %zu\r\n" END,
		   (size_t)(2 * MIB));
	for (size_t i = 0; i < 2 * MIB; i++)
		buf_byte(&request, 'x');
	fd = send_text(h, buf_cstr(&request));
	receive_all(fd, got, sizeof(got));
	cr_expect(strstr(got, " 413 "), "%s", got);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		ingest_limiter_release(&others[i]);
	buf_fini(&request);
	host_free(h);
}

#define CHUNKED(path)                \
	"POST " path " HTTP/1.1\r\n" \
	"Host: x\r\nTransfer-Encoding: chunked\r\n\r\n"

/* Sends a request with a chunked body, and receives all answers. */
static void exchange_chunks(struct host *h, size_t chunks, size_t size,
			    char *got, size_t max)
{
	struct buf request = { 0 };

	buf_str(&request, CHUNKED("/store/echo"));
	for (size_t i = 0; i < chunks; i++) {
		buf_printf(&request, "%zx\r\n", size);
		for (size_t k = 0; k < size; k++)
			buf_byte(&request, 'x');
		buf_str(&request, "\r\n");
	}
	buf_str(&request, "0\r\n\r\n");
	receive_all(send_text(h, buf_cstr(&request)), got, max);
	buf_fini(&request);
}

/* Behind the chunks, a proxy could see another request than this server. */
Test(server, nothing_behind_a_chunked_body_is_a_request)
{
	struct host *h = host_start();
	char got[4096];

	receive_all(send_text(h,
			      CHUNKED("/store/echo") "5\r\nhello\r\n"
						     "6;a=b\r\n world\r\n"
						     "0\r\nHost: y\r\n\r\n"
						     "GET /plain HTTP/1.1\r\n"
						     "Host: x\r\n\r\n"),
		    got, sizeof(got));
	cr_expect(strstr(got, "200 OK"), "%s", got);
	cr_expect(strstr(got, "\r\nConnection: close\r\n"), "%s", got);
	cr_expect(strstr(got, "\r\n\r\nhello world"), "%s", got);
	cr_expect(!strstr(got, "plain\r\n\r\nplain"), "%s", got);
	cr_expect(!strstr(strstr(got, "HTTP/1.1") + 1, "HTTP/1.1"), "%s", got);
	host_free(h);
}

Test(server, only_paths_that_take_profiles_accept_chunks)
{
	struct host *h = host_start();
	char got[4096];

	receive_all(send_text(h, CHUNKED("/plain") "0\r\n\r\n"), got,
		    sizeof(got));
	cr_expect(strstr(got, " 400 "), "%s", got);
	cr_expect(strstr(got, "\r\nConnection: close\r\n"), "%s", got);
	receive_all(send_text(h, CHUNKED("/none") "0\r\n\r\n"), got,
		    sizeof(got));
	cr_expect(strstr(got, " 400 "), "%s", got);
	host_free(h);
}

/* As for all bodies; but the length is not known before. */
Test(server, chunks_are_taken_up_to_the_size_of_a_body)
{
	struct host *h = host_start();
	char *got = mem_alloc(2 * MIB);

	exchange_chunks(h, 64, 16 * KIB, got, 2 * MIB);
	cr_expect(strstr(got, "200 OK"));
	cr_expect(strlen(strstr(got, "\r\n\r\n")) == MIB + 4);
	exchange_chunks(h, 65, 16 * KIB, got, 2 * MIB);
	cr_expect(strstr(got, " 413 "), "%s", got);
	exchange_chunks(h, 0, 0, got, 2 * MIB);
	cr_expect(strstr(got, "200 OK"), "%s", got);
	mem_free(got);
	host_free(h);
}

/* Nothing is answered before the end of a body, so it is not waited for. */
Test(server, a_body_of_too_many_chunks_ends_its_connection)
{
	struct host *h = host_start();
	char got[4096];

	exchange_chunks(h, 1000, 1, got, sizeof(got));
	cr_expect(strstr(got, "200 OK"), "%s", got);
	exchange_chunks(h, 2000, 1, got, sizeof(got));
	cr_expect(!strcmp(got, ""), "too many small ones: %s", got);
	exchange_chunks(h, 300, 16 * KIB, got, sizeof(got));
	cr_expect(!strcmp(got, ""), "too many bytes: %s", got);
	host_free(h);
}

Test(server, a_chunked_body_without_memory_is_refused)
{
	struct host *h = host_start();
	struct ingest_sender senders[8] = { 0 };
	struct ingest_share others[8] = { 0 };
	char got[4096];

	take_memory(h, senders, others, ARRAY_SIZE(others));
	exchange_chunks(h, 4, 16 * KIB, got, sizeof(got));
	cr_expect(strstr(got, " 429 "), "%s", got);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		ingest_limiter_release(&others[i]);
	host_free(h);
}

Test(server, a_request_has_its_deadline)
{
	struct host *h = host_start();
	char got[4096];
	int64_t before_ns = clock_mono_ns();

	exchange_text(h, "GET /plain HTTP/1.1\r\n" END, got, sizeof(got));
	cr_expect(h->stage.deadline_ns >= before_ns + 30000000000);
	cr_expect(h->stage.deadline_ns <= clock_mono_ns() + 30000000000);
	host_free(h);
}

/* Whether the list of running queries contains a text; NULL: it is empty. */
static bool runs(const struct host *h, const char *text)
{
	struct buf out = { 0 };
	struct json j = json_init(&out);
	bool found;

	running_json(server_running(h->server), &j);
	found = text ? strstr(buf_cstr(&out), text) != NULL :
		       !strcmp(buf_cstr(&out), "[]");
	buf_fini(&out);
	return found;
}

Test(server, a_query_ends_when_its_client_goes_away)
{
	struct host *h = host_start();
	struct buf metrics = { 0 };
	int fd = send_text(h, "GET /until?query=cpu HTTP/1.1\r\nHost: x\r\n"
			      "X-Everprof-Query: mine\r\n\r\n");

	cr_assert(fd >= 0);
	sem_wait(&h->stage.entered);
	cr_expect(runs(h, "{\"id\":\"mine\",\"path\":\"/until\","
			  "\"query\":\"cpu\",\"user\":\"\",\"started\":"));
	cr_expect(runs(h, "\"done\":40,\"profiles\":100,"));
	close(fd);
	sem_wait(&h->stage.leave);
	cr_expect(!strcmp(h->stage.end, "the client closed the connection"),
		  "%s", h->stage.end);
	while (!runs(h, NULL))
		usleep(1000);
	metrics_write(h->metrics, &metrics);
	cr_expect(strstr(buf_cstr(&metrics),
			 "\neverprof_http_cancelled_total 1\n"));
	buf_fini(&metrics);
	host_free(h);
}

Test(server, a_change_ends_when_its_client_goes_away)
{
	struct host *h = host_start();
	int fd = send_text(h, "POST /until/changed?query=cpu HTTP/1.1\r\n"
			      "Host: x\r\nContent-Length: 0\r\n\r\n");

	cr_assert(fd >= 0);
	sem_wait(&h->stage.entered);
	cr_expect(runs(h, "\"path\":\"/until/changed\",\"query\":\"cpu\","));
	close(fd);
	sem_wait(&h->stage.leave);
	cr_expect(!strcmp(h->stage.end, "the client closed the connection"),
		  "%s", h->stage.end);
	host_free(h);
}

Test(server, a_url_has_at_most_450_parameters)
{
	struct host *h = host_start();
	struct buf text = { 0 };
	char got[4096];

	for (size_t n = 450; n <= 451; n++) {
		buf_reset(&text);
		buf_str(&text, "GET /plain?");
		for (size_t i = 0; i < n; i++)
			buf_str(&text, i ? "&a" : "a");
		buf_str(&text, " HTTP/1.1\r\n" END);
		exchange_text(h, buf_cstr(&text), got, sizeof(got));
		if (n == 450) {
			cr_assert(strstr(got, "200 OK"));
			cr_expect(h->stage.params == 450);
		} else
			cr_expect(!*got, "the connection ends: %s", got);
	}
	buf_fini(&text);
	host_free(h);
}

Test(server, what_is_handled_is_answered_before_the_server_stops)
{
	struct host *h = host_start();
	char got[4096];
	int slow = send_text(h, "GET /slow HTTP/1.1\r\n" END);

	sem_wait(&h->stage.entered);
	/* server_stop() tells the handler to end, and waits for it. */
	server_stop(h->server);
	cr_expect(h->stage.is_stopping);
	receive_all(slow, got, sizeof(got));
	cr_assert(strstr(got, "200 OK"), "%s", got);
	cr_expect(strstr(got, "\r\n\r\nplain"), "%s", got);
	cr_expect(send_text(h, "GET /quick HTTP/1.1\r\n" END) == -1,
		  "nobody listens");
	server_stop(h->server); /* a second stop has no effect */
	host_free(h);
}

static void *stop_host(void *host)
{
	struct host *h = host;

	server_stop(h->server);
	return NULL;
}

Test(server, a_large_answer_is_sent_to_its_end_before_the_server_stops)
{
	struct host *h = host_start();
	char *got = mem_alloc(LARGE + 4096);
	int fd = send_text(h, "GET /large HTTP/1.1\r\n" END);
	const char *body;
	pthread_t stopper;

	sem_wait(&h->stage.entered);
	cr_assert(!pthread_create(&stopper, NULL, stop_host, h));
	receive_all(fd, got, LARGE + 4096);
	pthread_join(stopper, NULL);
	body = strstr(got, "\r\n\r\n");
	cr_assert(body);
	cr_expect(strspn(body + 4, "x") == LARGE);
	mem_free(got);
	host_free(h);
}
