/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/sender/send_attempt.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/snappy.h"
#include "base/units.h"
#include "client/http_status.h"
#include "remotewrite/policy/retry.h"
#include "remotewrite/sender/queue_private.h"

/* Level of zstd for requests; see docs/decisions.md, 123. */
#define ZSTD_LEVEL 3

/* Largest body of a response that is read, in bytes. */
#define ANSWER_MAX (64 * KIB)

/* Compresses the message, unless the shard has it so from the last attempt. */
static void compress_message(struct shard *s, bool zstd)
{
	if (s->compressed && s->compressed_zstd == zstd)
		return;
	s->compressed = true;
	s->compressed_zstd = zstd;
	buf_reset(&s->body);
	if (zstd)
		/* With an empty prefix, the window covers the whole message. */
		zstd_compress_after(s->zstd, ZSTD_LEVEL, (struct bytes){ 0 },
				    buf_bytes(&s->message), &s->body);
	else
		snappy_add_block(buf_bytes(&s->message), &s->body);
}

/* Called in the shard's thread when a request has ended. */
static void shard_on_answer(void *ctx, struct http_response *r)
{
	struct attempt *a = ctx;
	struct err err;
	struct str after = http_response_header(r, "Retry-After");
	char text[64];

	a->done = true;
	a->status = r->code ? 0 : r->status;
	snprintf(text, sizeof(text), "%.*s", STR_ARG(after));
	a->retry_after_ms = retry_after_ms(text, clock_ms(NULL));
	if (!r->code && r->status / 100 == 2)
		return;
	if (!http_status_check(r, &err))
		return;
	snprintf(a->error, sizeof(a->error), "%.255s", err.msg);
}

void attempt_send(struct shard *s, bool zstd, unsigned number,
		  struct attempt *a)
{
	const struct remote_write_config *c = &s->q->config;
	const char **headers =
		mem_alloc((c->header_count + 5) * sizeof(*headers));
	char retry[40];
	size_t n = 0;
	struct http_request r = { .url = c->url.ptr,
				  .config = s->q->http,
				  .timeout_ms = c->timeout_ms,
				  .max_body = ANSWER_MAX,
				  .user_agent = s->q->o.user_agent,
				  .headers = headers,
				  .keep_headers = true,
				  .done = shard_on_answer,
				  .ctx = a };
	int64_t began;

	compress_message(s, zstd);
	r.body = buf_bytes(&s->body);
	snprintf(retry, sizeof(retry), "Retry-Attempt: %u", number - 1);
	headers[n++] = "Content-Type: application/x-protobuf";
	headers[n++] = zstd ? "Content-Encoding: zstd" :
			      "Content-Encoding: snappy";
	headers[n++] = "X-Everprof-Remote-Write-Version: 0.1.0";
	if (number > 1)
		headers[n++] = retry;
	memcpy(headers + n, c->headers, c->header_count * sizeof(*headers));
	headers[n + c->header_count] = NULL;
	*a = (struct attempt){ 0 };
	began = clock_mono_ns();
	http_start(s->client, &r);
	while (!a->done && !queue_is_stopping(s->q))
		http_poll(s->client, 1000);
	if (!a->done)
		http_cancel(s->client, NULL);
	histogram_observe(s->q->metrics.duration, clock_mono_ns() - began);
	mem_free(headers);
}
