/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window of a remote-write queue: the samples that were read from the log
 * and are not acknowledged up to the cursor. Shards acknowledge samples in any
 * order; the cursor moves to the first one that is missing.
 *
 * Ownership: window_fini() frees the memory of a window.
 * Threads: the caller locks.
 */
#ifndef REMOTEWRITE_SENDER_WINDOW_H
#define REMOTEWRITE_SENDER_WINDOW_H

#include "base/defs.h"

/* A window; the zero value is empty, at position 0. */
struct window {
	/* one entry for each sample, as a ring of `cap` entries */
	struct window_entry *v;
	size_t cap;     /* a power of two, or 0 */
	uint64_t first; /* number of the oldest entry */
	uint64_t next;  /* number of the next entry */
	uint64_t acked; /* position before which all is acknowledged */
};

/* Sets the position of an empty window. */
void window_init(struct window *w, uint64_t position);

/* Frees the memory of a window. */
void window_fini(struct window *w);

/*
 * Adds the sample that ends at position `end`. Returns its number, for
 * window_ack(). Positions must grow.
 */
uint64_t window_add(struct window *w, uint64_t end);

/*
 * Acknowledges a sample, once. Returns whether w->acked has moved.
 */
bool window_ack(struct window *w, uint64_t number);

/*
 * Moves the position to `end`, behind samples that need no acknowledgement, if
 * the window is empty. Otherwise the position moves there when the samples of
 * the window are acknowledged.
 */
void window_pass(struct window *w, uint64_t end);

/* Returns the number of samples in the window. */
static inline uint64_t window_count(const struct window *w)
{
	return w->next - w->first;
}

#endif
