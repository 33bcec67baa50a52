/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits: the callback by which a long computation asks whether it may take
 * more memory and, at intervals, whether it may continue. The callback refuses
 * when the memory that all queries share is used up, or when the deadline of
 * the query has passed (docs/decisions.md, 42).
 *
 * Ownership: a struct limits borrows its context.
 * Threads: the callback runs in the thread that does the work.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include "base/defs.h"
#include "base/err.h"

/* The callback and its context. The zero value permits everything. */
struct limits {
	/*
	 * Asks to take `bytes` more bytes of memory. 0: only asks whether the
	 * computation may continue. Returns 0 or an ERR_* code.
	 */
	int (*spend)(void *ctx, size_t bytes, struct err *err);
	void *ctx;
};

/*
 * Ask to take `bytes` more bytes of memory. ERR_LIMIT: no memory is left;
 * ERR_TIMEOUT: the deadline has passed.
 */
NODISCARD static inline int limits_spend(const struct limits *e, size_t bytes,
					 struct err *err)
{
	return e->spend ? e->spend(e->ctx, bytes, err) : 0;
}

/*
 * Counts the work and memory of a loop, so that the loop asks its limits only
 * at intervals.
 */
struct growth_meter {
	size_t spent; /* memory granted so far, in bytes */
	size_t work;  /* units of work since the limits were last asked */
};

/*
 * limits_meter() asks the limits after LIMITS_WORK units of work (frames,
 * names, lines …) or LIMITS_STEP more bytes of memory. Searching one text with
 * a regular expression counts as REGEX_WORK units.
 */
#define LIMITS_WORK ((size_t)4096)
#define LIMITS_STEP ((size_t)256 * 1024)
#define REGEX_WORK  ((size_t)256)

/*
 * Account for one round of a loop, and ask the limits if LIMITS_WORK or
 * LIMITS_STEP was reached. `work` is the work of this round, in units of which
 * each takes a bounded time (a sample counts as many units as it has frames).
 * `memory` is the current size of the loop's data, in bytes. Errors as for
 * limits_spend().
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
