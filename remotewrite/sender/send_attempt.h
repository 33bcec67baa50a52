/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An attempt of a shard to send its message: compresses it, sends it as one
 * request, and waits for the response.
 *
 * Ownership: plain values.
 * Threads: the thread of the shard.
 */
#ifndef REMOTEWRITE_SENDER_SEND_ATTEMPT_H
#define REMOTEWRITE_SENDER_SEND_ATTEMPT_H

#include "base/defs.h"

struct shard;

/* The outcome of an attempt, copied from the response. */
struct attempt {
	bool done;   /* false: the queue stops, and the outcome is not known */
	long status; /* 0: there was no response */
	int64_t retry_after_ms; /* 0: the response does not say */
	char error[256];        /* "": the request was accepted */
};

/*
 * Sends the message of a shard once, compressed with zstd or with snappy.
 * `number` counts the attempts with this message from 1.
 */
void attempt_send(struct shard *s, bool zstd, unsigned number,
		  struct attempt *a);

#endif
