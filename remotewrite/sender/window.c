/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/sender/window.h"

#include <assert.h>

#include "base/mem.h"

/* A sample that was read. */
struct window_entry {
	uint64_t end; /* the position behind it, and behind what needs no ack */
	bool acked;
};

void window_init(struct window *w, uint64_t position)
{
	*w = (struct window){ .acked = position };
}

void window_fini(struct window *w)
{
	mem_free(w->v);
	*w = (struct window){ 0 };
}

/* The entry with this number. */
static struct window_entry *entry_at(const struct window *w, uint64_t number)
{
	return &w->v[number & (w->cap - 1)];
}

/* Doubles the ring. Entries keep their numbers. */
static void window_grow(struct window *w)
{
	struct window bigger = *w;

	bigger.cap = w->cap ? 2 * w->cap : 64;
	bigger.v = mem_alloc(bigger.cap * sizeof(*bigger.v));
	for (uint64_t n = w->first; n < w->next; n++)
		*entry_at(&bigger, n) = *entry_at(w, n);
	mem_free(w->v);
	*w = bigger;
}

uint64_t window_add(struct window *w, uint64_t end)
{
	if (window_count(w) == w->cap)
		window_grow(w);
	*entry_at(w, w->next) = (struct window_entry){ .end = end };
	return w->next++;
}

bool window_ack(struct window *w, uint64_t number)
{
	uint64_t before = w->acked;

	assert(number >= w->first && number < w->next);
	assert(!entry_at(w, number)->acked);
	entry_at(w, number)->acked = true;
	while (w->first < w->next && entry_at(w, w->first)->acked)
		w->acked = entry_at(w, w->first++)->end;
	return w->acked != before;
}

void window_pass(struct window *w, uint64_t end)
{
	if (window_count(w))
		entry_at(w, w->next - 1)->end = end;
	else
		w->acked = end;
}
