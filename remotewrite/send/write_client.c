/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/write_client.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/snappy.h"
#include "base/units.h"
#include "base/zstd.h"
#include "client/address/endpoint.h"
#include "client/transfer/http.h"
#include "client/transfer/http_status.h"
#include "remotewrite/send/retry.h"
#include "remotewrite/wire/write_body.h"
#include "remotewrite/wire/write_builder.h"

/* Level of zstd for requests; see docs/decisions.md, 123. */
#define ZSTD_LEVEL 3

/* Largest body of a response that is read, in bytes. */
#define ANSWER_MAX (64 * KIB)

/* in bytes; larger buffers are freed before the next message */
#define KEEP ((size_t)8 * MIB)

struct write_client {
	struct write_client_options o;
	struct http_client *http;
	struct write_builder *builder;
	struct zstd *zstd;
	struct buf message;
	size_t samples;    /* in the message */
	struct buf body;   /* the message, compressed */
	struct buf digest; /* the header line with the digest of the body */
};

int write_client_new(const struct write_client_options *o,
		     struct write_client **out, struct err *err)
{
	struct http_client *http = NULL;
	struct write_client *c;
	int rc = http_client_new(&http, err);

	if (rc)
		return rc;
	c = mem_new(struct write_client);
	c->o = *o;
	c->http = http;
	c->builder = write_builder_new();
	c->zstd = zstd_new();
	*out = c;
	return 0;
}

void write_client_free(struct write_client *c)
{
	if (!c)
		return;
	http_client_free(c->http);
	write_builder_free(c->builder);
	zstd_free(c->zstd);
	buf_fini(&c->message);
	buf_fini(&c->body);
	buf_fini(&c->digest);
	mem_free(c);
}

void write_client_begin(struct write_client *c)
{
	if (c->message.cap > KEEP)
		buf_fini(&c->message);
	if (c->body.cap > KEEP)
		buf_fini(&c->body);
	buf_reset(&c->message);
	c->samples = 0;
}

int write_client_add(struct write_client *c, const struct logged_sample *s,
		     struct err *err)
{
	int rc = write_builder_add(c->builder, s->labels, s, &c->message, err);

	c->samples += !rc;
	return rc;
}

/* Compress the message, and compute the digest of the result. */
static void compress_message(struct write_client *c)
{
	buf_reset(&c->body);
	if (c->o.zstd)
		/*
		 * zstd_compress_after(), here with an empty prefix, uses a
		 * window that covers the whole message.
		 */
		zstd_compress_after(c->zstd, ZSTD_LEVEL, (struct bytes){ 0 },
				    buf_bytes(&c->message), &c->body);
	else
		snappy_add_block(buf_bytes(&c->message), &c->body);
	buf_reset(&c->digest);
	buf_str(&c->digest, "Content-Digest: ");
	write_body_digest(buf_bytes(&c->body), &c->digest);
}

/*
 * Callback of the HTTP client for the end of a request: copy the outcome from
 * the response to the struct attempt `ctx`.
 */
static void write_client_on_answer(void *ctx, struct http_response *r)
{
	struct attempt *a = ctx;
	struct err err;
	int64_t written = 0;
	char text[64];

	a->done = true;
	/*
	 * The status counts even if the headers or the body were too large to
	 * be read.
	 */
	a->status = r->code && r->code != ERR_TOOBIG ? 0 : r->status;
	snprintf(text, sizeof(text), "%.*s",
		 STR_ARG(http_response_header(r, "Retry-After")));
	a->connected = r->connected;
	a->retry_after_ms = retry_after_ms(text, clock_ms(NULL));
	a->judged = str_to_i64(
		http_response_header(r, "X-Everprof-Samples-Written"),
		&written);
	a->written = written > 0 ? (uint64_t)written : 0;
	if (a->status / 100 == 2 && a->judged && a->written >= a->samples)
		return;
	if (a->status / 100 == 2)
		snprintf(
			a->error, sizeof(a->error),
			"the answer with status %ld does not say that all profiles are stored (header X-Everprof-Samples-Written), so it is probably not from an everprof server: check the URL, and proxies on the way",
			a->status);
	else if (http_status_check(r, &err))
		snprintf(a->error, sizeof(a->error), "%s", err.msg);
}

/*
 * Send the compressed message, and wait for the response, but only until
 * stops(ctx) returns true.
 */
static void send_body(struct write_client *c, const char *const *headers,
		      bool (*stops)(void *ctx), void *ctx, struct attempt *a)
{
	const struct http_request r = { .url = c->o.url,
					.config = c->o.http,
					.timeout_ms = c->o.timeout_ms,
					.max_body = ANSWER_MAX,
					.user_agent = c->o.user_agent,
					.body = buf_bytes(&c->body),
					.headers = headers,
					.keep_headers = true,
					.has_secret = endpoint_url_has_secret(
						str_of(c->o.url)),
					.done = write_client_on_answer,
					.ctx = a };

	transfer_start(c->http, &r);
	while (!a->done && !stops(ctx))
		http_poll(c->http, 1000);
	if (a->done)
		return;
	http_cancel(c->http, NULL);
	a->done = false;
}

void write_client_send(struct write_client *c, unsigned number,
		       bool (*stops)(void *ctx), void *ctx, struct attempt *a)
{
	const char **headers =
		mem_alloc((c->o.header_count + 6) * sizeof(*headers));
	int64_t began;
	char retry[40];
	size_t n = 0;

	if (number == 1)
		compress_message(c);
	snprintf(retry, sizeof(retry), "Retry-Attempt: %u", number - 1);
	headers[n++] = "Content-Type: application/x-protobuf";
	headers[n++] = c->o.zstd ? "Content-Encoding: zstd" :
				   "Content-Encoding: snappy";
	headers[n++] = buf_cstr(&c->digest);
	headers[n++] = "X-Everprof-Remote-Write-Version: 0.1.0";
	if (number > 1)
		headers[n++] = retry;
	if (c->o.header_count)
		memcpy(headers + n, c->o.headers,
		       c->o.header_count * sizeof(*headers));
	headers[n + c->o.header_count] = NULL;
	*a = (struct attempt){ .samples = c->samples,
			       .message_len = c->message.len,
			       .body_len = c->body.len };
	began = clock_mono_ns();
	send_body(c, headers, stops, ctx, a);
	a->took_ns = clock_mono_ns() - began;
	mem_free(headers);
}

void write_client_wake(struct write_client *c)
{
	http_wake(c->http);
}
