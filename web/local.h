/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local answers: the API answered within the process, without a server, for
 * commands that read a data directory themselves. Requests run through the same
 * handlers and the same query module as requests from the network, so the
 * numbers are the same.
 *
 * Ownership: everything in a request is borrowed.
 * Threads: one thread.
 */
#ifndef WEB_LOCAL_H
#define WEB_LOCAL_H

#include "base/buf.h"
#include "web/api/web_options.h"

/* A GET request to a path of the API. */
struct local_request {
	const char *target; /* path and parameters, escaped as in a URL */
	/*
	 * Receives the body of a successful answer in pieces; returns false to
	 * cancel the request. NULL: the body is returned in local_answer.
	 */
	bool (*sink)(void *ctx, struct bytes b);
	void *sink_ctx;
};

/* The answer to a struct local_request; the caller frees all buffers. */
struct local_answer {
	unsigned status;
	/* the part of the body that was not passed to `sink` */
	struct buf body;
	/* values of headers; empty: the answer does not have the header */
	struct buf warning;   /* X-Everprof-Warning */
	struct buf labels;    /* X-Everprof-Labels, as JSON */
	struct buf timestamp; /* X-Everprof-Timestamp, in ms */
};

/*
 * Answer a request from the database o->db. Of the other options, only
 * query_memory, query_timeout_ms, source_root, symbolizer, version, log and
 * metrics are used. If the API answers with an error, for example for a bad
 * parameter, local_ask() still returns 0, and the answer has an error status
 * and the error as JSON. Returns ERR_INVALID when the target is malformed or
 * its path is not a read-only endpoint, ERR_TOOBIG when it has too many
 * parameters, ERR_CLOSED when the sink canceled the request, and other codes
 * when a stream failed after it had begun.
 */
NODISCARD int local_ask(const struct web_options *o,
			const struct local_request *r, struct local_answer *out,
			struct err *err);

#endif
