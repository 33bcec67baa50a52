/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers in the API's JSON envelope, errors, and the headers that identify the
 * profile of an answer.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_HANDLER_ENVELOPE_H
#define WEB_HANDLER_ENVELOPE_H

#include "web/handler/context.h"

/* {"status":"success","data": — the caller writes the data, then ends it. */
struct json envelope_begin(struct answer *a);

/* Warnings are sentences; NULL-ended list, or NULL. */
void envelope_end(struct json *j, struct answer *a,
		  const char *const *warnings);

/* The HTTP status that the error stands for, and its errorType. */
const char *answer_status(struct answer *a, const struct err *err);

/* {"status":"error",…} with the HTTP status that the code stands for. */
void answer_error(struct answer *a, const struct err *err);

/* The same as text: go tool pprof shows that, of others the status alone. */
void answer_pprof_error(struct answer *a, const struct err *err);

/* A body of text that is a constant, or borrowed for the call. */
void answer_text(struct answer *a, unsigned status, const char *content_type,
		 struct str text);

/* X-Everprof-Labels and -Timestamp: which profile the answer is about. */
void answer_identity(struct answer *a, struct request *r, struct labels *labels,
		     int64_t ms);

#endif
