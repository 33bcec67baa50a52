/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sample queue: samples that were read from the ring buffer, sorted by time, so
 * that each is resolved with the mappings of the time when it was taken.
 *
 * Ownership: a queue owns copies of the samples.
 * Threads: one thread at a time.
 * Units: nanoseconds of the monotonic clock.
 */
#ifndef BPF_COLLECT_SAMPLE_QUEUE_H
#define BPF_COLLECT_SAMPLE_QUEUE_H

#include "base/buf.h"
#include "base/vec.h"
#include "bpf/kernel/abi.h"

/* A sample in the queue: its time, and its position in the buffer. */
struct queued_stack {
	uint64_t time;
	size_t at; /* offset in `records` */
};

/* { 0 } is an empty queue. */
struct sample_queue {
	struct buf records;
	VEC(struct queued_stack) order;
	size_t next; /* index in `order` of the first sample not taken yet */
};

/* Copy a sample into the queue. */
void sample_queue_add(struct sample_queue *q, const struct sample_record *r);

/* Sort the samples, after the last one was added. */
void sample_queue_sort(struct sample_queue *q);

/*
 * Take the first of the remaining samples, if its time is before `before`; else
 * return NULL. The sample is valid until the next one is added or the queue is
 * emptied.
 */
const struct sample_record *sample_queue_take(struct sample_queue *q,
					      uint64_t before);

/*
 * Empty the queue. Its memory is kept for the next samples, unless there were
 * very many.
 */
void sample_queue_reset(struct sample_queue *q);

/* Free everything. */
void sample_queue_fini(struct sample_queue *q);

#endif
