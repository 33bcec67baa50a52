/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request to an HTTP API, as a service discovery writes it.
 *
 * Ownership: a request owns its texts, unless noted.
 * Threads: the manager's loop.
 */
#ifndef DISCOVERY_REST_REST_REQUEST_H
#define DISCOVERY_REST_REST_REQUEST_H

#include "base/vec.h"
#include "discovery/core/provider.h"

/* A request that is being written. A struct of zeros is empty. */
struct rest_request {
	struct buf url;
	/* of a POST request; empty: a GET, unless `method` is set */
	struct buf body;
	const char *method;  /* a constant; NULL: GET or POST */
	VEC(char *) headers; /* "Name: value" */
	/*
	 * access key, secret key, and "<region>:<service>" of a request that is
	 * signed as AWS demands; borrowed. All NULL: the request is not signed
	 */
	const char *key_id;
	const char *secret_key;
	const char *aws_scope;
	/*
	 * The request asks a metadata service of the machine, or an agent that
	 * gives credentials to a container. Such a request uses no proxy,
	 * follows no redirect, and ignores the configured HTTP options and the
	 * configured Unix socket.
	 */
	bool is_local;
	/*
	 * there are secrets in the headers or the body, so messages must not
	 * show text of an error response
	 */
	bool has_secret;
};

/* Free the texts of a request, and wipe them. */
void rest_request_fini(struct rest_request *q);

/* Add a header. */
void rest_header_add(struct rest_request *q, const char *name,
		     struct str value);

/*
 * Start the request `q`; `http` has the configured HTTP options, and done() is
 * called with `ctx` when the request has ended. The caller may free `q` as soon
 * as this function returns.
 */
void rest_request_start(struct rest_request *q, struct provider *p,
			struct http_config *http, int64_t timeout_ms,
			http_done_fn done, void *ctx);

#endif
