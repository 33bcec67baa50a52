/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/ack_window.h"

#include <assert.h>

#include "base/mem.h"

/* The entry of a sample in the window. */
struct ack_entry {
	/*
	 * place in the log after the sample, and after those samples directly
	 * behind it that need no acknowledgement
	 */
	struct log_place end;
	bool acked;
};

void ack_window_init(struct ack_window *w, struct log_place place)
{
	*w = (struct ack_window){ .acked = place };
}

void ack_window_fini(struct ack_window *w)
{
	mem_free(w->v);
	*w = (struct ack_window){ 0 };
}

/* Return the entry of the sample with the number `number` in the window. */
static struct ack_entry *entry_at(const struct ack_window *w, uint64_t number)
{
	return &w->v[number & (w->cap - 1)];
}

/* Double the ring. Entries keep their numbers. */
static void ack_window_grow(struct ack_window *w)
{
	struct ack_window bigger = *w;

	bigger.cap = w->cap ? 2 * w->cap : 64;
	bigger.v = mem_alloc(bigger.cap * sizeof(*bigger.v));
	for (uint64_t n = w->first; n < w->next; n++)
		*entry_at(&bigger, n) = *entry_at(w, n);
	mem_free(w->v);
	*w = bigger;
}

uint64_t ack_window_add(struct ack_window *w, struct log_place end)
{
	if (ack_window_count(w) == w->cap)
		ack_window_grow(w);
	*entry_at(w, w->next) = (struct ack_entry){ .end = end };
	return w->next++;
}

bool ack_window_ack(struct ack_window *w, uint64_t number)
{
	uint64_t before = w->acked.position;

	assert(number >= w->first && number < w->next);
	assert(!entry_at(w, number)->acked);
	entry_at(w, number)->acked = true;
	while (w->first < w->next && entry_at(w, w->first)->acked)
		w->acked = entry_at(w, w->first++)->end;
	return w->acked.position != before;
}

bool ack_window_pass(struct ack_window *w, struct log_place end)
{
	uint64_t before = w->acked.position;

	if (ack_window_count(w))
		entry_at(w, w->next - 1)->end = end;
	else
		w->acked = end;
	return w->acked.position != before;
}
