/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread of a queue that reads the log and distributes the samples to the
 * shards. It also saves the cursor once a second, and applies max_backlog.
 *
 * Ownership: everything belongs to the queue.
 * Threads: as noted at the function.
 */
#ifndef REMOTEWRITE_SEND_QUEUE_READER_H
#define REMOTEWRITE_SEND_QUEUE_READER_H

/*
 * The thread that reads the log; `queue` is a struct queue. It ends with the
 * queue.
 */
void *queue_read(void *queue);

#endif
