/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/sample_queue.h"
#include "bpf/kernel/sampler.h"

#include <stdlib.h>

enum {
	/*
	 * If the buffer of the records is larger than this, in bytes, all
	 * memory is freed when the queue is emptied.
	 */
	SAMPLE_QUEUE_KEPT = 1 << 20,
};

void sample_queue_add(struct sample_queue *q, const struct sample_record *r)
{
	*vec_add(&q->order) = (struct queued_stack){ .time = r->header.time,
						     .at = q->records.len };
	/*
	 * The sizes of all records are multiples of 8 bytes, so each record is
	 * aligned.
	 */
	buf_add(&q->records, r, sampler_record_size(&r->header));
}

static int queued_stack_order(const void *a, const void *b)
{
	const struct queued_stack *x = a;
	const struct queued_stack *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

void sample_queue_sort(struct sample_queue *q)
{
	if (q->order.count)
		qsort(q->order.v, q->order.count, sizeof(*q->order.v),
		      queued_stack_order);
}

const struct sample_record *sample_queue_take(struct sample_queue *q,
					      uint64_t before)
{
	const struct queued_stack *s;

	if (q->next == q->order.count)
		return NULL;
	s = &q->order.v[q->next];
	if (s->time >= before)
		return NULL;
	q->next++;
	return (const void *)(q->records.ptr + s->at);
}

void sample_queue_reset(struct sample_queue *q)
{
	if (q->records.cap > SAMPLE_QUEUE_KEPT) {
		sample_queue_fini(q);
		return;
	}
	buf_reset(&q->records);
	q->order.count = 0;
	q->next = 0;
}

void sample_queue_fini(struct sample_queue *q)
{
	buf_fini(&q->records);
	vec_fini(&q->order);
	q->next = 0;
}
