/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct task {
	pool_fn fn;
	void *ctx;
};

struct worker {
	struct pool *pool;
	unsigned number;
	pthread_t thread;
};

struct pool {
	const char *name;
	struct worker *workers;
	unsigned threads;
	bool joined;

	pthread_mutex_t mu;
	pthread_cond_t work;
	struct task *ring;
	size_t max;
	size_t head;
	size_t count;
	bool stopping;
};

static bool next_task(struct pool *p, struct task *out)
{
	bool have;

	pthread_mutex_lock(&p->mu);
	while (!p->count && !p->stopping)
		pthread_cond_wait(&p->work, &p->mu);
	have = p->count;
	if (have) {
		*out = p->ring[p->head];
		p->head = (p->head + 1) % p->max;
		p->count--;
	}
	pthread_mutex_unlock(&p->mu);
	return have;
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	struct task t;

	pthread_setname_np(pthread_self(), w->pool->name);
	while (next_task(w->pool, &t))
		t.fn(t.ctx, w->number);
	return NULL;
}

struct pool *pool_start(const char *name, unsigned threads, size_t max)
{
	struct pool *p = mem_new(struct pool);

	p->name = name;
	p->threads = threads;
	p->max = max;
	p->ring = mem_zalloc(max, sizeof(*p->ring));
	p->workers = mem_zalloc(threads, sizeof(*p->workers));
	pthread_mutex_init(&p->mu, NULL);
	pthread_cond_init(&p->work, NULL);
	for (unsigned i = 0; i < threads; i++) {
		p->workers[i] = (struct worker){ .pool = p, .number = i };
		if (pthread_create(&p->workers[i].thread, NULL, worker_run,
				   &p->workers[i]))
			abort(); /* as when memory is out */
	}
	return p;
}

int pool_submit(struct pool *p, pool_fn fn, void *ctx, struct err *err)
{
	int rc = 0;

	pthread_mutex_lock(&p->mu);
	if (p->stopping) {
		rc = err_set(err, ERR_CLOSED, "%s: shutting down", p->name);
	} else if (p->count == p->max) {
		rc = err_set(err, ERR_LIMIT, "%s: %zu tasks wait already",
			     p->name, p->max);
	} else {
		p->ring[(p->head + p->count++) % p->max] =
			(struct task){ .fn = fn, .ctx = ctx };
		pthread_cond_signal(&p->work);
	}
	pthread_mutex_unlock(&p->mu);
	return rc;
}

void pool_stop(struct pool *p)
{
	if (!p || p->joined)
		return;
	pthread_mutex_lock(&p->mu);
	p->stopping = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->mu);
	for (unsigned i = 0; i < p->threads; i++)
		pthread_join(p->workers[i].thread, NULL);
	p->joined = true;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	pool_stop(p);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->mu);
	mem_free(p->workers);
	mem_free(p->ring);
	mem_free(p);
}
