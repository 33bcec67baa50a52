/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API of remote write: POST /api/v1/write, which passes the requests of
 * senders to the receiver (docs/format/remote-write.md), and the status of
 * remote write.
 */
#include "web/api/api.h"

#include "base/units.h"
#include "web/api/context.h"
#include "web/api/envelope.h"

void api_write(void *ctx, struct request *r, struct answer *a)
{
	const struct web_writer *writer = &((struct web *)ctx)->o.writer;
	struct web_write in = { .content_type = r->content_type,
				.content_encoding = r->content_encoding,
				.content_digest = r->content_digest,
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

/*
 * Callback for each receiver that this server sends to: write it as an object.
 */
static void api_write_queue(void *arg, const struct web_queue *q)
{
	struct json *j = arg;

	json_begin(j, '{');
	json_key(j, "name");
	json_text(j, q->name);
	json_key(j, "url");
	json_text(j, q->url);
	json_key(j, "shards");
	json_int(j, q->shards);
	json_key(j, "pending");
	json_int(j, (int64_t)q->pending);
	json_key(j, "backlogBytes");
	json_int(j, (int64_t)q->backlog_bytes);
	envelope_time(j, "newestSent", q->sent_ms);
	envelope_time(j, "lastSuccess", q->answer_ms);
	json_key(j, "lastError");
	json_text(j, q->last_error);
	json_end(j, '}');
}

/* Write what this server has received. */
static void api_write_receiver(struct json *j, const struct web_writer *w)
{
	struct web_writer_counts c = { 0 };

	if (w->counts)
		c = w->counts(w->ctx);
	json_begin(j, '{');
	json_key(j, "enabled");
	json_bool(j, w->enabled);
	json_key(j, "stored");
	json_int(j, (int64_t)c.stored);
	json_key(j, "refused");
	json_int(j, (int64_t)c.refused);
	json_key(j, "conflicts");
	json_int(j, (int64_t)c.conflicts);
	json_end(j, '}');
}

void api_status_remote_write(void *ctx, struct request *r UNUSED,
			     struct answer *a)
{
	const struct web *w = ctx;
	struct json j = envelope_begin(a);

	json_begin(&j, '{');
	json_key(&j, "receivers");
	json_begin(&j, '[');
	if (w->o.sender.each)
		w->o.sender.each(w->o.sender.ctx, api_write_queue, &j);
	json_end(&j, ']');
	json_key(&j, "receiver");
	api_write_receiver(&j, &w->o.writer);
	json_end(&j, '}');
	envelope_end(&j, a, NULL);
}
