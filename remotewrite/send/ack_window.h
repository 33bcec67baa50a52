/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window of a remote-write queue: the samples after the cursor that were
 * read from the log and given to a shard. Shards acknowledge samples in any
 * order. The cursor moves up to the first sample that is not acknowledged.
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
	/* of the sample after it, if none is lost; 0: not known */
	uint64_t number;
	int64_t ms; /* time of the sample before it; 0: not known */
};

/* A window; the zero value is empty, at position 0. */
struct ack_window {
	/* one entry for each sample, as a ring of `cap` entries */
	struct ack_entry *v;
	size_t cap;     /* a power of two, or 0 */
	uint64_t first; /* number of the oldest entry */
	uint64_t next;  /* number of the next entry */
	/* all samples before this place are acknowledged */
	struct log_place acked;
};

/* Initialise an empty window at a place of the log. */
void ack_window_init(struct ack_window *w, struct log_place place);

/* Free the memory of a window. */
void ack_window_fini(struct ack_window *w);

/*
 * Add a sample that ends at the place `end`. Returns its number in the window,
 * for ack_window_ack(). Positions must grow.
 */
uint64_t ack_window_add(struct ack_window *w, struct log_place end);

/*
 * Acknowledge the sample `number`, which must not be acknowledged yet. Returns
 * whether w->acked has moved.
 */
bool ack_window_ack(struct ack_window *w, uint64_t number);

/*
 * Note that the samples before `end` that are not in the window need no
 * acknowledgement. If the window is empty, w->acked moves to `end` now;
 * otherwise as soon as all samples that are in the window now are acknowledged.
 * Returns whether w->acked has moved.
 */
bool ack_window_pass(struct ack_window *w, struct log_place end);

/*
 * Return the number of samples in the window, including acknowledged ones
 * behind one that is not.
 */
static inline uint64_t ack_window_count(const struct ack_window *w)
{
	return w->next - w->first;
}

#endif
