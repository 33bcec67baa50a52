/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides what becomes of a batch after an attempt to send it, and how long to
 * wait before the next attempt. All functions except retry_random() are pure.
 *
 * Source: Prometheus, storage/remote/client.go and queue_manager.go. Unlike
 * Prometheus, everprof gives up a batch only after status 400 from a receiver
 * that has looked at the profiles (retry_attempt.judged), or if a single
 * profile is too large (docs/decisions.md, 125).
 *
 * Threads: any.
 */
#ifndef REMOTEWRITE_SEND_RETRY_H
#define REMOTEWRITE_SEND_RETRY_H

#include "base/defs.h"

/* The decision about a batch. */
enum retry_verdict {
	RETRY_SENT,  /* a receiver says that the batch is stored */
	RETRY_LATER, /* the failure may end: send the batch again */
	RETRY_SPLIT, /* the batch is too large: send it in halves */
	RETRY_DROP /* the receiver will never accept the batch or parts of it */
};

/* The outcome of an attempt. */
struct retry_attempt {
	long status; /* the HTTP status; 0: no complete response came */
	/*
	 * whether the response has X-Everprof-Samples-Written: the receiver has
	 * looked at the samples
	 */
	bool judged;
	uint64_t written; /* the value of that header */
	size_t samples;
};

/* Return what to do after an attempt. */
enum retry_verdict retry_decide(const struct retry_attempt *a);

/*
 * Return for how many ms the value of a header Retry-After (RFC 9110, 10.2.3)
 * asks to wait; at most an hour. The value is a number of seconds, or a date,
 * from which `now_ms` is subtracted. 0: the header is missing or malformed, or
 * the date is in the past.
 */
int64_t retry_after_ms(const char *value, int64_t now_ms);

/* The bounds of the waiting time between attempts, in ms. */
struct retry_bounds {
	int64_t min_ms;
	int64_t max_ms;
};

/*
 * Return a random number for retry_backoff_ms(). Processes get different
 * numbers even if they call this function at the same time.
 */
uint64_t retry_random(void);

/*
 * Return how long to wait, in ms, after attempt number `attempt` (from 1) has
 * failed. The time is b->min_ms after the first attempt, and doubles with each
 * further one up to b->max_ms. The random number `random` shortens the time by
 * up to a half, so that senders that failed together do not come back together.
 */
int64_t retry_backoff_ms(const struct retry_bounds *b, unsigned attempt,
			 uint64_t random);

#endif
