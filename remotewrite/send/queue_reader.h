/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread of a queue that reads the log and distributes the samples to the
 * shards. It also saves the cursor once a second, and applies max_backlog.
 *
 * Ownership: everything belongs to the queue.
 * Threads: queue_read() runs as a thread of its own.
 */
#ifndef REMOTEWRITE_SEND_QUEUE_READER_H
#define REMOTEWRITE_SEND_QUEUE_READER_H

/*
 * Run the thread that reads the log, until the queue stops. `queue` points to a
 * struct queue. Returns NULL.
 */
void *queue_read(void *queue);

#endif
