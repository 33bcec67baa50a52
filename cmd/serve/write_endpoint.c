/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/write_endpoint.h"

/* Implement web_writer.write. */
static int write_endpoint_write(void *ctx, const struct web_write *in,
				size_t *stored, struct err *err)
{
	const struct write_input w = {
		.content_type = in->content_type,
		.content_encoding = in->content_encoding,
		.content_digest = in->content_digest,
		.body = in->body,
		.share = in->share,
		.deadline_ns = in->deadline_ns,
	};
	struct write_outcome out;
	int rc = receiver_write(ctx, &w, &out, err);

	*stored = out.stored;
	return rc;
}

/* Implement web_writer.counts. */
static struct web_writer_counts write_endpoint_counts(void *ctx)
{
	const struct receiver_counts c = receiver_counts_of(ctx);

	return (struct web_writer_counts){ .stored = c.stored,
					   .refused = c.refused,
					   .conflicts = c.conflicts };
}

struct web_writer write_endpoint(struct receiver *r, bool enabled,
				 struct ingest_limiter *limiter)
{
	return (struct web_writer){ .ctx = r,
				    .enabled = enabled,
				    .write = write_endpoint_write,
				    .counts = write_endpoint_counts,
				    .limiter = limiter,
				    .max_body = receiver_max_body(r) };
}

/* A callback of the web server, and its argument. */
struct each_queue {
	void (*fn)(void *arg, const struct web_queue *q);
	void *arg;
};

/* Pass the state of a queue to the web server. */
static void sender_endpoint_show(void *ctx, const struct queue_status *s)
{
	const struct each_queue *e = ctx;
	const struct web_queue q = { .name = s->name,
				     .url = s->url,
				     .shards = s->shards,
				     .pending = s->pending,
				     .backlog_bytes = s->backlog_bytes,
				     .sent_ms = s->sent_ms,
				     .answer_ms = s->answer_ms,
				     .last_error = s->last_error };

	e->fn(e->arg, &q);
}

/* Implement web_sender.each. */
static void sender_endpoint_each(
	void *ctx, void (*fn)(void *arg, const struct web_queue *q), void *arg)
{
	struct each_queue e = { .fn = fn, .arg = arg };

	sender_each(ctx, sender_endpoint_show, &e);
}

struct web_sender sender_endpoint(struct sender *s)
{
	return (struct web_sender){ .ctx = s, .each = sender_endpoint_each };
}
