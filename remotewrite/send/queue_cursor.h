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
 * Open or create the cursor file, and begin q->window at the position in the
 * file. A queue without a cursor file begins at the end of the log, or at the
 * beginning of the log if queue_options.from_begin is set. A queue also begins
 * at the beginning of the log if the state of its cursor was lost
 * (CURSOR_DAMAGED, CURSOR_UNREADABLE), if the file cannot be opened or created,
 * or if the log ends before the position in the file. Called before the threads
 * of the queue run. ERR_UNSUPPORTED: a newer version wrote the file.
 */
NODISCARD int queue_open_cursor(struct queue *q, struct err *err);

/*
 * Write the state of the queue, whose position has moved, to the cursor file,
 * if there is one. This function does not sync the file; the next
 * queue_sync_cursor() does.
 */
void queue_write_cursor(struct queue *q) REQUIRES(q->mu);

/*
 * Make the state of the queue durable in the cursor file; if the file could not
 * be opened or created before, try that again. Returns false if the state has
 * not changed since it was made durable, or if the write or the sync failed.
 * Otherwise returns true, even if the queue has no file: the log need not keep
 * the samples before the position of the queue. Only the reader calls this
 * function.
 */
bool queue_sync_cursor(struct queue *q);

#endif
