/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP client: many concurrent requests on one event loop, built on libcurl's
 * multi interface and epoll.
 *
 * The owner of the loop calls http_poll() repeatedly; requests start and end
 * during these calls. The same loop can watch other descriptors. Bodies are
 * delivered as received: nothing is decompressed.
 *
 * A request without a configuration (struct http_config) uses no proxy and
 * follows no redirect. With a configuration, a GET follows up to ten redirects
 * if redirects are enabled. Credentials (authentication, http_headers, user and
 * password of the URL) and the headers of a request, but for Accept and
 * X-Prometheus-…, are not sent if a redirect leads to another scheme, host
 * or port (docs/decisions.md, 62 and 80).
 *
 * Ownership: a client owns its requests until they are done.
 * Threads: one thread uses a client; http_wake(), http_room() and http_waits()
 * may be called from any thread.
 */
#ifndef CLIENT_TRANSFER_HTTP_H
#define CLIENT_TRANSFER_HTTP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/ingest_limiter.h"

struct http_client;

enum {
	/* limit on the headers of a response, in bytes */
	HTTP_HEADER_MAX = 64 * 1024,
	HTTP_SAID_MAX = 512 /* size of http_response.said in bytes */
};

/*
 * The outcome of a request. It is valid only during the callback, which may
 * move `body` and `headers` out of it.
 */
struct http_response {
	int code; /* 0: a response arrived; else ERR_*, and `err` is set */
	struct err err;
	long status;    /* the HTTP status code */
	bool connected; /* a connection existed, even if no response came */
	const char *content_type; /* "" when there is none */
	/* target URL of a redirect that was not followed, else "" */
	const char *location;
	/* why requests like this one follow no redirects; "" if they do */
	const char *unfollowed;
	/*
	 * What a response with status 400 or above says about the error: the
	 * first line of a plain text, or `error` of a JSON object; else "".
	 * Also "" if the request contained a secret, because the server could
	 * have copied the secret into the body.
	 */
	char said[HTTP_SAID_MAX];
	/*
	 * body of the response; freed after the callback unless the callback
	 * moved it
	 */
	struct buf body;
	/*
	 * the header lines of the last response, and behind them those that
	 * came after its body, or empty unless `keep_headers` was set; freed
	 * like `body`
	 */
	struct buf headers;
	size_t trailers_at; /* offset of the lines that came after the body */
	/*
	 * memory that the ingest limiter accounts for `body`; a callback that
	 * moves `body` must move `share`, too
	 */
	struct ingest_share share;
};

/* Called when a request has ended. */
typedef void (*http_done_fn)(void *ctx, struct http_response *r);

struct http_config;
struct networks;

/*
 * A request. transfer_start() copies all strings, so all pointers are borrowed for
 * the call only, except `ctx`, `sink_ctx` and `body`.
 */
struct http_request {
	const char *url;
	/*
	 * configuration of the request; the client takes a reference; NULL:
	 * defaults
	 */
	struct http_config *config;
	/* time limit for the whole request, redirects included */
	int64_t timeout_ms;
	/* limit on the body in bytes; a larger body fails with ERR_TOOBIG */
	size_t max_body;
	/* the setting that limits the body, for the message; NULL: none does */
	const char *max_body_name;
	const char *user_agent;
	/*
	 * path of the Unix socket to connect to, instead of the host of the
	 * URL; no proxy is used, and no redirect is followed. NULL: none
	 */
	const char *unix_socket;
	/*
	 * additional headers "Name: value", a NULL-terminated array; may be
	 * NULL
	 */
	const char *const *headers;
	/* body of a POST request; NULL: the request is a GET, or has `body` */
	const char *post;
	/* HTTP/2, also without TLS, as gRPC demands */
	bool is_http2;
	/* another method than GET or POST, "PUT" for example; NULL: none */
	const char *method;
	/*
	 * body of a POST request, borrowed until `done` is called; if its
	 * pointer is NULL, there is none
	 */
	struct bytes body;
	/*
	 * user for authentication, instead of the user of the URL; NULL: use
	 * user and password of the URL
	 */
	const char *username;
	const char *password;
	/*
	 * "<region>:<service>": the request is signed by AWS Signature
	 * Version 4, with `username` as the access key and `password` as the
	 * secret key, instead of any other authentication. NULL: it is not
	 */
	const char *aws_scope;
	/*
	 * there is a secret in `headers`, `post` or `body`, so nothing of an
	 * error response is shown
	 */
	bool has_secret;
	/* store the header lines; see http_response_header() */
	bool keep_headers;
	/* called once, from http_poll(), http_cancel() or http_client_free() */
	http_done_fn done;
	void *ctx;
	/*
	 * Receives the body of a response with status 200 piece by piece;
	 * http_response.body then stays empty. Returning false aborts the
	 * request. May be NULL.
	 */
	bool (*sink)(void *ctx, struct bytes b);
	/*
	 * Called by http_get() a few times a second while it waits. May be
	 * NULL.
	 */
	void (*waiting)(void *ctx);
	void *sink_ctx; /* passed to `sink` and `waiting` */
};

