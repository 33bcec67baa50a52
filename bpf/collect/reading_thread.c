/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/reading_thread.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

void reading_thread_start(struct reading_thread *t, const char *name,
			  void *(*run)(void *), void *ctx)
{
	mutex_init(&t->mu);
	clock_cond_init(&t->wake);
	t->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->fd < 0)
		abort(); /* like a lack of memory, this ends everprof */
	t->thread = thread_start(name, run, ctx);
}

void reading_thread_stop(struct reading_thread *t)
{
	mutex_lock(&t->mu);
	t->stopping = true;
	pthread_cond_signal(&t->wake);
	mutex_unlock(&t->mu);
	pthread_join(t->thread, NULL);
}

void reading_thread_fini(struct reading_thread *t)
{
	pthread_cond_destroy(&t->wake);
	mutex_destroy(&t->mu);
	close(t->fd);
}
