/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effort: what a long piece of work asks before it takes memory, and now and
 * then while it goes on, so that whoever ordered it can call it off: memory
 * of all queries is shared, and a query has a deadline.
 *
 * Ownership: borrows its context.
 * Threads: the functions are called by the thread that works.
 */
#ifndef PPROF_EFFORT_H
#define PPROF_EFFORT_H

#include "base/defs.h"
#include "base/err.h"

/* The zero value never objects. */
struct effort {
	/* bytes more are to be taken; 0: only time has passed. */
	int (*spend)(void *ctx, size_t bytes, struct err *err);
	void *ctx;
};

/* ERR_LIMIT, ERR_TIMEOUT. */
NODISCARD static inline int effort_spend(const struct effort *e, size_t bytes,
					 struct err *err)
{
	return e->spend ? e->spend(e->ctx, bytes, err) : 0;
}

/* How much has been done, and taken, since it was last asked. */
struct growth_meter {
	size_t spent;
	size_t work;
};

#define EFFORT_WORK ((size_t)4096)       /* frames, names, lines … */
#define EFFORT_STEP ((size_t)256 * 1024) /* bytes */
#define REGEX_WORK  ((size_t)16)         /* of a text that is searched */

/*
 * To be called in every round of a loop: how much work the round was, in
 * things whose number a profile decides (a sample is as much work as it has
 * frames), and the memory that the loop has by now. Asks when either has grown
 * by so much.
 */
NODISCARD static inline int effort_meter(const struct effort *e,
					 struct growth_meter *m, size_t work,
					 size_t memory, struct err *err)
{
	size_t more = memory > m->spent ? memory - m->spent : 0;

	m->work += work;
	if (more < EFFORT_STEP && m->work < EFFORT_WORK)
		return 0;
	m->work = 0;
	m->spent += more;
	return effort_spend(e, more, err);
}

#endif
