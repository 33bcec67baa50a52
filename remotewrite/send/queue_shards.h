/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts, wakes and ends the shards of a queue.
 *
 * Ownership: the queue owns its shards.
 * Threads: the one that starts and stops the queue, while no reader runs;
 * queue_wake_shards(): any, with the queue's lock.
 */
#ifndef REMOTEWRITE_SEND_QUEUE_SHARDS_H
#define REMOTEWRITE_SEND_QUEUE_SHARDS_H

#include "remotewrite/send/queue_private.h"

/*
 * Start the shards that the configuration asks for. ERR_IO: one could not be
 * started; queue_end_shards() ends the others.
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
