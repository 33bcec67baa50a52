/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Envelope: answers in the API's JSON envelope, error answers, and the headers
 * that identify the profile of an answer.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_HANDLER_ENVELOPE_H
#define WEB_HANDLER_ENVELOPE_H

#include "web/handler/context.h"

/*
 * Begin a successful answer: {"status":"success","data": . The caller writes
 * the data as one JSON value, then calls envelope_end().
 */
struct json envelope_begin(struct answer *a);

/*
 * End the answer, with status 200. Warnings are a list of sentences that ends
 * in NULL; NULL stands for an empty list.
 */
void envelope_end(struct json *j, struct answer *a,
		  const char *const *warnings);

/*
 * Set the HTTP status that stands for an error. Returns its errorType, a
 * constant.
 */
const char *answer_status(struct answer *a, const struct err *err);

/*
 * Turn the answer into an error, {"status":"error",…}, with the HTTP status
 * that stands for the code. Whatever was written before is dropped.
 */
void answer_error(struct answer *a, const struct err *err);

/*
 * Make the answer an error in plain text, which go tool pprof shows to its
 * user.
 */
void answer_pprof_error(struct answer *a, const struct err *err);

/* Make the answer a text. content_type must be a constant; text is copied. */
void answer_text(struct answer *a, unsigned status, const char *content_type,
		 struct str text);

/*
 * Add the headers X-Everprof-Labels and X-Everprof-Timestamp, which tell which
 * profile the answer is about.
 */
void answer_identity(struct answer *a, struct request *r, struct labels *labels,
		     int64_t ms);

#endif
