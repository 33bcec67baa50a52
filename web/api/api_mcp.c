/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /mcp: messages of the Model Context Protocol, by which assistants ask for
 * profiles. What they mean is in mcp/.
 */
#include "base/transcode.h"
#include "mcp/protocol/mcp.h"
#include "web/api/api.h"
#include "web/api/context.h"
#include "web/api/envelope.h"

enum {
	/* A selector has 64 KiB, and a list of messages 16 of them, most of them short. */
	MESSAGE_MAX = 256 * 1024
};

/* Check that the request may be one of the protocol. */
static int api_mcp_check(const struct web *w, const struct request *r,
			 struct err *err)
{
	bool is_json = false;

	if (!w->o.mcp)
		return err_set(
			err, ERR_NOTFOUND,
			"the Model Context Protocol is switched off (--no-web.mcp)");
	/* A page that a browser shows must not ask as its reader. */
	if (r->is_foreign)
		return err_set(
			err, ERR_DENIED,
			"the origin of the request is not allowed: see --web.cors.origin");
	if (transcode_format(r->content_type, &is_json, err) || !is_json)
		return err_set(
			err, ERR_MEDIA,
			"the Content-Type of messages must be application/json, not \"%.100s\"",
			r->content_type);
	if (r->body.len > MESSAGE_MAX)
		return err_set(err, ERR_TOOBIG,
			       "a message may have at most %d bytes",
			       MESSAGE_MAX);
	return 0;
}

void api_mcp(void *ctx, struct request *r, struct answer *a)
{
	const struct web *w = ctx;
	const struct mcp_request request = {
		.db = w->o.db,
		.symbolizer = w->o.symbolizer,
		.source_root = w->o.source_root,
		.server_version = w->o.version,
		.work = &a->work,
		.arena = &r->arena,
		.now_ms = r->params.now_ms,
		.body = r->body,
		.version = r->mcp_version,
		.method = r->mcp_method,
		.name = r->mcp_name,
	};
	struct err err;
	int rc = api_mcp_check(w, r, &err);

	/* The tree of the message takes many times its bytes. */
	if (!rc)
		rc = query_take(&a->work,
				(int64_t)transcode_json_memory(r->body), &err);
	if (!rc) {
		a->status = mcp_answer(&request, &a->body);
		a->content_type = "application/json";
		rc = query_take_output(&a->work, &err);
	}
	if (rc)
		answer_rpc_error(a, &err);
}
