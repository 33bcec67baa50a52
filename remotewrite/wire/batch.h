/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch: samples that are sent together, as a list.
 *
 * Ownership: whoever has a list owns its samples.
 * Threads: one thread at a time for each list.
 */
#ifndef REMOTEWRITE_WIRE_BATCH_H
#define REMOTEWRITE_WIRE_BATCH_H

#include "model/sample_log.h"

/* A sample to send. Its labels and its body follow the struct in memory. */
struct queued_sample {
	/* its labels are the output of write_labels_encode() */
	struct logged_sample sample;
	/*
	 * what ack_window_add() returned; only for samples in a shard
	 * (queue_private.h)
	 */
	uint64_t number;
	int64_t queued_ns; /* clock_mono_ns() when the struct was made */
	struct queued_sample *next;
};

/* A batch. */
struct batch {
	struct queued_sample *first;
	size_t count;
};

/*
 * Return a copy of the sample `s`, but with the labels `labels`, the output of
 * write_labels_encode(). The caller frees the copy by mem_free().
 */
struct queued_sample *queued_sample_new(const struct logged_sample *s,
					struct bytes labels);

/*
 * Return how many bytes of memory a sample takes, with its labels and its body.
 */
size_t queued_sample_size(const struct queued_sample *i);

/* Free all samples of a list. */
void queued_sample_free_all(struct queued_sample *list);

/*
 * Return the size in bytes of all profiles of a batch together, decompressed.
 */
size_t batch_bytes(const struct batch *b);

/*
 * Cut the first samples off a list, as many as both limits allow. `max_bytes`
 * limits the decompressed size of their profiles together; the first sample is
 * cut off even if its profile alone exceeds `max_bytes`.
 */
struct batch batch_cut(struct queued_sample **list, size_t max_count,
		       size_t max_bytes);

#endif
