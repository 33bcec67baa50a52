/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cursor file of a queue. A queue also runs without one, as when the disk is
 * full: then profiles may be sent again after a restart, and the file is made as
 * soon as that is possible.
 *
 * Ownership: the queue owns its cursor.
 * Threads: see each function.
 */
#ifndef REMOTEWRITE_SEND_QUEUE_CURSOR_H
#define REMOTEWRITE_SEND_QUEUE_CURSOR_H

#include "remotewrite/send/queue_private.h"

/*
 * Open or create the cursor file, and begin the window at its position. A new
 * queue begins at the end or the beginning of the log; one whose file is damaged
 * at the beginning. Called before the threads of the queue run.
 * ERR_UNSUPPORTED: a newer version wrote the file.
 */
NODISCARD int queue_open_cursor(struct queue *q, struct err *err);

/*
 * Write the position to the file after it has moved. The write is not synced:
 * queue_sync_cursor() follows.
 */
void queue_write_cursor(struct queue *q) REQUIRES(q->mu);

/*
 * Make the position durable. Returns true if it has moved since the last call,
 * and is durable or has no file: then the log need not keep what is before it.
 * Called by the reader alone.
 */
bool queue_sync_cursor(struct queue *q);

#endif
