/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cursor file of a queue. A queue also runs without a cursor file, for
 * example when the disk is full. Then profiles may be sent again after a
 * restart. The file is created as soon as that is possible.
 *
 * Ownership: the queue owns its cursor.
 * Threads: see each function.
 */
#ifndef REMOTEWRITE_SEND_QUEUE_CURSOR_H
#define REMOTEWRITE_SEND_QUEUE_CURSOR_H

#include "remotewrite/send/queue_private.h"

/*
 * Open or create the cursor file, and begin the window at its position. A new
 * queue begins at the end or at the beginning of the log. A queue whose file is
 * damaged begins at the beginning. Called before the threads of the queue run.
 * ERR_UNSUPPORTED: a newer version wrote the file.
 */
NODISCARD int queue_open_cursor(struct queue *q, struct err *err);

/*
 * Write the position to the file after it has moved. The write is not synced:
 * queue_sync_cursor() follows.
 */
void queue_write_cursor(struct queue *q) REQUIRES(q->mu);

/*
 * Make the position durable. Returns true if the position has moved since the
 * last call, and either it is durable now or the queue has no file. Then the
 * log need not keep the samples before it. Only the reader calls this function.
 */
bool queue_sync_cursor(struct queue *q);

#endif
