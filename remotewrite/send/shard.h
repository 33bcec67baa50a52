/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shard of a queue: collects samples in batches, and sends each batch again
 * until the receiver accepts it or refuses it for good, or max_backlog gives it
 * up.
 *
 * Ownership: everything belongs to the queue.
 * Threads: shard_add(): any thread that holds q->mu. shard_run() is the thread
 * of the shard.
 */
#ifndef REMOTEWRITE_SEND_SHARD_H
#define REMOTEWRITE_SEND_SHARD_H

#include "remotewrite/send/queue_private.h"

/*
 * Add a sample to a shard of the queue and to the window of acknowledgements,
 * and wake the shard. `place` is the place in the log after the sample. The
 * shard owns the sample from then on.
 */
void shard_add(struct queue *q, struct shard *s, struct queued_sample *i,
	       struct log_place place) REQUIRES(q->mu);

/*
 * Run the thread of a shard until the queue stops. `shard` points to a struct
 * shard. Returns NULL.
 */
void *shard_run(void *shard);

#endif
