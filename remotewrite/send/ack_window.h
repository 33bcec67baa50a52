/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window of a remote-write queue: the samples after the cursor (cursor.h)
 * that were read from the log and given to a shard (shard.h). Shards
 * acknowledge samples in any order. The cursor moves up to the first sample
 * that is not acknowledged.
 *
 * Ownership: ack_window_fini() frees the memory of a window.
 * Threads: the caller locks.
 */
#ifndef REMOTEWRITE_SEND_ACK_WINDOW_H
#define REMOTEWRITE_SEND_ACK_WINDOW_H

#include "base/defs.h"

/* A place in the log, between two samples. */
struct log_place {
	uint64_t position;
	/*
	 * expected logged_sample.number of the sample after the place; if this
	 * sample has a higher number, samples were lost. 0: not known
	 */
	uint64_t number;
	int64_t ms; /* time of the sample before the place; 0: not known */
};

/* A window; the zero value is empty, at position 0. */
struct ack_window {
	/* ring buffer of `cap` entries; each sample in the window uses one */
	struct ack_entry *v;
	size_t cap;     /* a power of two, or 0 */
	uint64_t first; /* number of the oldest sample in the window */
	uint64_t next;  /* number that the next sample gets */
	/* all samples before this place are acknowledged */
	struct log_place acked;
};

/* Initialise an empty window at a place of the log. */
void ack_window_init(struct ack_window *w, struct log_place place);

/* Free the memory of a window. */
void ack_window_fini(struct ack_window *w);

/*
 * Add a sample; `end` is the place in the log after the sample. Returns the
 * number by which ack_window_ack() identifies the sample. end.position must be
 * higher than in the previous call.
 */
uint64_t ack_window_add(struct ack_window *w, struct log_place end);

/*
 * Acknowledge the sample `number`, which must not be acknowledged yet. Returns
 * whether w->acked has moved.
 */
bool ack_window_ack(struct ack_window *w, uint64_t number);

/*
 * Record that the samples before `end` that are not in the window need no
 * acknowledgement. If the window is empty, w->acked moves to `end` now.
 * Otherwise w->acked moves to `end` as soon as all samples that are in the
 * window now are acknowledged. Returns whether w->acked has moved.
 */
bool ack_window_pass(struct ack_window *w, struct log_place end);

/*
 * Return the number of samples in the window. An acknowledged sample stays in
 * the window as long as a sample before it is not acknowledged.
 */
static inline uint64_t ack_window_count(const struct ack_window *w)
{
	return w->next - w->first;
}

#endif
