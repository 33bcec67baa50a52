/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Envelope: answers in the API's JSON envelope, error answers, and the headers
 * that identify the profile of an answer.
 *
 * Ownership: borrows request and answer.
 * Threads: any pool thread.
 */
#ifndef WEB_API_ENVELOPE_H
#define WEB_API_ENVELOPE_H

#include "web/api/context.h"

/*
 * Begin a successful answer: write {"status":"success","data":. The caller then
 * writes the data as one JSON value and calls envelope_end().
 */
struct json envelope_begin(struct answer *a);

/*
 * End the answer, with status 200. `warnings` is a NULL-terminated array of
 * sentences; it may itself be NULL, which means no warnings.
 */
void envelope_end(struct json *j, struct answer *a,
		  const char *const *warnings);

/* Write a key and a time as RFC 3339, or an empty text if there is none (0). */
void envelope_time(struct json *j, const char *key, int64_t ms);

/*
 * Set the HTTP status of the answer to the status for an error. Returns the
 * error's errorType (a word in Prometheus' JSON envelope), a constant.
 */
const char *answer_status(struct answer *a, const struct err *err);

/*
 * Turn the answer into an error, {"status":"error",…}, with the HTTP status
 * that corresponds to the error code. Everything written to the answer before
 * is dropped.
 */
void answer_error(struct answer *a, const struct err *err);

/*
 * The same with the message alone, as plain text. A profile that was refused
 * (ERR_CORRUPT, ERR_EXISTS) has the status 422, a disk that fails (ERR_IO) 503,
 * because the client may send the profile again.
 */
void answer_plain_error(struct answer *a, const struct err *err);

/*
 * The same in the form of the Connect protocol, {"code":…,"message":…}, with
 * the statuses that its specification gives to the codes
 * (https://connectrpc.com/docs/protocol/#error-codes).
 */
void answer_connect_error(struct answer *a, const struct err *err);

/*
 * The same as JSON-RPC 2.0 has it, to a message whose id is not known. The status is that
 * of answer_error().
 */
void answer_rpc_error(struct answer *a, const struct err *err);

/*
 * The same in the form of OpenTelemetry's protocol: the message google.rpc.Status, as
 * JSON or in its wire format, of this type, which the answer borrows.
 */
void answer_otlp_error(struct answer *a, const struct err *err, bool is_json,
		       const char *content_type);

/*
 * Turn the answer into an error in plain text. go tool pprof shows this text to
 * its user.
 */
void answer_pprof_error(struct answer *a, const struct err *err);

/*
 * Make `text` the body of the answer. `content_type` must be a constant; `text`
 * is copied.
 */
void answer_text(struct answer *a, unsigned status, const char *content_type,
		 struct str text);

/*
 * Add the headers X-Everprof-Labels and X-Everprof-Timestamp: labels and time
 * of the profile in the answer.
 */
void answer_identity(struct answer *a, struct request *r, struct labels *labels,
		     int64_t ms);

#endif
