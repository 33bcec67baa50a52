/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch: samples that are sent together, as a list.
 *
 * Ownership: whoever has a list owns its samples.
 * Threads: one at a time.
 */
#ifndef REMOTEWRITE_WIRE_BATCH_H
#define REMOTEWRITE_WIRE_BATCH_H

#include "model/sample_log.h"

/* A sample to send. Its labels and its body follow the struct in memory. */
struct queued_sample {
	struct logged_sample sample; /* with the labels as they are sent */
	/* what ack_window_add() returned; only for samples of a queue */
	uint64_t number;
	int64_t queued_ns; /* when it was made; monotonic */
	struct queued_sample *next;
};

/* A batch. */
struct batch {
	struct queued_sample *first;
	size_t count;
};

/*
 * Copy a sample, but with `labels`, which write_labels_encode() has made. The
 * caller frees the copy by mem_free().
 */
struct queued_sample *queued_sample_new(const struct logged_sample *s,
					struct bytes labels);

/* Return the memory of a sample, in bytes. */
size_t queued_sample_size(const struct queued_sample *i);

/* Free all samples of a list. */
void queued_sample_free_all(struct queued_sample *list);

/* Return the bytes of all profiles of a batch, decompressed. */
size_t batch_bytes(const struct batch *b);

/*
 * Cut the first samples off a list, as many as both limits allow. `max_bytes`
 * limits the decompressed profiles; the first sample alone may exceed it.
 */
struct batch batch_cut(struct queued_sample **list, size_t max_count,
		       size_t max_bytes);

#endif
