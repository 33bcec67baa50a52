/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/push_endpoint.h"

/* Implement web_pusher.take. */
static int push_endpoint_take(void *ctx, const struct web_push *in,
			      struct err *err)
{
	const struct push_input input = {
		.protocol = in->protocol == WEB_PUSH_INGEST ? PUSH_INGEST :
							      PUSH_V1,
		.content_type = in->content_type,
		.content_encoding = in->content_encoding,
		.address = in->address,
		.name = in->name,
		.from = in->from,
		.format = in->format,
		.spy = in->spy,
		.body = in->body,
		.share = in->share,
		.deadline_ns = in->deadline_ns,
	};

	return push_receiver_take(ctx, &input, err);
}

struct web_pusher push_endpoint(struct push_receiver *r, bool enabled)
{
	return (struct web_pusher){ .ctx = r,
				    .enabled = enabled,
				    .take = push_endpoint_take };
}
