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

	return w->threads.v[number].record->header.tid ==
	       *(const uint32_t *)key;
}

/* Return the place of a thread, its index in `threads`, or TABLE_NONE. */
static uint32_t waiting_place(const struct waiting_threads *w, uint32_t tid)
{
	return table_find(&w->by_tid, tid_hash(tid), tid_same, w, &tid);
}

/*
 * Count one more thread of a user, or one less. Threads of root are not
 * counted.
 */
static void waiting_count(struct waiting_threads *w, uint32_t uid, bool more)
{
	uint32_t by = more ? 1 : UINT32_MAX;

	if (!uid)
		return;
	w->of_users[uid % WAITING_THREADS_USERS] += by;
	w->of_all_users += by;
}

/* Whether there is room for one more thread of a user. */
static bool waiting_has_room(const struct waiting_threads *w, uint32_t uid)
{
	return w->by_tid.count < WAITING_THREADS_MAX &&
	       (!uid || (w->of_users[uid % WAITING_THREADS_USERS] <
				 WAITING_THREADS_USER_MAX &&
			 w->of_all_users < WAITING_THREADS_USERS_MAX));
}

/* Take the record at a place, which is free afterwards. */
static struct sample_record *waiting_remove(struct waiting_threads *w,
					    uint32_t place)
{
	struct waiting_thread *t = &w->threads.v[place];
	struct sample_record *r = t->record;

	table_remove(&w->by_tid, tid_hash(r->header.tid), place);
	waiting_count(w, t->uid, false);
	t->record = NULL;
	*vec_add(&w->free) = place;
	return r;
}

bool waiting_threads_add(struct waiting_threads *w,
			 const struct sample_record *r, uint32_t uid)
{
	uint32_t place = waiting_place(w, r->header.tid);

	if (place != TABLE_NONE)
		mem_free(waiting_remove(w, place));
	if (!waiting_has_room(w, uid))
		return false;
	if (w->free.count) {
		place = w->free.v[--w->free.count];
	} else {
		place = (uint32_t)w->threads.count;
		vec_add(&w->threads);
	}
	w->threads.v[place] = (struct waiting_thread){
		.record = mem_dup(r, sampler_record_size(&r->header)),
		.uid = uid,
	};
	table_add(&w->by_tid, tid_hash(r->header.tid), place);
	waiting_count(w, uid, true);
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
	for (uint32_t i = 0; i < w->threads.count; i++) {
		struct sample_record *r = w->threads.v[i].record;

		if (r && !visit(ctx, r))
			mem_free(waiting_remove(w, i));
	}
}

void waiting_threads_fini(struct waiting_threads *w)
{
	for (size_t i = 0; i < w->threads.count; i++)
		mem_free(w->threads.v[i].record);
	vec_fini(&w->threads);
	vec_fini(&w->free);
	table_fini(&w->by_tid);
}
