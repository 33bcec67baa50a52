/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch: samples of a shard that are sent together, as a list.
 *
 * Ownership: whoever has a batch owns its samples.
 * Threads: one at a time.
 */
#ifndef REMOTEWRITE_SENDER_BATCH_H
#define REMOTEWRITE_SENDER_BATCH_H

#include "remotewrite/sender/queue_private.h"

/* A batch. */
struct batch {
	struct queued_sample *first;
	size_t count;
};

/* Returns the bytes of all profiles of a batch, decompressed. */
size_t batch_bytes(const struct batch *b);

/*
 * Cuts the first samples off a list: as many as both limits allow, but one if
 * there is one. `max_bytes` is for the profiles, decompressed.
 */
struct batch batch_cut(struct queued_sample **list, size_t max_count,
		       size_t max_bytes);

#endif
