/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/mutex.h"
#include "base/thread.h"

/* A queued task: a worker calls fn(ctx, number of the worker). */
struct task {
	struct task *next;
	pool_fn fn;
	void *ctx;
};

/* One thread of a pool. */
struct worker {
	struct pool *pool;
	unsigned number;
	pthread_t thread;
};

/*
 * A group of tasks: its queued tasks, and how many of its tasks are running.
 * Groups with queued tasks form a ring, which the workers serve in turn.
 */
struct pool_group {
	struct pool *pool;
	/* next group in the ring, while tasks are queued */
	struct pool_group *next;
	struct task *first; /* queued tasks, the oldest first */
	struct task *last;
	unsigned running;
	unsigned limit; /* how many of the group's tasks may run at once */
	/*
	 * whether the owner has released the group; the group is freed after
	 * its last task
	 */
	bool freed;
};

struct pool {
	const char *name;
	struct worker *workers;
	unsigned threads;
	bool joined; /* whether pool_stop() has joined all threads */

	struct mutex mu; /* protects all members below it, and all groups */
	pthread_cond_t work;
	struct pool_group rest;  /* holds the tasks submitted without a group */
	struct pool_group *turn; /* the last group of the ring, or NULL */
	size_t count;            /* number of queued tasks in all groups */
	size_t max;
	bool stopping;
};

/*
 * Append a group that has queued tasks to the end of the ring. The ring is
 * circular and p->turn is the last group, so the first group is p->turn->next.
 */
static void join_ring(struct pool *p, struct pool_group *g)
{
	g->next = p->turn ? p->turn->next : g;
	if (p->turn)
		p->turn->next = g;
	p->turn = g;
}

/* Remove the group after `before` from the ring. */
static void leave_ring(struct pool *p, struct pool_group *before)
{
	struct pool_group *g = before->next;

	before->next = g->next;
	if (p->turn == g)
		p->turn = before == g ? NULL : before;
}

/*
 * Dequeue the oldest task of a group, which must have one, and count it as
 * running.
 */
static struct task *take_task(struct pool_group *g)
{
	struct task *t = g->first;

	g->first = t->next;
	if (!g->first)
		g->last = NULL;
	g->running++;
	return t;
}

/*
 * Dequeue a task of the first group in the ring that is below its limit, and
 * store the group in *of. Returns NULL when no task may run now: none is
 * queued, or all groups with queued tasks are at their limits. The caller holds
 * the lock.
 */
static struct task *pick_locked(struct pool *p, struct pool_group **of)
	REQUIRES(p->mu)
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
		/*
		 * Each turn of a group runs one task. A group with more queued
		 * tasks goes to the end of the ring.
		 */
		if (g->first)
			join_ring(p, g);
		p->count--;
		*of = g;
		return t;
	} while (before != p->turn);
	return NULL;
}

/*
 * Account for the end of a task. If the task's group was released and has no
 * more tasks, free the group.
 */
static void pool_finish(struct pool *p, struct pool_group *g)
{
	bool gone;

	mutex_lock(&p->mu);
	g->running--;
	gone = g->freed && !g->running && !g->first;
	/*
	 * The group is below its limit now. Workers that skipped the group may
	 * be asleep: wake one.
	 */
	if (g->first)
		pthread_cond_signal(&p->work);
	mutex_unlock(&p->mu);
	if (gone)
		mem_free(g);
}

/*
 * The main function of a worker. When the pool stops, the worker continues
 * until no task is queued. Other workers may be asleep then, because the groups
 * with queued tasks were at their limits; the first worker that ends wakes
 * them.
 */
static void *worker_run(void *arg)
{
	struct worker *w = arg;
	struct pool *p = w->pool;

	for (;;) {
		struct pool_group *g = NULL;
		struct task *t;

		mutex_lock(&p->mu);
		while (!(t = pick_locked(p, &g)) && !(p->stopping && !p->count))
			mutex_wait(&p->mu, &p->work);
		/*
		 * If this worker ends, workers that wait because groups were at
		 * their limits may end, too: wake them.
		 */
		if (!t)
			pthread_cond_broadcast(&p->work);
		mutex_unlock(&p->mu);
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
	mutex_init(&p->mu);
	pthread_cond_init(&p->work, NULL);
	for (unsigned i = 0; i < threads; i++) {
		p->workers[i] = (struct worker){ .pool = p, .number = i };
		p->workers[i].thread =
			thread_start(p->name, worker_run, &p->workers[i]);
	}
	return p;
}

/*
 * Of the threads of the pool, a group may occupy all but a quarter (rounded
 * down): 3 of 4, and all of fewer than 4.
 */
struct pool_group *pool_group_new(struct pool *p)
{
	struct pool_group *g = mem_new(struct pool_group);

	g->pool = p;
	g->limit = p->threads < 4 ? p->threads : p->threads - p->threads / 4;
	return g;
}

/*
 * While tasks of the group are queued or running, the group stays allocated;
 * after its last task, pool_finish() frees the group.
 */
void pool_group_free(struct pool_group *g)
{
	bool gone;

	if (!g)
		return;
	mutex_lock(&g->pool->mu);
	g->freed = true;
	gone = !g->running && !g->first;
	mutex_unlock(&g->pool->mu);
	if (gone)
		mem_free(g);
}

/*
 * Append a task to the queue of its group, and add the group to the ring if the
 * queue was empty. One waiting worker is woken.
 */
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

	mutex_lock(&p->mu);
	if (p->stopping) {
		rc = err_set(err, ERR_CLOSED, "everprof is shutting down");
	} else if (p->count >= p->max) {
		rc = err_set(
			err, ERR_LIMIT,
			"everprof is busy: %zu tasks wait for the thread pool %s; try again later",
			p->max, p->name);
	} else {
		struct task *t = mem_new(struct task);

		t->fn = fn;
		t->ctx = ctx;
		add_task(p, g ? g : &p->rest, t);
	}
	mutex_unlock(&p->mu);
	return rc;
}

/*
 * Must be called by one thread only, and not by a task of the pool, which would
 * wait for its own thread to end.
 */
void pool_stop(struct pool *p)
{
	if (!p || p->joined)
		return;
	mutex_lock(&p->mu);
	p->stopping = true;
	pthread_cond_broadcast(&p->work);
	mutex_unlock(&p->mu);
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
	mutex_destroy(&p->mu);
	mem_free(p->workers);
	mem_free(p);
}
