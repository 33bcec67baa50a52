/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A shard of a queue: collects its samples to batches, and sends a batch until
 * the receiver has accepted it, or says that it never will.
 *
 * Ownership: everything belongs to the queue.
 * Threads: as noted at the function.
 */
#ifndef REMOTEWRITE_SEND_SHARD_H
#define REMOTEWRITE_SEND_SHARD_H

/* The thread of a shard; `shard` is a struct shard. It ends with the queue. */
void *shard_run(void *shard);

#endif
