/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread pool with a bounded queue that is shared fairly between groups of
 * tasks. Groups with waiting tasks are served in turn, and each group leaves a
 * quarter of the threads (rounded down) to other tasks (docs/decisions.md, 92).
 *
 * Ownership: pool_free() frees the pool; the submitter owns the data that a
 * task works on.
 * Threads: pool_submit() may be called by any thread.
 * Shutdown: pool_stop() refuses new tasks, runs those that are queued and joins
 * the threads; pool_free() follows.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/defs.h"
#include "base/err.h"

/* A pool of threads. */
struct pool;

/* Tasks that are scheduled together, such as the requests of one client. */
struct pool_group;

/*
 * The function of a task; `worker` is the number of the thread that runs it,
 * from 0.
 */
typedef void (*pool_fn)(void *ctx, unsigned worker);

/*
 * Start a pool of `threads` threads called `name`, a string constant of at most
 * 15 characters; at most `max` tasks may wait in its queue. Never returns NULL;
 * the caller ends the pool with pool_free().
 */
struct pool *pool_start(const char *name, unsigned threads, size_t max);

/*
 * Create a group in p; the caller releases it with pool_group_free() before the
 * pool is freed.
 */
struct pool_group *pool_group_new(struct pool *p);

/*
 * Release a group; NULL is a no-op. The group is freed once its last task has
 * run, and must not be used for new tasks.
 */
void pool_group_free(struct pool_group *g);

/*
 * Queue a task: one of the threads calls fn(ctx, worker), where `worker` is 0 …
 * threads - 1. g is the task's group; if g is NULL, the task belongs to no
 * group, and such tasks may occupy all threads. Returns ERR_LIMIT when the
 * queue is full and ERR_CLOSED after pool_stop(); fn is then not called.
 */
NODISCARD int pool_submit(struct pool *p, struct pool_group *g, pool_fn fn,
			  void *ctx, struct err *err);

/*
 * Refuse new tasks, run all that are queued, and join the threads. NULL and a
 * second call are no-ops.
 */
void pool_stop(struct pool *p);

/* Stop the pool as pool_stop() does, then free it; NULL is a no-op. */
void pool_free(struct pool *p);

#endif
