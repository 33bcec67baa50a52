/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading thread: what the ELF queue (elf_queue.h) and the scan queue
 * (scan_queue.h) have in common. The reading thread of a queue reads files, or
 * facts about processes, for the collector's own thread, which polls `fd` for
 * the results.
 *
 * Ownership: a queue owns its reading thread.
 * Threads: one thread starts, stops and frees a reading thread.
 */
#ifndef BPF_COLLECT_READING_THREAD_H
#define BPF_COLLECT_READING_THREAD_H

#include "base/mutex.h"

struct reading_thread {
	pthread_t thread;
	int fd; /* eventfd: the queue makes it readable when it has a result */
	/*
	 * guards `stopping` and the members of the queue that both threads use
	 */
	struct mutex mu;
	pthread_cond_t wake;
	bool stopping;
};

/*
 * Start a thread that calls run(ctx), which must return when `stopping` is set.
 */
void reading_thread_start(struct reading_thread *t, const char *name,
			  void *(*run)(void *), void *ctx);

/* Set `stopping`, and wait until the thread has ended. */
void reading_thread_stop(struct reading_thread *t);

/* Free everything, after the thread was stopped. */
void reading_thread_fini(struct reading_thread *t);

#endif
