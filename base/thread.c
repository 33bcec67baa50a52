/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* What a new thread is told. */
struct thread_begin {
	const char *name;
	void *(*run)(void *);
	void *arg;
};

/* A thread names itself: the one that starts it does not know how long it lives. */
static void *thread_run(void *arg)
{
	struct thread_begin b = *(struct thread_begin *)arg;

	mem_free(arg);
	pthread_setname_np(pthread_self(), b.name);
	return b.run(b.arg);
}

pthread_t thread_start(const char *name, void *(*run)(void *), void *arg)
{
	struct thread_begin *b = mem_new(struct thread_begin);
	pthread_t thread;
	int rc;

	*b = (struct thread_begin){ name, run, arg };
	rc = pthread_create(&thread, NULL, thread_run, b);
	if (rc) {
		fprintf(stderr,
			"everprof: cannot start the thread %s: error %d; the limit on processes (ulimit -u, TasksMax) may be too low\n",
			name, rc);
		abort();
	}
	return thread;
}
