/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the HTTP client share: transfer.c leads a request through
 * its life, easy.c makes libcurl's handle for it, http.c is the loop.
 *
 * Ownership: the client owns its transfers until they end.
 * Threads: the thread of the client's loop; room and waits are atomic.
 */
#ifndef CLIENT_TRANSFER_TRANSFER_H
#define CLIENT_TRANSFER_TRANSFER_H

#include <curl/curl.h>

#include "base/vec.h"
#include "client/address/resolver.h"
#include "client/http.h"
#include "client/http_config.h"
#include "client/networks.h"

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
	int64_t deadline_ns;
	size_t header_bytes;
	bool keep_headers;
	int64_t content_length; /* of the answer being received; -1: none yet */
	char why[CURL_ERROR_SIZE];
	/* The request. */
	char *url; /* after redirects, where it is now */
	char *user_agent;
	char *post;
	char *username;
	char *password;
	char *token; /* an Authorization header's value */
	struct http_config *config;
	struct curl_slist *own; /* headers of the request */
	/* Of the handle. */
	struct curl_slist *headers;
	struct curl_slist *proxy_headers;
	struct curl_slist *connect_to;
	struct curl_slist *resolve;
	/* The way to where it is now. */
	char *proxy; /* NULL: none */
	char *name;  /* whose addresses are needed; NULL: it is one itself */
	char *port;  /* of the name */
	unsigned redirects;
	bool foreign; /* redirected to somebody else */
	bool asking;  /* waits for a token */
	bool finding; /* waits for the addresses of its name */
	bool barred;  /* an address of it is in a network that is refused */
	bool ended;   /* before it began: response says why */
	size_t wants; /* bytes of intake that it waits for; 0: it does not */
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
	int64_t waiting_ns;  /* when one that waits must end; 0: none */
	struct transfer *transfers;
	size_t running;
	size_t ended; /* transfers that http_poll() is to end */
	VEC(struct watch) watches;
	struct resolver *resolver;
	const struct networks *refused; /* where requests may not go */
	struct ingest_limiter *intake;  /* NULL: memory is not counted */
	_Atomic bool room;
	_Atomic uint64_t waits;
};

/* transfer.c: it has ended as libcurl says, and is freed. */
void transfer_end(struct transfer *t, CURLcode result);
void transfer_cancel(struct transfer *t);

/* End those that have waited for a token or an address for too long. */
void transfers_expire(struct http_client *c);

/* Go where we are sent. False: nowhere. */
bool transfer_follow(struct transfer *t);

#endif
