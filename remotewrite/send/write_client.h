/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP side of a sender: builds a message from samples, compresses it,
 * sends it as a request, and waits for the response. Whether and when to send
 * the message again is the caller's decision; see remotewrite/send/retry.h.
 *
 * Ownership: write_client_free() frees a client. Its options are borrowed for
 * as long as the client is used.
 * Threads: one thread uses a client; any thread may call write_client_wake().
 */
#ifndef REMOTEWRITE_SEND_WRITE_CLIENT_H
#define REMOTEWRITE_SEND_WRITE_CLIENT_H

#include "base/err.h"
#include "model/sample_log.h"

struct http_config;

/* Options of a client. */
struct write_client_options {
	const char *url;
	struct http_config *http; /* may be NULL */
	bool zstd; /* requests are compressed with zstd, not with snappy */
	const char *const *headers; /* more headers, "Name: value" */
	size_t header_count;
	const char *user_agent;
	int64_t timeout_ms; /* of a request */
};

/* The outcome of one attempt to send a message. */
struct attempt {
	bool done;   /* false: the attempt was interrupted; outcome unknown */
	long status; /* 0: no complete response came */
	bool connected; /* a connection existed, even without a response */
	int64_t retry_after_ms; /* 0: the response does not say */
	bool judged;            /* the response has the number `written` */
	uint64_t written;       /* how many samples are durable */
	int64_t took_ns;
	size_t samples; /* in the message */
	size_t message_len;
	size_t body_len; /* the message, compressed */
	/* why the attempt failed; "": the request was accepted */
	char error[512];
};

struct write_client;

/* Create a client. ERR_IO: the system has no descriptors left. */
NODISCARD int write_client_new(const struct write_client_options *o,
			       struct write_client **out, struct err *err);

/* Free a client. NULL is a no-op. */
void write_client_free(struct write_client *c);

/* Begin a message. A buffer that has become large is freed. */
void write_client_begin(struct write_client *c);

/*
 * Add a sample; s->labels is the output of write_labels_encode(). ERR_CORRUPT:
 * the body of the sample is damaged; the message stays as before.
 */
NODISCARD int write_client_add(struct write_client *c,
			       const struct logged_sample *s, struct err *err);

/*
 * Send the message once. `number` counts the attempts with this message from 1;
 * attempt 1 compresses the message. While the request runs, stops(ctx) is
 * called soon after write_client_wake(), and at least about once a second; if
 * stops() returns true, the request is interrupted.
 */
void write_client_send(struct write_client *c, unsigned number,
		       bool (*stops)(void *ctx), void *ctx, struct attempt *a);

/*
 * Make write_client_send(), if it waits in another thread, call stops() soon.
 */
void write_client_wake(struct write_client *c);

#endif
