/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sender of remote write: sends the samples of a sample log to the
 * configured receivers, each through a queue of its own, so that a slow
 * receiver delays no other.
 *
 * A queue remembers in a file how far its receiver has acknowledged the
 * samples. After a restart the queue goes on from there. The log keeps the
 * samples that the slowest queue still needs.
 *
 * Ownership: sender_free() frees a sender. Options are borrowed. The arguments
 * of sender_apply() must live until the next call of sender_apply(), or of
 * sender_free(), has returned.
 * Threads: sender_new(), sender_apply() and sender_free() from
 * one thread at a time; sender_each() from any thread.
 */
#ifndef REMOTEWRITE_SEND_SENDER_H
#define REMOTEWRITE_SEND_SENDER_H

#include "base/log.h"
#include "base/metrics.h"
#include "model/sample_log.h"
#include "remotewrite/send/remote_write_config.h"

/* A sender. */
struct sender;

/* Options of sender_new(); everything is borrowed until sender_free(). */
struct sender_options {
	struct sample_log *log;
	struct fs *fs; /* NULL: the operating system's */
	/* directory of the cursor files; created with the first file */
	const char *dir;
	const struct log *events; /* the log of the program */
	struct metrics *metrics;
	const char *user_agent;
	/*
	 * Whether a new queue begins with the oldest sample of the log, not
	 * after the newest one. An agent sets this.
	 */
	bool from_begin;
	/*
	 * For how long, in ms, the time of day has to be steady before the
	 * queues use it to decide that samples are too old; see
	 * trusted_clock_advance().
	 */
	int64_t clock_steady_ms;
};

/* The state of a queue at one moment. */
struct queue_status {
	const char *name;
	const char *url; /* without user and password */
	unsigned shards;
	/* samples in the window of the queue; see ack_window_count() */
	uint64_t pending;
	uint64_t backlog_bytes; /* bytes of the log that are not acknowledged */
	int64_t sent_ms;   /* time of the newest accepted sample; 0: none yet */
	int64_t answer_ms; /* when a request was accepted last; 0: never */
	char last_error
		[512]; /* "": the last request was accepted, or none was sent */
};

/* Create a sender without receivers; never fails. */
struct sender *sender_new(const struct sender_options *o);

/*
 * Replace the list of receivers. The queue of a receiver goes on if neither its
 * configuration nor the external labels have changed; otherwise a new queue
 * with the same cursor replaces it. If a receiver is no longer configured, its
 * queue is stopped and its cursor is removed. If a queue cannot be started,
 * this is logged, and the next call tries again.
 */
void sender_apply(struct sender *s, const struct remote_write_configs *configs,
		  const struct label *external, size_t external_count);

/* Stop the sender if it runs, and free it; NULL is a no-op. */
void sender_free(struct sender *s);

/*
 * Call fn(ctx, state) with the state of each queue, in the order in which the
 * queues were started.
 */
void sender_each(struct sender *s,
		 void (*fn)(void *ctx, const struct queue_status *q),
		 void *ctx);

#endif
