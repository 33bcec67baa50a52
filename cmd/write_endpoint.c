/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/write_endpoint.h"

/* Implements web_writer.write. */
static int write_endpoint_write(void *ctx, const struct web_write *in,
				size_t *stored, struct err *err)
{
	const struct write_input w = {
		.content_type = in->content_type,
		.content_encoding = in->content_encoding,
		.body = in->body,
		.share = in->share,
		.deadline_ns = in->deadline_ns,
	};
	struct write_outcome out;
	int rc = receiver_write(ctx, &w, &out, err);

	*stored = out.stored;
	return rc;
}

struct web_writer write_endpoint(struct receiver *r, bool enabled,
				 struct ingest_limiter *limiter)
{
	return (struct web_writer){ .ctx = r,
				    .enabled = enabled,
				    .write = write_endpoint_write,
				    .limiter = limiter,
				    .max_body = receiver_max_body(r) };
}
