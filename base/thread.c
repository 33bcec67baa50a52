/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* The name of a new thread, and the function that it runs. */
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

	*b = (struct thread_begin){ name, run, arg };
	errno = pthread_create(&thread, NULL, thread_run, b);
	if (errno) {
		fprintf(stderr,
			"everprof: cannot start the thread %s: %m; the limit on processes (ulimit -u, TasksMax) may be too low\n",
			name);
		abort();
	}
	return thread;
}
