/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effort: the callback by which a long computation asks for permission to take
 * memory, and, at intervals, to continue. The caller refuses when the memory
 * that all queries share is used up or the query's deadline has passed
 * (docs/decisions.md, 42).
 *
 * Ownership: an limits borrows its context.
 * Threads: the callback runs in the thread that does the work.
 */
#ifndef PPROF_LIMITS_H
#define PPROF_LIMITS_H

#include "base/defs.h"
#include "base/err.h"

/* The callback and its context. The zero value permits everything. */
struct limits {
	/*
	 * Asks to take that many more bytes; 0 bytes: the computation only asks
	 * whether it may continue. Returns 0 or an ERR_* code.
	 */
	int (*spend)(void *ctx, size_t bytes, struct err *err);
	void *ctx;
};

/*
 * Asks to take that many more bytes. ERR_LIMIT: no memory is left; ERR_TIMEOUT:
 * the deadline has passed.
 */
NODISCARD static inline int limits_spend(const struct limits *e, size_t bytes,
					 struct err *err)
{
	return e->spend ? e->spend(e->ctx, bytes, err) : 0;
}

/* Counts the work and memory of a loop, so that it asks now and then only. */
struct growth_meter {
	size_t spent; /* bytes granted so far */
	size_t work;  /* units of work since the last question */
};

/*
 * limits_meter() asks after LIMITS_WORK units of work (frames, names, lines …)
 * or LIMITS_STEP more bytes. Searching one text with a regular expression
 * counts as REGEX_WORK units.
 */
#define LIMITS_WORK ((size_t)4096)
#define LIMITS_STEP ((size_t)256 * 1024)
#define REGEX_WORK  ((size_t)16)

/*
 * Accounts for one round of a loop: work is the amount of work that the round
 * was, in units whose number the profile decides (a sample is as many units as
 * it has frames), and memory is what the loop's data takes by now, in bytes.
 * Asks when either has grown by a whole step. Errors as for limits_spend().
 */
NODISCARD static inline int limits_meter(const struct limits *e,
					 struct growth_meter *m, size_t work,
					 size_t memory, struct err *err)
{
	size_t more = memory > m->spent ? memory - m->spent : 0;

	m->work += work;
	if (more < LIMITS_STEP && m->work < LIMITS_WORK)
		return 0;
	m->work = 0;
	m->spent += more;
	return limits_spend(e, more, err);
}

#endif
