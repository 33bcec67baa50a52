/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP JSON: requests and answers of OpenTelemetry's protocol for profiles in its JSON
 * format, in which ids are hexadecimal digits.
 *
 * Threads: pure functions.
 */
#ifndef CONVERT_OTLP_OTLP_JSON_H
#define CONVERT_OTLP_OTLP_JSON_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Tell by the header Content-Type whether a request is JSON or in its wire format.
 * ERR_MEDIA: neither.
 */
NODISCARD int otlp_json_format(const char *content_type, bool *is_json,
			       struct err *err);

/*
 * Append a request that is written as JSON to `out` in its wire format, as of release
 * 1.11: in JSON, the releases since 1.8 differ in names only. Errors as for
 * transcode_from_json().
 */
NODISCARD int otlp_json_request(struct bytes json, struct buf *out,
				struct err *err);

/*
 * Append the answer of a request of which `refused` profiles were refused, and why, to
 * `out`: the message ExportProfilesServiceResponse, as JSON or in its wire format.
 */
void otlp_json_answer(uint64_t refused, struct str why, bool is_json,
		      struct buf *out);

/* The same for an error: the message google.rpc.Status. */
void otlp_json_error(uint32_t code, struct str why, bool is_json,
		     struct buf *out);

#endif
