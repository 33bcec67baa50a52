/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfer: one request from its start to its end, with its headers, redirects
 * and time limits. easy.c has the settings of libcurl's handle for the request,
 * http.c the loop.
 *
 * Ownership: the client owns its transfers until they end.
 * Threads: the thread of the client's loop; the members `room` and `waits` of
 * the client are atomic.
 */
#ifndef CLIENT_TRANSFER_TRANSFER_H
#define CLIENT_TRANSFER_TRANSFER_H

#include <curl/curl.h>

#include "base/vec.h"
#include "client/address/networks.h"
#include "client/address/resolver.h"
#include "client/transfer/http.h"
#include "client/transfer/http_config.h"

/* A request in flight. */
struct transfer {
	struct http_client *client;
	CURL *easy;
	struct http_response response;
	http_done_fn done;
	void *ctx;
	size_t max_body;
	const char *max_body_name; /* see http_request */
	bool (*sink)(void *ctx, struct bytes b);
	void *sink_ctx;
	int64_t timeout_ms;  /* time limit of the request, for messages */
	int64_t deadline_ns; /* end of timeout_ms on the monotonic clock */
	/* time limit of the connection to the current URL, for messages */
	long connect_ms;
	size_t header_bytes; /* bytes of headers received so far */
	bool keep_headers;
	bool has_headers; /* all headers of this response have been received */
	/* Content-Length of the current response; -1: not seen */
	int64_t content_length;
	char why[CURL_ERROR_SIZE]; /* libcurl's error message */
	/*
	 * The members `user_agent` to `password` are copies of texts of the
	 * request.
	 */
	char *url; /* the current URL, after redirects */
	char *user_agent;
	char *unix_socket; /* NULL: none */
	char *post;
	bool is_http2;     /* as in struct http_request */
	bool has_secret;   /* as in struct http_request */
	char *method;      /* NULL: GET or POST */
	char *aws_scope;   /* NULL: the request is not signed */
	struct bytes body; /* borrowed; without a pointer: none */
	char *username;
	char *password;
	char *token; /* value of the Authorization header from OAuth 2 */
	struct http_config *config;
	struct curl_slist *own; /* headers given in the request */
	/* Lists that the handle `easy` refers to; freed together with it. */
	struct curl_slist *headers;
	struct curl_slist *proxy_headers;
	struct curl_slist *connect_to;
	struct curl_slist *resolve;
	/* The route to the current URL, set by easy_route(). */
	char *proxy; /* URL of the proxy; NULL: none */
	char *name;  /* host name to resolve; NULL: the host is an IP address */
	char *port;  /* port of the host to connect to */
	unsigned redirects;
	bool foreign; /* a redirect has led to another scheme, host or port */
	bool asking;  /* the transfer waits for a token */
	bool finding; /* the transfer waits for the addresses of `name` */
	bool barred;  /* the last address tried is in a refused network */
	/* failed before libcurl received it; `response` has the error */
	bool ended;
	/* bytes of memory that the paused transfer waits for; 0: not paused */
	size_t wants;
	struct transfer *prev;
	struct transfer *next;
	/* neighbours in the list of http_client.by_ctx */
	struct transfer *list_prev;
	struct transfer *list_next;
};

/* A descriptor watched for a user of the loop, see http_watch(). */
struct watch {
	int fd;
	http_watch_fn fn;
	void *ctx;
};

enum {
	TRANSFER_LISTS = 1024 /* number of lists in http_client.by_ctx */
};

/* An HTTP client: the event loop with its transfers. */
struct http_client {
	CURLM *multi;
	int epoll;
	int wake;            /* eventfd that http_wake() writes to */
	int64_t deadline_ns; /* when libcurl's timer ends, in ns; 0: no timer */
	/*
	 * first deadline of all transfers that wait for a token or an address;
	 * 0: none
	 */
	int64_t waiting_ns;
	struct transfer *transfers; /* list of transfers, newest first */
	/* the same transfers, by a hash of their context */
	struct transfer *by_ctx[TRANSFER_LISTS];
	size_t running;
	size_t ended; /* number of transfers that end_failed() has to end */
	VEC(struct watch) watches;
	struct resolver *resolver;
	/* networks to which no connection is made; borrowed */
	const struct networks *refused;
	/* accounts for the memory of bodies; borrowed; NULL: no limit */
	struct ingest_limiter *limiter;
	const char *limiter_name; /* for messages; borrowed */
	/* set by http_room(): the limiter may have room */
	_Atomic bool room;
	/* how often a transfer was paused for lack of memory */
	_Atomic uint64_t waits;
};

/*
 * End a transfer with libcurl's result: reports the result to the caller of
 * transfer_start() and frees the transfer.
 */
void transfer_end(struct transfer *t, CURLcode result);

/* End a transfer as ERR_CLOSED and free it. */
void transfer_cancel(struct transfer *t);

/*
 * Fail transfers whose deadline has passed while they waited for a token or an
 * address. libcurl's timeout does not cover this time.
 */
void transfers_expire(struct http_client *c);

/*
 * Follow the redirect in the transfer's response. Returns false if the
 * response is no redirect, or if there were too many redirects, in which case
 * the response has an error. The caller then has to end the transfer.
 */
bool transfer_follow(struct transfer *t);

#endif
