/* SPDX-License-Identifier: Apache-2.0 */
#include "web/api/envelope.h"

#include "convert/otlp/otlp_json.h"

#include "base/units.h"

#include "web/api/context.h"
#include "web/grpc/grpc_code.h"

#include <inttypes.h>

#define JSON_TYPE "application/json; charset=utf-8"
/* Largest value of X-Everprof-Labels, in bytes. */
#define LABELS_HEADER_MAX ((size_t)8 * KIB)

/*
 * The HTTP status and Prometheus' errorType for each error code. Other codes
 * have the status 500.
 */
static const struct {
	int code;
	unsigned status;
	const char *type;
} statuses[] = {
	{ ERR_INVALID, 400, "bad_data" },
	{ ERR_NOTFOUND, 404, "not_found" },
	{ ERR_EXISTS, 409, "conflict" },
	{ ERR_TOOBIG, 413, "too_large" },
	{ ERR_MEDIA, 415, "unsupported" },
	{ ERR_LIMIT, 429, "limit" },
	{ ERR_UNSUPPORTED, 501, "unimplemented" },
	{ ERR_UNAUTHORIZED, 401, "unauthorized" },
	{ ERR_DENIED, 403, "forbidden" },
	{ ERR_NOSPACE, 503, "unavailable" },
	{ ERR_BUSY, 503, "unavailable" },
	{ ERR_AGAIN, 503, "unavailable" },
	{ ERR_CLOSED, 503, "unavailable" },
	{ ERR_TIMEOUT, 503, "timeout" },
};

struct json envelope_begin(struct answer *a)
{
	struct json j = json_init(&a->body);

	json_begin(&j, '{');
	json_key(&j, "status");
	json_text(&j, "success");
	json_key(&j, "data");
	return j;
}

void envelope_end(struct json *j, struct answer *a, const char *const *warnings)
{
	if (warnings && *warnings) {
		json_key(j, "warnings");
		json_begin(j, '[');
		for (; *warnings; warnings++)
			json_text(j, *warnings);
		json_end(j, ']');
	}
	json_end(j, '}');
	a->status = 200;
	a->content_type = JSON_TYPE;
}

void envelope_time(struct json *j, const char *key, int64_t ms)
{
	char text[40] = "";

	if (ms)
		time_format(ms, text);
	json_key(j, key);
	json_text(j, text);
}

const char *answer_status(struct answer *a, const struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		if (statuses[i].code == err->code) {
			a->status = statuses[i].status;
			return statuses[i].type;
		}
	}
	a->status = 500;
	return "internal";
}

void answer_error(struct answer *a, const struct err *err)
{
	struct json j = json_init(&a->body);
	const char *type = answer_status(a, err);

	/* Drop everything that the handler wrote before the error. */
	buf_reset(&a->body);
	a->header_count = 0;
	a->content_type = JSON_TYPE;
	json_begin(&j, '{');
	json_key(&j, "status");
	json_text(&j, "error");
	json_key(&j, "errorType");
	json_text(&j, type);
	json_key(&j, "error");
	json_text(&j, err->msg);
	json_end(&j, '}');
	if (a->status == 429)
		answer_header(a, "Retry-After", "5");
}

void answer_plain_error(struct answer *a, const struct err *err)
{
	answer_error(a, err);
	if (err->code == ERR_CORRUPT || err->code == ERR_EXISTS)
		a->status = 422;
	if (err->code == ERR_IO)
		a->status = 503;
	buf_reset(&a->body);
	buf_str(&a->body, err->msg);
	a->content_type = "text/plain; charset=utf-8";
}

void answer_rpc_error(struct answer *a, const struct err *err)
{
	/* A code for servers (jsonrpc.org/specification, 5.1). */
	static const char begin[] =
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":";

	answer_error(a, err);
	buf_reset(&a->body);
	buf_str(&a->body, begin);
	json_quote(&a->body, str_of(err->msg));
	buf_str(&a->body, "}}");
	a->content_type = "application/json";
}

