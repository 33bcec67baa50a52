/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods: what Pyroscope's API can be asked, by the names of services and
 * methods, which are the path of a request.
 *
 * Threads: any; one thread per call.
 */
#ifndef PYROSCOPE_ANSWER_METHODS_H
#define PYROSCOPE_ANSWER_METHODS_H

#include "base/transcode.h"
#include "pyroscope/answer/call.h"

/* A method. */
struct pyroscope_method {
	const char *service;
	const char *name;
	/* Both messages, for the transcoder. */
	const struct message_type *request;
	const struct message_type *answer;
	const struct request_layout
		*layout; /* NULL: the request has no fields */
	int (*run)(struct pyroscope_call *c, struct err *err);
};

/* Return a method, or NULL. */
const struct pyroscope_method *pyroscope_method_find(struct str service,
						     struct str name);

/*
 * Read a request, and append the answer to c->out, both in their wire format.
 * ERR_INVALID: the request is malformed; ERR_UNSUPPORTED: it asks for what there
 * is not; ERR_LIMIT, ERR_TIMEOUT, ERR_CLOSED: as for queries; ERR_CORRUPT, ERR_IO:
 * nothing that it asks for can be read.
 */
NODISCARD int pyroscope_run(const struct pyroscope_method *m,
			    struct pyroscope_call *c, struct bytes request,
			    struct err *err);

#endif
