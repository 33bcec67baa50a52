/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of one receiver: a thread reads the sample log from the cursor on
 * and distributes the samples to shards by series; each shard is a thread that
 * sends batches. The order of the samples of a series is kept.
 *
 * Ownership: queue_free() frees a queue. Options are borrowed; the
 * configuration is copied, except the rules, see queue_set_rules().
 * Threads: one thread at a time starts, changes and stops a queue;
 * queue_position(), queue_synced() and queue_status() may be called from any
 * thread. Shutdown: queue_free() interrupts requests and joins the threads;
 * what was not acknowledged is sent again after the next start.
 */
#ifndef REMOTEWRITE_SEND_QUEUE_H
#define REMOTEWRITE_SEND_QUEUE_H

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "model/sample_log.h"
#include "remotewrite/send/sender.h"

/* A queue. */
struct queue;

/* Options of queue_start(); everything is borrowed until queue_free(). */
struct queue_options {
	struct sample_log *log;
	struct fs *fs;            /* NULL: the operating system's */
	const char *dir;          /* of cursor files; the queue creates it */
	const struct log *events; /* the log of the program */
	struct metrics *metrics;
	const char *user_agent;
	/*
	 * whether a queue without a cursor file begins with the oldest sample
	 * of the log, not after the newest one
	 */
	bool from_begin;
	int64_t clock_steady_ms; /* see sender_options */
	/*
	 * called by the queue's reader thread when the result of queue_synced()
	 * may have changed
	 */
	void (*moved)(void *ctx);
	void *ctx;
};

/*
 * Start a queue, and open or create its cursor file. If the file cannot be
 * opened or created, the queue runs without it; see queue_cursor.h.
 * ERR_UNSUPPORTED: a newer version wrote the file. ERR_IO: the system has no
 * descriptors left. The caller owns *out.
 */
NODISCARD int queue_start(const struct queue_options *o,
			  const struct remote_write_config *config,
			  const struct label *external, size_t external_count,
			  struct queue **out, struct err *err);

/*
 * Make the queue use the rules of `config` and the labels `external`; both are
 * borrowed. Called when the queue starts, and after a reload that has not
 * changed the configuration of the queue. After such a reload, the new rules
 * and labels are equal to the old ones, but the queue must borrow the new ones,
 * because the old configuration is freed afterwards.
 */
void queue_set_rules(struct queue *q, const struct remote_write_config *config,
		     const struct label *external, size_t external_count);

/* Stop a queue that runs, and free it. NULL is a no-op. */
void queue_free(struct queue *q);

/*
 * Return the position in the log before which the queue has finished all
 * samples. Any thread may call this function.
 */
uint64_t queue_position(struct queue *q);

/*
 * Return the position before which the log need not keep samples for this
 * queue: the position that is durable in the cursor file or, if the queue has
 * no file, the position that the queue had at the last queue_sync_cursor(). Any
 * thread may call this function.
 */
uint64_t queue_synced(struct queue *q);

/* Fill *out; `name` and `url` are borrowed from the queue. */
void queue_status(struct queue *q, struct queue_status *out);

#endif
