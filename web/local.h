/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local answers: the API answered within the process, without a server, for
 * commands that read a data directory themselves. A request takes the same path
 * through handlers and query module as one that came over the network, so the
 * numbers are the same.
 *
 * Ownership: everything in a request is borrowed.
 * Threads: one thread.
 */
#ifndef WEB_LOCAL_H
#define WEB_LOCAL_H

#include "base/buf.h"
#include "web/handler/web_options.h"

/* A GET request to a path of the API. */
struct local_request {
	const char *target; /* path and parameters, escaped as in a URL */
	/* Receives a streamed body in pieces; false cancels it. May be NULL. */
	bool (*sink)(void *ctx, struct bytes b);
	void *sink_ctx;
};

/* The answer; the caller frees both buffers. */
struct local_answer {
	unsigned status;
	struct buf body;    /* without what went to the sink */
	struct buf warning; /* value of X-Everprof-Warning; empty: none */
};

/*
 * Answer a request out of o->db. Of the other options, query_memory,
 * query_timeout_ms, source_root, version, log and metrics are used. The status
 * may be one of failure; the body then is the error as JSON. ERR_INVALID: the
 * target is malformed, or its path is not one that only reads; ERR_CLOSED: the
 * sink canceled; other codes: a stream failed in the middle.
 */
NODISCARD int local_ask(const struct web_options *o,
			const struct local_request *r, struct local_answer *out,
			struct err *err);

#endif
