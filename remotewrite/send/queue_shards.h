/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts, wakes and ends the shards of a queue.
 *
 * Ownership: the queue owns its shards.
 * Threads: queue_start_shards() and queue_end_shards(): the thread that starts
 * and stops the queue, while the reader does not run. queue_wake_shards(): any
 * thread that holds q->mu.
 */
#ifndef REMOTEWRITE_SEND_QUEUE_SHARDS_H
#define REMOTEWRITE_SEND_QUEUE_SHARDS_H

#include "remotewrite/send/queue_private.h"

/*
 * Start the shards that the configuration asks for. ERR_IO: a shard could not
 * be started. The caller then stops the queue; queue_end_shards() frees the
 * shards that were started.
 */
NODISCARD int queue_start_shards(struct queue *q, struct err *err);

/*
 * Wait until the shards of a queue that is stopping have ended; the samples that
 * wait in them are freed without being acknowledged.
 */
void queue_end_shards(struct queue *q);

/* Wake all shards, also those that wait for a response. */
void queue_wake_shards(struct queue *q) REQUIRES(q->mu);

#endif
