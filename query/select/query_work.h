/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query work: the memory and the time that one query may use, and the memory
 * that it has taken. All queries take their memory from one shared budget.
 *
 * Ownership: borrows everything; query_release() returns the memory.
 * Threads: one thread per query; the budget and the stop time are shared.
 */
#ifndef QUERY_SELECT_QUERY_WORK_H
#define QUERY_SELECT_QUERY_WORK_H

#include "base/budget.h"
#include "base/buf.h"
#include "base/limits.h"
#include "query/select/query_progress.h"

/* The limits of one query, and what the query has taken of them. */
struct query_work {
	struct budget *memory; /* the budget that the query takes memory from */
	/* Bytes that the query has taken from the budget. */
	int64_t taken;
	/* Time at which the query must end, in ns of clock_mono_ns(). */
	int64_t deadline_ns;
	/* the setting that set the deadline; NULL: --query.timeout */
	const char *timeout_name;
	/*
	 * Time at which all queries must end because everprof is stopping, in
	 * ns of clock_mono_ns(). The pointer is NULL for queries that need not
	 * watch for this.
	 */
	const _Atomic int64_t *stop_ns;
	/*
	 * Progress of the query, for other threads, which may also cancel the
	 * query through it; NULL: nobody watches the query.
	 */
	struct query_progress *progress;
	/* The answer being written; NULL: its memory is not counted. */
	const struct buf *output;
	int64_t taken_for_output; /* bytes of `taken` that are for the answer */
};

/*
 * Take `n` bytes from the budget for this query. Returns ERR_LIMIT, and takes
 * nothing, when fewer than `n` bytes are left in the budget.
 */
NODISCARD int query_take(struct query_work *w, int64_t n, struct err *err);

/* Return `n` of the bytes that the query has taken to the budget. */
void query_give(struct query_work *w, int64_t n);

/*
 * Take memory for the growth of the output's buffer since the last call. Every
 * loop that writes to the output must call this. Returns ERR_LIMIT when the
 * budget is used up.
 */
NODISCARD int query_take_output(struct query_work *w, struct err *err);

/*
 * End the query: return to the budget all memory except the memory of the
 * output, which the query keeps until the answer is sent (docs/decisions.md,
 * 91).
 */
void query_settle(struct query_work *w);

/* Return all memory to the budget, including the memory of the output. */
void query_release(struct query_work *w);

/*
 * Count profiles for the progress of the query: `more` that it will read, and
 * `done` that it has read.
 */
void query_count(struct query_work *w, size_t more, size_t done);

/*
 * Return ERR_CLOSED when everprof is stopping or the client has gone,
 * ERR_TIMEOUT after the deadline, else 0.
 */
NODISCARD int query_check_deadline(const struct query_work *w, struct err *err);

/*
 * Return limits that check the deadline, and take memory for the query and for
 * the growth of its output. They borrow `w`.
 */
struct limits query_limits(struct query_work *w);

struct labels;
struct matcher;
struct querier;
struct tsdb;

/* Open a querier whose selections end with the query: see querier_open(). */
void query_open(struct query_work *w, struct tsdb *db, struct querier **q);

/*
 * Select series, and take the memory that the selection uses. Heartbeats are not
 * selected unless a matcher is about the name of the series
 * (query_drop_beats()). Errors as for querier_select() and query_take().
 */
NODISCARD int query_select(struct query_work *w, struct querier *q,
			   const struct matcher *v, size_t count, int64_t from,
			   int64_t to, struct err *err);

/* As query_select(), but with all heartbeats: for lists of series and labels. */
NODISCARD int query_select_all(struct query_work *w, struct querier *q,
			       const struct matcher *v, size_t count,
			       int64_t from, int64_t to, struct err *err);

/* Whether a series has no heartbeats of the collector. */
bool query_is_no_beat(const struct labels *ls);

/*
 * Drop the heartbeats from a selection by these matchers, unless one of them is
 * about the name of the series: heartbeats repeat what the other series of the
 * collector say.
 */
void query_drop_beats(struct querier *q, const struct matcher *v, size_t count);

#endif
