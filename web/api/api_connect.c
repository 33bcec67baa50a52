/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API of Pyroscope that Grafana asks: POST /SERVICE/METHOD by the Connect
 * protocol, whose messages are protocol buffers or JSON
 * (https://connectrpc.com/docs/protocol). What they mean is in pyroscope/.
 */
#include <strings.h>

#include "base/clock.h"
#include "base/compressed_body.h"
#include "pyroscope/answer/methods.h"
#include "web/api/api.h"
#include "web/api/context.h"
#include "web/api/envelope.h"

/* Largest size of a request, decompressed. */
#define MESSAGE_MAX (4 * MIB)

/* A request. */
struct connecting {
	const struct web *w;
	struct request *r;
	struct answer *a;
	const struct pyroscope_method *method;
	bool is_json;
	struct buf inflated;
	struct bytes body;
};

/* Find the method by the path /SERVICE/METHOD. */
static int api_connect_method(struct connecting *c, struct err *err)
{
	struct str path = c->r->path;
	struct str service;

	(void)str_cut(path, '/', &path);
	service = str_cut(path, '/', &path);
	c->method = pyroscope_method_find(service, path);
	if (c->method)
		return 0;
	return err_set(err, ERR_UNSUPPORTED, "%.*s has no method \"%.*s\" here",
		       STR_ARG(service), STR_ARG(str_clip(path, 100)));
}

/* Decompress the body, if it is compressed. */
static int api_connect_inflate(struct connecting *c, struct err *err)
{
	const char *encoding = c->r->content_encoding;
	/* Only an uploaded file comes in a body that is accounted for so. */
	size_t max = c->r->share.taken ? c->w->o.writer.max_body : MESSAGE_MAX;
	size_t size = 0;
	int rc;

	c->body = c->r->body;
	if (!*encoding || !strcasecmp(encoding, "identity"))
		return 0;
	if (strcasecmp(encoding, "gzip") != 0)
		return err_set(
			err, ERR_UNSUPPORTED,
			"unsupported Content-Encoding \"%.100s\": use gzip or identity",
			encoding);
	rc = compressed_body_size(COMPRESSION_GZIP, c->body, max, &size, err);
	if (rc)
		return err_set(
			err, rc,
			"the request is larger than %zu MiB decompressed",
			(size_t)(max / MIB));
	rc = query_take(&c->a->work, (int64_t)size, err);
	if (rc)
		return rc;
	c->inflated = buf_init(size ? size : 1);
	return compressed_body_decode(COMPRESSION_GZIP, NULL, c->body,
				      &c->inflated, &c->body, err);
}

/* A client may want its answer sooner than --query.timeout. */
static void api_connect_hurry(struct connecting *c)
{
	struct query_work *work = &c->a->work;
	int64_t now = clock_mono_ns();
	int64_t ms;

	if (str_to_i64(str_of(c->r->connect_timeout), &ms) && ms > 0 &&
	    ms < 3600000 && now + ms * 1000000 < work->deadline_ns) {
		work->deadline_ns = now + ms * 1000000;
		work->timeout_name = "the header Connect-Timeout-Ms";
	}
}

/* Write the answer in the format of the request. */
static int api_connect_write(struct connecting *c, struct buf *wire,
			     struct err *err)
{
	struct limits limits = query_limits(&c->a->work);

	if (wire->over)
		return err_set(
			err, ERR_LIMIT,
			"the response is larger than --query.memory allows");
	if (c->is_json)
		return transcode_to_json(c->method->answer, buf_bytes(wire),
					 &c->a->body, &limits, err);
	buf_fini(&c->a->body);
	c->a->body = *wire;
	*wire = (struct buf){ 0 };
	return 0;
}

/* Run the method on a message in its wire format. */
static int api_connect_run(struct connecting *c, struct bytes request,
			   struct err *err)
{
	struct buf wire = buf_init((size_t)c->a->work.memory->max);
	struct pyroscope_call call = {
		.db = c->w->o.db,
		.symbolizer = c->w->o.symbolizer,
		.adhoc = c->w->o.adhoc,
		.user = str_of(c->r->who->name),
		.share = &c->r->share,
		.work = &c->a->work,
		.arena = &c->r->arena,
		.all_names = strstr(c->r->accept,
				    "allow-utf8-labelnames=true") != NULL,
		.out = &wire,
	};
	int rc = pyroscope_run(c->method, &call, request, err);

	if (!rc)
		rc = api_connect_write(c, &wire, err);
	buf_fini(&wire);
	if (!rc && call.warning)
		answer_header(c->a, "X-Everprof-Warning",
			      answer_header_text(&c->r->arena,
						 str_of(call.warning),
						 HEADER_TEXT_MAX));
	return rc;
}

/* Read the request, run the method, and write the answer. */
static int api_connect_answer(struct connecting *c, struct err *err)
{
	struct buf request = { 0 };
	int rc = transcode_format(c->r->content_type, &c->is_json, err);

	if (!rc)
		rc = api_connect_method(c, err);
	if (!rc)
		rc = api_connect_inflate(c, err);
	if (rc)
		return rc;
	api_connect_hurry(c);
	if (c->is_json)
		rc = query_take(&c->a->work,
				(int64_t)transcode_json_memory(c->body), err);
	if (!rc && c->is_json)
		rc = transcode_from_json(c->method->request, c->body, &request,
					 err);
	if (!rc)
		rc = api_connect_run(
			c, c->is_json ? buf_bytes(&request) : c->body, err);
	buf_fini(&request);
	return rc;
}

void api_connect(void *ctx, struct request *r, struct answer *a)
{
	struct connecting c = { .w = ctx, .r = r, .a = a };
	struct err err;
	int rc = api_connect_answer(&c, &err);

	buf_fini(&c.inflated);
	/* The data is damaged, not the request. */
	if (rc == ERR_CORRUPT)
		err.code = ERR_IO;
	if (rc) {
		answer_connect_error(a, &err);
		return;
	}
	a->status = 200;
	a->content_type = c.is_json ? "application/json" : "application/proto";
}
