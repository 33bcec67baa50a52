/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting threads: the list of threads that left their CPU, each with its
 * stack. A thread stays in the list until it runs again. Then it is known how
 * long the thread has waited.
 *
 * Ownership: the list owns copies of the records.
 * Threads: one thread at a time.
 */
#ifndef BPF_COLLECT_WAITING_THREADS_H
#define BPF_COLLECT_WAITING_THREADS_H

#include "base/table.h"
#include "base/vec.h"
#include "bpf/kernel/abi.h"

enum {
	/* Largest number of threads; a record has about 500 bytes. */
	WAITING_THREADS_MAX = 16 << 10,
	/* Of these, at most this many are of one user other than root … */
	WAITING_THREADS_USER_MAX = WAITING_THREADS_MAX / 2,
	/* … and this many of all users other than root together. */
	WAITING_THREADS_USERS_MAX = WAITING_THREADS_MAX / 8 * 7,
	/*
	 * Number of counters in `of_users`, which count the threads of each
	 * user. Users whose IDs are equal modulo this number share a counter,
	 * and with it the limit WAITING_THREADS_USER_MAX.
	 */
	WAITING_THREADS_USERS = 251,
};

/* A thread that waits. */
struct waiting_thread {
	struct sample_record *record; /* NULL: a free place */
	/* the user to whose share the process of the thread counts */
	uint32_t uid;
};

/* { 0 } is an empty list. */
struct waiting_threads {
	VEC(struct waiting_thread) threads;
	VEC(uint32_t) free;
	struct table by_tid;
	uint32_t of_users
		/* number of threads by user, without root */
		[WAITING_THREADS_USERS];
	uint32_t of_all_users;
};

/*
 * Keep a copy of `r`, the record of a thread that begins to wait. An older
 * record of the same thread is removed in any case. `uid` is the user to whose
 * share the process of the thread counts (user_ranges_share()). False: there
 * are too many records in all, of this user, or of all users other than root.
 */
bool waiting_threads_add(struct waiting_threads *w,
			 const struct sample_record *r, uint32_t uid);

/*
 * Take the record of the wait that thread `tid` began at the time `since`. The
 * caller frees the record. NULL: the list does not have this record. If the
 * list has a record of another wait of the thread, the record of the other wait
 * is removed and freed.
 */
struct sample_record *waiting_threads_take(struct waiting_threads *w,
					   uint32_t tid, uint64_t since);

/*
 * Call visit() for each record. The visitor may change the record, except its
 * `tid`. Remove and free the records for which the visitor returns false.
 */
void waiting_threads_visit(struct waiting_threads *w,
			   bool (*visit)(void *ctx, struct sample_record *r),
			   void *ctx);

/* Free everything. */
void waiting_threads_fini(struct waiting_threads *w);

#endif
