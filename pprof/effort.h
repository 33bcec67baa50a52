/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effort: what a long piece of work asks before it takes memory, and now and
 * then while it goes on, so that whoever ordered it can call it off: memory
 * of all queries is shared, and a query has a deadline.
 *
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

/* How much of something that grows has been asked for. */
struct growth_meter {
	size_t spent;
	unsigned rounds;
};

#define EFFORT_ROUNDS 256
#define EFFORT_STEP   ((size_t)256 * 1024)

/*
 * To be called in every round of a loop with the memory that it has by now:
 * asks when that has grown, and every so many rounds in any case.
 */
NODISCARD static inline int effort_meter(const struct effort *e,
					 struct growth_meter *m, size_t memory,
					 struct err *err)
{
	size_t more = memory > m->spent ? memory - m->spent : 0;

	if (more < EFFORT_STEP && ++m->rounds % EFFORT_ROUNDS)
		return 0;
	m->spent += more;
	return effort_spend(e, more, err);
}

#endif
