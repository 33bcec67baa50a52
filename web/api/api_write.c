/* SPDX-License-Identifier: Apache-2.0 */
#include "web/api/api_write.h"

#include "web/handler/context.h"
#include "web/handler/envelope.h"

void api_write(void *ctx, struct request *r, struct answer *a)
{
	const struct web_writer *writer = &((struct web *)ctx)->o.writer;
	struct web_write in = { .content_type = r->content_type,
				.content_encoding = r->content_encoding,
				.body = r->body,
				.share = &r->share,
				.deadline_ns = r->deadline_ns };
	size_t stored = 0;
	struct err err;
	int rc;

	if (writer->enabled)
		rc = writer->write(writer->ctx, &in, &stored, &err);
	else
		rc = err_set(
			&err, ERR_NOTFOUND,
			"remote write is disabled: start everprof with --web.enable-remote-write-receiver");
	if (rc)
		answer_error(a, &err);
	else
		answer_text(a, 204, "text/plain; charset=utf-8", str_of(""));
	answer_header(a, "X-Everprof-Samples-Written",
		      arena_printf(&r->arena, "%zu", stored));
}
