/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP client: many requests at once on one event loop, by libcurl's multi
 * interface and epoll.
 *
 * The owner of the loop calls http_poll() again and again; requests start and
 * end inside it. Other descriptors may be watched by the same loop. Bodies are
 * given as they come (nothing is decompressed).
 *
 * Without a configuration no proxy is used, no redirect followed. With one,
 * redirects of GET are followed, ten at most; what says who we are
 * (authentication, http_headers, user and password of the URL) goes to the
 * first scheme, host and port alone.
 *
 * Ownership: a client owns its requests until they are done.
 * Threads: one thread, but for http_wake().
 */
#ifndef CLIENT_HTTP_H
#define CLIENT_HTTP_H

#include "base/buf.h"
#include "base/err.h"
#include "client/transfer/ingest_limiter.h"

struct http_client;

enum {
	HTTP_HEADER_MAX = 64 * 1024,
	HTTP_SAID_MAX = 128
};

struct http_response {
	int code; /* 0: there was an answer; else ERR_*, with err set */
	struct err err;
	long status;
	const char *content_type; /* "" when there is none */
	const char *location;     /* of a redirect, else "" */
	/*
	 * The first line of a refusal in plain text, else ""; "" too when a
	 * secret was sent, which could come back in it.
	 */
	char said[HTTP_SAID_MAX];
	struct buf body;    /* the callee takes it, or leaves it to be freed */
	struct buf headers; /* lines of it, if they were asked for; likewise */
	struct intake_share share; /* of the body: goes with it */
};

typedef void (*http_done_fn)(void *ctx, struct http_response *r);

struct http_config;
struct networks;

struct http_request {
	const char *url;
	struct http_config *config; /* counted while it runs; NULL: plain */
	int64_t timeout_ms;         /* for all of it */
	size_t max_body;            /* bytes; more is ERR_TOOBIG */
	const char *user_agent;
	const char *const *headers; /* "Name: value", NULL ends; may be NULL */
	const char *post;           /* a body: POST. NULL: GET */
	const char *username;       /* goes before the URL's; NULL: none */
	const char *password;
	bool keep_headers; /* for http_response_header() */
	http_done_fn done; /* called once, from http_poll() */
	void *ctx;
	/*
	 * Where the body of a 200 goes as it comes, instead of into the
	 * response; false stops the request. May be NULL.
	 */
	bool (*sink)(void *ctx, struct bytes b);
	/* http_get() calls it a few times a second. May be NULL. */
	void (*waiting)(void *ctx);
	void *sink_ctx; /* of both */
};

/* ERR_IO when the system has no descriptors left. */
NODISCARD int http_client_new(struct http_client **out, struct err *err);

/*
 * Bodies hold their memory in this intake from now on, and wait when it has
 * none. After http_room() those that wait go on.
 */
void http_client_set_intake(struct http_client *c, struct ingest_limiter *in);

/*
 * Connections to addresses of these networks fail from now on (NULL: none),
 * whatever name or redirect leads there; of a proxy it is its own address that
 * counts. Borrowed, for as long as the client is used.
 */
void http_client_refuse(struct http_client *c, const struct networks *n);

/* There may be room in the intake again. From any thread. */
void http_room(struct http_client *c);

/* Bodies that had to wait so far. */
uint64_t http_waits(const struct http_client *c);

/* Requests in flight end as ERR_CLOSED. NULL is a no-op. */
void http_client_free(struct http_client *c);

/* Begin; the strings are copied. A URL that is none ends as ERR_INVALID. */
void http_start(struct http_client *c, const struct http_request *r);

/* Wait at most timeout_ms for something to happen, and do it. */
void http_poll(struct http_client *c, int64_t timeout_ms);

/*
 * Call fn(ctx) from http_poll() whenever fd can be read, until http_unwatch().
 * For what shares the loop with requests.
 */
typedef void (*http_watch_fn)(void *ctx);
void http_watch(struct http_client *c, int fd, http_watch_fn fn, void *ctx);
void http_unwatch(struct http_client *c, int fd);

/* Requests with that ctx (NULL: all) end as ERR_CLOSED, now. */
void http_cancel(struct http_client *c, const void *ctx);

/*
 * For a loop under a lock, http_poll() in three parts: how long it may wait,
 * at most max_ms; the waiting, which needs no lock; then http_poll(c, 0).
 */
int64_t http_next_ms(const struct http_client *c, int64_t max_ms);
void http_wait(const struct http_client *c, int64_t ms);

/* Make http_poll() return soon. From any thread. */
void http_wake(struct http_client *c);

/* Requests in flight. */
size_t http_running(const struct http_client *c);

/* One request, waited for. The caller frees r->body. */
void http_get(const struct http_request *request, struct http_response *r);

/* The value of a header that was kept; empty without one. */
struct str http_response_header(const struct http_response *r,
				const char *name);

#endif
