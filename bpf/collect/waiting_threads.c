/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/waiting_threads.h"

#include "base/hash.h"
#include "bpf/kernel/sampler.h"

static uint64_t tid_hash(uint32_t tid)
{
	return hash_key((struct bytes){ .ptr = (const uint8_t *)&tid,
					.len = sizeof(tid) });
}

/* For table_find(). */
static bool tid_same(const void *ctx, uint32_t number, const void *key)
{
	const struct waiting_threads *w = ctx;

	return w->records.v[number]->header.tid == *(const uint32_t *)key;
}

/* The place of a thread, or TABLE_NONE. */
static uint32_t waiting_place(const struct waiting_threads *w, uint32_t tid)
{
	return table_find(&w->by_tid, tid_hash(tid), tid_same, w, &tid);
}

/* Take the record at a place, which is free afterwards. */
static struct sample_record *waiting_remove(struct waiting_threads *w,
					    uint32_t place)
{
	struct sample_record *r = w->records.v[place];

	table_remove(&w->by_tid, tid_hash(r->header.tid), place);
	w->records.v[place] = NULL;
	*vec_add(&w->free) = place;
	return r;
}

bool waiting_threads_add(struct waiting_threads *w,
			 const struct sample_record *r)
{
	uint32_t place = waiting_place(w, r->header.tid);

	if (place != TABLE_NONE)
		mem_free(waiting_remove(w, place));
	if (w->by_tid.count >= WAITING_THREADS_MAX)
		return false;
	if (w->free.count) {
		place = w->free.v[--w->free.count];
	} else {
		place = (uint32_t)w->records.count;
		*vec_add(&w->records) = NULL;
	}
	w->records.v[place] = mem_dup(r, sampler_record_size(&r->header));
	table_add(&w->by_tid, tid_hash(r->header.tid), place);
	return true;
}

struct sample_record *waiting_threads_take(struct waiting_threads *w,
					   uint32_t tid, uint64_t since)
{
	uint32_t place = waiting_place(w, tid);
	struct sample_record *r;

	if (place == TABLE_NONE)
		return NULL;
	r = waiting_remove(w, place);
	if (r->header.time == since)
		return r;
	mem_free(r);
	return NULL;
}

void waiting_threads_visit(struct waiting_threads *w,
			   bool (*visit)(void *ctx, struct sample_record *r),
			   void *ctx)
{
	for (uint32_t i = 0; i < w->records.count; i++) {
		if (w->records.v[i] && !visit(ctx, w->records.v[i]))
			mem_free(waiting_remove(w, i));
	}
}

void waiting_threads_fini(struct waiting_threads *w)
{
	for (size_t i = 0; i < w->records.count; i++)
		mem_free(w->records.v[i]);
	vec_fini(&w->records);
	vec_fini(&w->free);
	table_fini(&w->by_tid);
}
