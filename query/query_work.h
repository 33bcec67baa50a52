/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query work: what one query may use, and what it has taken of it. The memory
 * is a share of what all queries may take together.
 *
 * Ownership: borrows everything; query_release() gives the memory back.
 * Threads: one thread a query; the budget and the stop time are shared.
 */
#ifndef QUERY_QUERY_WORK_H
#define QUERY_QUERY_WORK_H

#include "base/budget.h"
#include "base/buf.h"

struct query_work {
	struct budget *memory;
	int64_t taken;                  /* bytes of the budget */
	int64_t deadline_ns;            /* of clock_mono_ns() */
	const _Atomic int64_t *stop_ns; /* the same for all; NULL: none */
	const struct buf *output;       /* the answer; NULL: not accounted */
	int64_t taken_for_output;
};

/* Take n bytes of the budget for this query. ERR_LIMIT. */
NODISCARD int query_take(struct query_work *w, int64_t n, struct err *err);
void query_give(struct query_work *w, int64_t n);

/*
 * Take what the output has grown by since the last call. Call it inside every
 * loop that writes to the output. ERR_LIMIT.
 */
NODISCARD int query_take_output(struct query_work *w, struct err *err);

/* The work is done: give back everything but the memory of the output. */
void query_settle(struct query_work *w);

/* Give back everything. */
void query_release(struct query_work *w);

/* ERR_TIMEOUT after the deadline, ERR_CLOSED when everprof is stopping. */
NODISCARD int query_check_deadline(const struct query_work *w, struct err *err);

#endif
