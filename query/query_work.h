/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query work: what one query may use, and what it has taken. Its memory comes
 * out of a budget that all queries share.
 *
 * Ownership: borrows everything; query_release() gives the memory back.
 * Threads: one thread a query; the budget and the stop time are shared.
 */
#ifndef QUERY_QUERY_WORK_H
#define QUERY_QUERY_WORK_H

#include "base/budget.h"
#include "base/buf.h"

/* The limits of one query and its account. */
struct query_work {
	struct budget *memory; /* the budget that is drawn on */
	int64_t taken;         /* bytes taken from the budget */
	int64_t deadline_ns;   /* in terms of clock_mono_ns() */
	/* End of all work at shutdown, clock_mono_ns(); NULL: there is none. */
	const _Atomic int64_t *stop_ns;
	const struct buf *output; /* the answer; NULL: not accounted */
	int64_t taken_for_output; /* bytes of `taken` that are for the output */
};

/*
 * Take n bytes of the budget for this query. Returns ERR_LIMIT, and takes
 * nothing, when the budget does not have them.
 */
NODISCARD int query_take(struct query_work *w, int64_t n, struct err *err);

/* Give n bytes back to the budget, out of those taken. */
void query_give(struct query_work *w, int64_t n);

/*
 * Take what the output's buffer has grown by since the last call. Every loop
 * that writes to the output must call this. Returns ERR_LIMIT when the budget
 * is used up.
 */
NODISCARD int query_take_output(struct query_work *w, struct err *err);

/*
 * End the work: give back all memory but that of the output, which stays
 * accounted until the answer is sent (docs/decisions.md, 91).
 */
void query_settle(struct query_work *w);

/* Give back all memory, the output's included. */
void query_release(struct query_work *w);

/*
 * Returns ERR_CLOSED when everprof is stopping, ERR_TIMEOUT after the deadline,
 * else 0.
 */
NODISCARD int query_check_deadline(const struct query_work *w, struct err *err);

#endif
