/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread pool with a bounded queue, shared fairly between groups of tasks: the
 * groups that wait are served in turn, and none has more than three quarters
 * of the workers.
 *
 * Ownership: pool_free() ends it; what a job works on is the submitter's.
 * Threads: pool_submit() from any. Shutdown: pool_stop() runs what is queued,
 * joins, and refuses what comes later; then pool_free().
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/defs.h"
#include "base/err.h"

struct pool;
struct pool_group;

typedef void (*pool_fn)(void *ctx, unsigned worker);

/* Start threads that call themselves name; at most max tasks may wait. */
struct pool *pool_start(const char *name, unsigned threads, size_t max);

/* A group lives until all of its tasks have been run, and it is freed. */
struct pool_group *pool_group_new(struct pool *p);
void pool_group_free(struct pool_group *g); /* NULL is a no-op */

/*
 * Have a worker call fn(ctx, worker), worker being 0 … threads - 1. g: the
 * group, NULL for tasks that may have all workers. ERR_LIMIT: the queue is
 * full. ERR_CLOSED: stopping.
 */
NODISCARD int pool_submit(struct pool *p, struct pool_group *g, pool_fn fn,
			  void *ctx, struct err *err);

/* NULL is a no-op for both. */
void pool_stop(struct pool *p);
void pool_free(struct pool *p);

#endif
