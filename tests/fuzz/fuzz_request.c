/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends arbitrary bytes to the whole API, over an empty database. Snapshots are
 * left out, because they would fill the disk.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/tempdir.h"
#include "web/web.h"

#define QUIET_US  5000 /* after a longer silence the answer is complete */
#define TRIES_MAX 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tempdir dir;
static struct tsdb *db;
static struct scraper *scraper;
static struct ingest_limiter *limiter;
static struct metrics *metrics;
static struct web *web;
static struct sockaddr_in address;

static void stop(void)
{
	scrape_stop(scraper);
	web_stop(web);
	web_free(web);
	scrape_free(scraper);
	ingest_limiter_free(limiter);
	tsdb_close(db);
	metrics_free(metrics);
	tempdir_fini(&dir);
}

static void show_config(void *ctx, struct buf *out)
{
	(void)ctx;
	buf_str(out, "{}\n");
}

static int reload(void *ctx, struct err *err)
{
	(void)ctx;
	return err_set(err, ERR_INVALID, "no");
}

static void quit(void *ctx)
{
	(void)ctx;
}

static void start(void)
{
	struct tsdb_options t = { 0 };
	struct scrape_options s = { .max_profile = 1 << 20,
				    .user_agent = "fuzz" };
	struct web_options w = { .lifecycle = { .enabled = true,
						.config = show_config,
						.reload = reload,
						.quit = quit },
				 .version = "0",
				 .retention_ms = 1,
				 .address = "127.0.0.1:0",
				 .max_connections = 64,
				 .max_concurrency = 2,
				 .read_timeout_ms = 5000,
				 .query_timeout_ms = 5000,
				 .query_memory = 64 << 20 };
	struct err err;

	dir = tempdir_make();
	t.path = dir.path;
	metrics = metrics_new();
	t.metrics = s.metrics = w.metrics = metrics;
	if (tsdb_open(&t, &db, &err))
		abort();
	s.appender = tsdb_appender(db);
	s.limiter = limiter = ingest_limiter_new(8 << 20, 1 << 20);
	if (scrape_start(&s, &scraper, &err))
		abort();
	w.db = db;
	w.scraper = scraper;
	if (web_start(&w, &web, &err))
		abort();
	web_set_ready(web, true);
	address.sin_family = AF_INET;
	address.sin_port = htons((uint16_t)web_port(web));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	atexit(stop);
}

/* Sends the bytes and reads the answer, which must begin with HTTP/1.1. */
static void converse(int fd, const uint8_t *data, size_t size)
{
	static const char begin[] = "HTTP/1.1 ";
	char buf[4096];
	size_t got = 0;
	ssize_t n;

	if (send(fd, data, size, MSG_NOSIGNAL) < 0)
		return;
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		if (!got && n >= (ssize_t)strlen(begin) &&
		    memcmp(buf, begin, strlen(begin)) != 0)
			__builtin_trap();
		got += (size_t)n;
	}
}

/* Connects to the server. Returns -1 if that is not possible now. */
static int dial(void)
{
	/* A connection that is closed by a reset frees its port at once. */
	const struct linger reset = { .l_onoff = 1 };
	const struct timeval wait = { .tv_usec = QUIET_US };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)))
		abort();
	if (!connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		return fd;
	close(fd);
	return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = -1;

	if (!web)
		start();
	/*
	 * libFuzzer's timer interrupts connect() now and then, so we try again.
	 */
	for (int i = 0; fd < 0 && i < TRIES_MAX; i++)
		fd = dial();
	if (fd < 0) {
		perror("connect");
		abort();
	}
	converse(fd, data, size);
	close(fd);
	return 0;
}
