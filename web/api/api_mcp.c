/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /mcp: messages of the Model Context Protocol, by which assistants ask for
 * profiles. What they mean is in mcp/.
 */
#include "mcp/protocol/mcp.h"
#include "web/api/api.h"
#include "web/api/context.h"
#include "web/api/envelope.h"

/* Check that the request may be one of the protocol. */
static int api_mcp_check(const struct web *w, const struct request *r,
			 struct err *err)
{
	struct str type = str_of(r->content_type);

	if (!w->o.mcp)
		return err_set(
			err, ERR_NOTFOUND,
			"the Model Context Protocol is switched off (--no-web.mcp)");
	/* A page that a browser shows must not ask as its reader. */
	if (r->is_foreign)
		return err_set(
			err, ERR_DENIED,
			"the origin of the request is not allowed: see --web.cors.origin");
	if (!str_starts(type, str_of("application/json")))
		return err_set(
			err, ERR_MEDIA,
			"the Content-Type of messages is application/json, not \"%.100s\"",
			r->content_type);
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

	if (!rc) {
		a->status = mcp_answer(&request, &a->body);
		a->content_type = "application/json";
		rc = query_take_output(&a->work, &err);
	}
	if (rc)
		answer_rpc_error(a, &err);
}