/* Create a client. ERR_IO: the system has no descriptors left. */
NODISCARD int http_client_new(struct http_client **out, struct err *err);

/*
 * Set the limiter that accounts for the memory of response bodies. If the
 * limiter has no room for a body, its transfer is paused (back-pressure on the
 * sender) until http_room() is called. `name` is the budget, for the message of
 * a request whose time ends while it is paused. Both are borrowed and must
 * outlive the client.
 */
void http_client_set_limiter(struct http_client *c, struct ingest_limiter *in,
			     const char *name);

/*
 * Make connections to addresses in the networks `n` fail with ERR_DENIED. If
 * `n` is NULL, no address is refused. The address of each connection is
 * checked, so neither a host name nor a redirect can circumvent the check. For
 * a request through a proxy, only the proxy's address is checked. `n` is
 * borrowed for as long as the client is used.
 */
void http_client_refuse(struct http_client *c, const struct networks *n);

/*
 * Tell the client that the limiter may have room again. Any thread may call
 * it.
 */
void http_room(struct http_client *c);

/*
 * Return how often a transfer was paused because the limiter had no room. Any
 * thread may call it.
 */
uint64_t http_waits(const struct http_client *c);

/* Free a client; request in flight end as ERR_CLOSED. NULL is a no-op. */
void http_client_free(struct http_client *c);

/*
 * Start a request. Every failure, even a malformed URL (ERR_INVALID), is
 * reported through r->done, which a later http_poll() calls.
 */
void transfer_start(struct http_client *c, const struct http_request *r);

/* Wait for events, at most `timeout_ms`, and processes them. */
void http_poll(struct http_client *c, int64_t timeout_ms);

/* Events of a watched descriptor. */
enum http_event {
	HTTP_READABLE = 1, /* also: the peer has closed, or an error */
	HTTP_WRITABLE = 2
};

/*
 * Called when a watched descriptor is ready; `ready` is a sum of enum
 * http_event.
 */
typedef void (*http_watch_fn)(void *ctx, int fd, unsigned ready);

/*
 * Watch a descriptor on the same loop as the requests: http_poll() calls fn()
 * whenever `fd` is ready for one of `events`, a sum of enum http_event, until
 * http_unwatch(). Watching a descriptor again replaces its events.
 */
void http_watch(struct http_client *c, int fd, unsigned events,
		http_watch_fn fn, void *ctx);

/*
 * Stop watching `fd`, if it is watched; the caller closes the descriptor.
 */
void http_unwatch(struct http_client *c, int fd);

/*
 * End all requests with this `ctx` (NULL: all requests) as ERR_CLOSED. Their
 * callbacks run before http_cancel() returns.
 */
void http_cancel(struct http_client *c, const void *ctx);

/*
 * Return for how many milliseconds the loop may wait, at most `max_ms`. If a
 * lock guards the client, the loop can call this function under the lock,
 * release the lock during http_wait(), and lock again for http_poll(c, 0).
 */
int64_t http_next_ms(const struct http_client *c, int64_t max_ms);

/*
 * Wait until http_poll() has work, for at most `ms` milliseconds. May be
 * called without the lock that guards the client, if there is one.
 */
void http_wait(const struct http_client *c, int64_t ms);

/*
 * Make a waiting http_poll() or http_wait() return soon. Any thread may call
 * it.
 */
void http_wake(struct http_client *c);

/*
 * Perform one request, a GET or a POST, with a client that exists only for
 * this call, and wait for its end. request->done and request->ctx are ignored.
 * The caller frees r->body and r->headers.
 */
void http_get(const struct http_request *request, struct http_response *r);

/*
 * Return the value of a response header, borrowed from `r`; empty if the
 * response lacks it. Headers of informational responses before it (1xx) and of
 * redirects do not count. The request must have set `keep_headers`.
 */
struct str http_response_header(const struct http_response *r,
				const char *name);

/*
 * The same for the header lines that came after the body (trailers), which gRPC
 * uses.
 */
struct str http_response_trailer(const struct http_response *r,
				 const char *name);

#endif
