/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking a server's API from the command line.
 *
 *	struct query q = query_init();
 *	query_path(&q, "/api/v1/labels");
 *	query_param(&q, "match[]", text);
 *	rc = query_fetch(&q, &r, &err);
 *	query_fini(&q);
 *
 * Ownership: as noted at each function.
 * Threads: one thread.
 */
#ifndef CMD_API_CLIENT_H
#define CMD_API_CLIENT_H

#include "client/http.h"
#include "cmd/flags.h"

struct query {
	const char *server;
	int64_t timeout_ms;
	const char *http_config; /* a file; NULL: none */
	struct buf url;
	bool post; /* else GET; an answer without a body will do */
	bool (*sink)(void *ctx, struct bytes b); /* as in client/http.h */
	void *sink_ctx;
};

#define SERVER_FLAGS(q)                                                       \
	{ "server", FLAG_TEXT, &(q).server, "http://127.0.0.1:10902",         \
	  "The everprof to ask." },                                           \
		{ "http.config.file", FLAG_TEXT, &(q).http_config, NULL,      \
		  "How to ask it: basic_auth, authorization, tls_config …" }, \
	{                                                                     \
		"timeout", FLAG_DURATION, &(q).timeout_ms, "60s",             \
			"How long to wait for it."                            \
	}

struct query query_init(void);
void query_fini(struct query *q);

/* Begin the URL; then its parameters, of which empty ones are left out. */
void query_path(struct query *q, const char *path);
void query_param(struct query *q, const char *name, const char *value);

/*
 * Ask. An answer other than 200 (or 204, of a POST) is ERR_INVALID with the
 * server's sentence. After a second, a terminal is told that we wait. The
 * caller frees r->body.
 */
NODISCARD int query_fetch(struct query *q, struct http_response *r,
			  struct err *err);

#endif
