/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct task {
	struct task *next;
	pool_fn fn;
	void *ctx;
};

struct worker {
	struct pool *pool;
	unsigned number;
	pthread_t thread;
};

struct pool_group {
	struct pool *pool;
	struct pool_group *next; /* in the ring, while tasks wait */
	struct task *first;
	struct task *last;
	unsigned running;
	unsigned limit;
	bool freed; /* by its owner: it goes when nothing runs */
};

struct pool {
	const char *name;
	struct worker *workers;
	unsigned threads;
	bool joined;

	pthread_mutex_t mu;
	pthread_cond_t work;
	struct pool_group rest;  /* tasks of no group */
	struct pool_group *turn; /* the last of the ring of those that wait */
	size_t count;
	size_t max;
	bool stopping;
};

/* Put a group that has tasks, and had none, last into the ring. */
static void join_ring(struct pool *p, struct pool_group *g)
{
	g->next = p->turn ? p->turn->next : g;
	if (p->turn)
		p->turn->next = g;
	p->turn = g;
}

/* Take the group behind `before` out. */
static void leave_ring(struct pool *p, struct pool_group *before)
{
	struct pool_group *g = before->next;

	before->next = g->next;
	if (p->turn == g)
		p->turn = before == g ? NULL : before;
}

static struct task *take_task(struct pool_group *g)
{
	struct task *t = g->first;

	g->first = t->next;
	if (!g->first)
		g->last = NULL;
	g->running++;
	return t;
}

/* The next task whose group may have one more worker; NULL: none now. */
static struct task *pick_locked(struct pool *p, struct pool_group **of)
{
	struct pool_group *before = p->turn;

	if (!before)
		return NULL;
	do {
		struct pool_group *g = before->next;
		struct task *t;

		if (g->running >= g->limit) {
			before = g;
			continue;
		}
		t = take_task(g);
		leave_ring(p, before);
		if (g->first)
			join_ring(p, g); /* behind all others */
		p->count--;
		*of = g;
		return t;
	} while (before != p->turn);
	return NULL;
}

static void pool_finish(struct pool *p, struct pool_group *g)
{
	bool gone;

	pthread_mutex_lock(&p->mu);
	g->running--;
	gone = g->freed && !g->running && !g->first;
	if (g->first) /* it may have been at its limit */
		pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->mu);
	if (gone)
		mem_free(g);
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	struct pool *p = w->pool;

	pthread_setname_np(pthread_self(), p->name);
	for (;;) {
		struct pool_group *g = NULL;
		struct task *t;

		pthread_mutex_lock(&p->mu);
		while (!(t = pick_locked(p, &g)) && !(p->stopping && !p->count))
			pthread_cond_wait(&p->work, &p->mu);
		if (!t) /* whoever waits for a group's limit may end, too */
			pthread_cond_broadcast(&p->work);
		pthread_mutex_unlock(&p->mu);
		if (!t)
			return NULL;
		t->fn(t->ctx, w->number);
		mem_free(t);
		pool_finish(p, g);
	}
}

struct pool *pool_start(const char *name, unsigned threads, size_t max)
{
	struct pool *p = mem_new(struct pool);

	p->name = name;
	p->threads = threads;
	p->max = max;
	p->rest = (struct pool_group){ .pool = p, .limit = threads };
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

struct pool_group *pool_group_new(struct pool *p)
{
	struct pool_group *g = mem_new(struct pool_group);

	g->pool = p;
	g->limit = p->threads < 4 ? p->threads : p->threads - p->threads / 4;
	return g;
}

void pool_group_free(struct pool_group *g)
{
	bool gone;

	if (!g)
		return;
	pthread_mutex_lock(&g->pool->mu);
	g->freed = true;
	gone = !g->running && !g->first;
	pthread_mutex_unlock(&g->pool->mu);
	if (gone)
		mem_free(g);
}

static void add_task(struct pool *p, struct pool_group *g, struct task *t)
{
	if (g->last)
		g->last->next = t;
	else
		join_ring(p, g);
	g->last = t;
	if (!g->first)
		g->first = t;
	p->count++;
	pthread_cond_signal(&p->work);
}

int pool_submit(struct pool *p, struct pool_group *g, pool_fn fn, void *ctx,
		struct err *err)
{
	int rc = 0;

	pthread_mutex_lock(&p->mu);
	if (p->stopping) {
		rc = err_set(err, ERR_CLOSED, "%s: shutting down", p->name);
	} else if (p->count >= p->max) {
		rc = err_set(err, ERR_LIMIT, "%s: %zu tasks wait already",
			     p->name, p->max);
	} else {
		struct task *t = mem_new(struct task);

		t->fn = fn;
		t->ctx = ctx;
		add_task(p, g ? g : &p->rest, t);
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
	mem_free(p);
}
