/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pusher: sends samples to a receiver of remote write, one request after the
 * other, and waits for each response. `everprof push` uses it; everprof serve
 * and everprof agent use the sender (sender.h).
 *
 * Ownership: pusher_free() frees a pusher. Options are borrowed for as long as
 * the pusher is used; samples are copied.
 * Threads: one thread at a time.
 */
#ifndef REMOTEWRITE_SEND_PUSHER_H
#define REMOTEWRITE_SEND_PUSHER_H

#include "base/err.h"
#include "model/appender.h"

struct http_config;
struct pusher;

/* Options of pusher_new(). */
struct pusher_options {
	const char *url;
	struct http_config *http; /* may be NULL */
	const char *user_agent;
	int64_t timeout_ms; /* of a request */
	/*
	 * For how long a request is repeated after temporary failures, from its
	 * first attempt on. As long as no connection to the receiver has
	 * succeeded, a failed attempt is not repeated.
	 */
	int64_t retry_ms;
	int64_t rate; /* maximum bytes of requests a second; 0: no limit */
	/*
	 * Called when the outcome is known for the next `count` samples, in the
	 * order of pusher_add(): `refused` of them will never be accepted,
	 * because of `why`, and all others are durable. If this function
	 * returns an error, the push ends with that error.
	 */
	int (*settled)(void *ctx, size_t count, size_t refused, const char *why,
		       struct err *err);
	/*
	 * Called when an attempt has failed because of `why` and will be
	 * repeated, before the wait for the next attempt.
	 */
	void (*retries)(void *ctx, const char *why);
	/*
	 * Called after each attempt; `bytes` is the size of the compressed
	 * body.
	 */
	void (*sent)(void *ctx, size_t bytes);
	void *ctx;
};

/* Create a pusher. ERR_IO: the system has no descriptors left. */
NODISCARD int pusher_new(const struct pusher_options *o, struct pusher **out,
			 struct err *err);

/*
 * Free a pusher; samples whose outcome is not known yet are dropped. NULL is a
 * no-op.
 */
void pusher_free(struct pusher *p);

/*
 * Add a sample. If the waiting samples are now enough to fill a request, send a
 * request. The errors are those of pusher_flush().
 */
NODISCARD int pusher_add(struct pusher *p, const struct sample *s,
			 struct err *err);

/*
 * Send all samples that wait, and return when their outcome is known.
 * ERR_INVALID: the receiver answers with an HTTP status that a retry would get,
 * too, for example because the credentials are wrong. ERR_TIMEOUT: a request
 * has not succeeded within retry_ms. ERR_CLOSED: no connection to the receiver
 * has ever succeeded. ERR_CORRUPT: a sample is damaged. Errors of settled() are
 * passed on.
 */
NODISCARD int pusher_flush(struct pusher *p, struct err *err);

#endif
