/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting threads: a record is found again by its thread and its time alone,
 * and the list is bounded.
 */
#include "base/mem.h"
#include "bpf/collect/waiting_threads.h"
#include "tests/check.h"

TestSuite(waiting_threads, .timeout = 30);

/* A record of a thread that waits, with two addresses. */
static struct sample_record record_of(uint32_t tid, uint64_t time)
{
	struct sample_record r = { .header = { .time = time,
					       .pid = tid / 10,
					       .tid = tid,
					       .kind = SAMPLE_WAITS,
					       .kernel = 1,
					       .user = 1 } };

	r.words[0] = tid;
	r.words[1] = time;
	return r;
}

/* Whether a thread waited since a time, and its record is whole. */
static bool take_matches(struct waiting_threads *w, uint32_t tid, uint64_t time)
{
	struct sample_record *r = waiting_threads_take(w, tid, time);
	bool whole = r && r->header.tid == tid && r->words[0] == tid &&
		     r->words[1] == time;

	mem_free(r);
	return whole;
}

static bool add_one(struct waiting_threads *w, uint32_t tid, uint64_t time)
{
	struct sample_record r = record_of(tid, time);

	return waiting_threads_add(w, &r, 0);
}

Test(waiting_threads, records_are_taken_once)
{
	struct waiting_threads w = { .free = { 0 } };

	cr_expect(!take_matches(&w, 1, 5));
	cr_assert(add_one(&w, 1, 5));
	cr_expect(add_one(&w, 2, 6));
	cr_expect(take_matches(&w, 1, 5));
	cr_expect(!take_matches(&w, 1, 5), "it runs");
	/* The record of an end was lost: the newer wait replaces the older. */
	cr_expect(add_one(&w, 2, 9));
	cr_expect(take_matches(&w, 2, 9));
	/* The record of a beginning was lost: the older wait is no match. */
	cr_expect(add_one(&w, 3, 1));
	cr_expect(!take_matches(&w, 3, 7));
	cr_expect(!take_matches(&w, 3, 1), "it is forgotten");
	waiting_threads_fini(&w);
}

/* Visitor that keeps the threads of processes with an even number. */
static bool is_even(void *ctx, struct sample_record *r)
{
	++*(size_t *)ctx;
	return r->header.pid % 2 == 0;
}

/* Visitor that keeps all. */
static bool count_one(void *ctx, struct sample_record *r)
{
	r->header.since = 77;
	++*(size_t *)ctx;
	return true;
}

Test(waiting_threads, the_list_is_bounded_and_swept)
{
	struct waiting_threads w = { .free = { 0 } };
	size_t asked = 0;
	size_t seen = 0;

	for (uint32_t i = 0; i < WAITING_THREADS_MAX; i++)
		cr_assert(add_one(&w, i, i));
	cr_expect(!add_one(&w, WAITING_THREADS_MAX, 1));
	cr_expect(add_one(&w, 7, 100), "a thread that is known");
	waiting_threads_visit(&w, is_even, &asked);
	cr_expect(asked == WAITING_THREADS_MAX);
	waiting_threads_visit(&w, count_one, &seen);
	cr_assert(seen > WAITING_THREADS_MAX / 3);
	cr_expect(seen < WAITING_THREADS_MAX * 2 / 3);
	cr_assert(take_matches(&w, 7, 100));
	cr_expect(!take_matches(&w, 17, 17));
	cr_expect(add_one(&w, WAITING_THREADS_MAX, 1), "there is room again");
	cr_expect(w.threads.count == WAITING_THREADS_MAX, "places are reused");
	waiting_threads_fini(&w);
}

/* Add threads [from, to) of a user; how many of them there was room for. */
static uint32_t add_some(struct waiting_threads *w, uint32_t uid, uint32_t from,
			 uint32_t to)
{
	uint32_t added = 0;

	for (uint32_t i = from; i < to; i++) {
		struct sample_record r = record_of(i, 1);

		added += waiting_threads_add(w, &r, uid);
	}
	return added;
}

Test(waiting_threads, users_leave_room_to_others_and_to_root)
{
	struct waiting_threads w = { .free = { 0 } };
	const uint32_t all = WAITING_THREADS_MAX;

	cr_expect(add_some(&w, 1000, 0, all) == WAITING_THREADS_USER_MAX);
	cr_expect(add_some(&w, 1001, all, 2 * all) ==
		  WAITING_THREADS_USERS_MAX - WAITING_THREADS_USER_MAX);
	cr_expect(add_some(&w, 0, 2 * all, 3 * all) ==
		  WAITING_THREADS_MAX - WAITING_THREADS_USERS_MAX);
	/* Who runs again makes room for others of the same user. */
	cr_expect(take_matches(&w, 5, 1));
	cr_expect(add_some(&w, 1001, 3 * all, 3 * all + 2) == 1);
	cr_expect(take_matches(&w, 6, 1));
	cr_expect(add_some(&w, 1000, 3 * all + 2, 3 * all + 4) == 1);
	waiting_threads_fini(&w);
}
