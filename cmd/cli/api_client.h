/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client for the API, for the commands of `everprof query`. It asks a server
 * over HTTP or, with --storage.tsdb.path, answers the request within the
 * process from a data directory, with the code that a server runs:
 *
 *	struct query q = query_init();
 *	query_path(&q, "/api/v1/labels");
 *	query_param(&q, "match[]", text);
 *	rc = query_fetch(&q, &r, &err);
 *	query_fini(&q);
 *
 * Ownership: the texts of a query are borrowed; see each function.
 * Threads: one thread.
 */
#ifndef CMD_CLI_API_CLIENT_H
#define CMD_CLI_API_CLIENT_H

#include <jansson.h>

#include "client/transfer/http.h"
#include "cmd/cli/flags.h"
#include "cmd/cli/symbols_helper.h"

/* A request to the API. */
struct query {
	const char *server;
	const char *storage; /* data directory to read; "": ask the server */
	/*
	 * maximum memory in bytes for a request that is answered from `storage`
	 */
	int64_t memory;
	int64_t timeout_ms;
	const char *symbols_path; /* debug files, for reports of `storage` */
	const char *http_config;  /* path of --http.config.file; NULL: none */
	/* URL of the request, built by query_path() and query_param() */
	struct buf url;
	/*
	 * whether to send POST instead of GET; then status 204 is a success,
	 * too
	 */
	bool post;
	struct bytes body; /* that is sent with POST */
	/*
	 * Called with each piece of the body, as in client/transfer/http.h. NULL:
	 * query_fetch() collects the body.
	 */
	bool (*sink)(void *ctx, struct bytes b);
	void *sink_ctx;
	/*
	 * whether to say on stderr which profile was used, if the answer is one
	 * profile: several series may match the selector
	 */
	bool tell_profile;
};

/*
 * Elements of an array of struct flag: the flags that choose the server and the
 * HTTP options.
 */
#define SERVER_FLAGS(q)                                                                              \
	{ "server", FLAG_TEXT, &(q).server, "http://127.0.0.1:10902",                                \
	  "Address of the everprof server." },                                                       \
		{ "http.config.file", FLAG_TEXT, &(q).http_config, NULL,                             \
		  "File with options of the HTTP client: basic_auth, authorization, tls_config …" }, \
	{                                                                                            \
		"timeout", FLAG_DURATION, &(q).timeout_ms, "60s",                                    \
			"Maximum time to wait for the response."                                     \
	}

/* SERVER_FLAGS, for commands that can also read a data directory. */
#define QUERY_FLAGS(q)                                                                                                        \
	SERVER_FLAGS(q),                                                                                                      \
		{ "storage.tsdb.path", FLAG_TEXT, &(q).storage, NULL,                                                         \
		  "Data directory to read instead of querying a server. It is opened read-only; a server may be using it." }, \
		{ "symbols.path", FLAG_TEXT, &(q).symbols_path, SYMBOLS_PATH,                                                 \
		  "Folder with separate debug files by build ID, for reports with --storage.tsdb.path." },                    \
	{                                                                                                                     \
		"query.memory", FLAG_SIZE, &(q).memory, "1GB",                                                                \
			"Maximum memory of a query with --storage.tsdb.path."                                                 \
	}

/* A GET request to the default server. Call query_fini(). */
struct query query_init(void);

/* Free the URL. */
void query_fini(struct query *q);

/*
 * Begin the URL with the server and a path. http:// is added when the server
 * has no scheme.
 */
void query_path(struct query *q, const char *path);

/*
 * Append a parameter to the URL, escaped. A parameter with an empty value is
 * left out.
 */
void query_param(struct query *q, const char *name, const char *value);

/*
 * Send the request, or answer it from the data directory, and wait for the
 * answer. ERR_INVALID: the server is not everprof (docs/decisions.md, 98), or
 * the HTTP status is not 200 (or 204 for a POST); then *err has the message of
 * the server. Errors of the connection and of reading the HTTP configuration
 * are passed on. If stderr is a terminal, the waiting time is shown there after
 * one second. The caller frees r->body in any case.
 */
NODISCARD int query_fetch(struct query *q, struct http_response *r,
			  struct err *err);

/*
 * Ask the server of a query who it is, to explain why it has refused a request
 * that was sent with this HTTP configuration (NULL: none). ERR_INVALID: it is
 * not everprof, or it does not accept the credentials. Returns 0 if it is
 * everprof, or if it cannot be reached.
 */
NODISCARD int query_check_server(const struct query *from,
				 struct http_config *config, struct err *err);

/*
 * Send the request and return the member "data" of the answer, which lives as
 * long as *root. The caller calls json_decref(*root) in any case. Warnings of
 * the API are printed.
 */
NODISCARD int query_ask(struct query *q, json_t **root, json_t **data,
			struct err *err);

/*
 * Release the request and the answer, report the error if there is one, and
 * return the exit code.
 */
int query_finish(struct query *q, json_t *root, int rc, const struct err *err);

/* Print a JSON object of labels as a selector. */
void query_print_labels(json_t *labels);

#endif