void answer_connect_error(struct answer *a, const struct err *err)
{
	static const struct {
		int code;
		unsigned status;
		const char *name;
	} codes[] = {
		{ ERR_INVALID, 400, "invalid_argument" },
		{ ERR_CORRUPT, 400, "invalid_argument" },
		{ ERR_EXISTS, 400, "invalid_argument" },
		/* Not resource_exhausted, after which clients try again. */
		{ ERR_TOOBIG, 400, "invalid_argument" },
		{ ERR_UNAUTHORIZED, 401, "unauthenticated" },
		{ ERR_DENIED, 403, "permission_denied" },
		{ ERR_NOTFOUND, 404, "not_found" },
		{ ERR_MEDIA, 415, "invalid_argument" },
		{ ERR_LIMIT, 429, "resource_exhausted" },
		{ ERR_UNSUPPORTED, 501, "unimplemented" },
		{ ERR_NOSPACE, 503, "unavailable" },
		{ ERR_BUSY, 503, "unavailable" },
		{ ERR_AGAIN, 503, "unavailable" },
		{ ERR_CLOSED, 503, "unavailable" },
		{ ERR_IO, 503, "unavailable" },
		{ ERR_TIMEOUT, 504, "deadline_exceeded" },
	};
	struct json j = json_init(&a->body);
	const char *name = "internal";

	answer_error(a, err);
	a->status = 500;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (codes[i].code == err->code) {
			a->status = codes[i].status;
			name = codes[i].name;
		}
	}
	buf_reset(&a->body);
	/* The protocol allows no parameter after the type. */
	a->content_type = "application/json";
	json_begin(&j, '{');
	json_key(&j, "code");
	json_text(&j, name);
	json_key(&j, "message");
	json_text(&j, err->msg);
	json_end(&j, '}');
	if (a->status == 415)
		answer_header(a, "Accept-Post",
			      "application/proto, application/json");
}

void answer_otlp_error(struct answer *a, const struct err *err, bool is_json,
		       const char *content_type)
{
	/* Clients send again after 429, 502, 503 and 504 only. */
	static const struct {
		int code;
		unsigned status;
	} codes[] = {
		{ ERR_CORRUPT, 400 },
		{ ERR_EXISTS, 400 },
		{ ERR_IO, 503 },
		{ ERR_TIMEOUT, 504 },
	};

	answer_error(a, err);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (codes[i].code == err->code)
			a->status = codes[i].status;
	}
	buf_reset(&a->body);
	a->content_type = content_type;
	otlp_json_error(grpc_code_of(err->code), str_of(err->msg), is_json,
			&a->body);
}

/*
 * go tool pprof prints the body of an error only if the answer has the header
 * X-Go-Pprof; otherwise it prints only the status.
 */
void answer_pprof_error(struct answer *a, const struct err *err)
{
	answer_error(a, err);
	buf_reset(&a->body);
	buf_printf(&a->body, "%s\n", err->msg);
	a->content_type = "text/plain; charset=utf-8";
	answer_header(a, "X-Go-Pprof", "1");
}

void answer_text(struct answer *a, unsigned status, const char *content_type,
		 struct str text)
{
	a->status = status;
	a->content_type = content_type;
	buf_add(&a->body, text.ptr, text.len);
}

void answer_identity(struct answer *a, struct request *r, struct labels *labels,
		     int64_t ms)
{
	struct buf b = { 0 };
	struct json j = json_init(&b);

	labels_json(labels, &j);
	/*
	 * Labels that are too long for a header are left out; the client can
	 * get them with report=meta.
	 */
	if (b.len <= LABELS_HEADER_MAX)
		answer_header(
			a, "X-Everprof-Labels",
			arena_strndup(&r->arena, str_from(buf_bytes(&b))));
	answer_header(a, "X-Everprof-Timestamp",
		      arena_printf(&r->arena, "%" PRId64, ms));
	buf_fini(&b);
}
