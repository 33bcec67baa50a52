/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/push_endpoint.h"

/* Return the protocol of a request as the receiver names it. */
static enum push_protocol push_endpoint_protocol(enum web_push_protocol p)
{
	switch (p) {
	case WEB_PUSH_INGEST:
		return PUSH_INGEST;
	case WEB_PUSH_V1:
		return PUSH_V1;
	case WEB_PUSH_OTLP_GRPC:
		return PUSH_OTLP_GRPC;
	case WEB_PUSH_DATADOG:
		return PUSH_DATADOG;
	case WEB_PUSH_OTLP:
		break;
	}
	return PUSH_OTLP;
}

/* Return a request as the receiver takes it. */
static struct push_input push_endpoint_input(const struct web_push *in)
{
	return (struct push_input){
		.protocol = push_endpoint_protocol(in->protocol),
		.content_type = in->content_type,
		.content_encoding = in->content_encoding,
		.address = in->address,
		.agent = in->agent,
		.user = in->user,
		.name = in->name,
		.from = in->from,
		.until = in->until,
		.rate = in->rate,
		.format = in->format,
		.spy = in->spy,
		.body = in->body,
		.share = in->share,
		.deadline_ns = in->deadline_ns,
		.refused = in->refused,
	};
}

/* Implement web_pusher.take. */
static int push_endpoint_take(void *ctx, const struct web_push *in,
			      struct err *err)
{
	const struct push_input input = push_endpoint_input(in);

	return push_receiver_take(ctx, &input, err);
}

/* Implement web_pusher.refused. */
static void push_endpoint_refused(void *ctx, const struct web_push *in,
				  const char *why)
{
	const struct push_input input = push_endpoint_input(in);

	push_receiver_note_refused(ctx, &input, why);
}

/* The function that web_pusher.each calls, and its argument. */
struct push_visit {
	void (*fn)(void *arg, const struct web_push_sender *s);
	void *arg;
};

/* Pass a row of the list of senders on. */
static void push_endpoint_visit(void *arg, const struct push_sender *row)
{
	const struct push_visit *visit = arg;
	const struct web_push_sender s = {
		.protocol = row->protocol,
		.service = row->service,
		.agent = row->agent,
		.user = row->user,
		.address = row->address,
		.stored = row->counts[PUSH_STORED],
		.dropped = row->counts[PUSH_DROPPED],
		.refused = row->counts[PUSH_REFUSED],
		.delayed = row->counts[PUSH_DELAYED],
		.first_ms = row->first_ms,
		.last_ms = row->last_ms,
		.why = row->why,
		.why_ms = row->why_ms,
	};

	visit->fn(visit->arg, &s);
}

/* Implement web_pusher.each. */
static void push_endpoint_each(void *ctx,
			       void (*fn)(void *arg,
					  const struct web_push_sender *s),
			       void *arg)
{
	struct push_visit visit = { fn, arg };

	push_senders_each(push_receiver_senders(ctx), push_endpoint_visit,
			  &visit);
}

struct web_pusher push_endpoint(struct push_receiver *r, bool enabled)
{
	return (struct web_pusher){ .ctx = r,
				    .enabled = enabled,
				    .take = push_endpoint_take,
				    .refused = push_endpoint_refused,
				    .each = push_endpoint_each };
}
