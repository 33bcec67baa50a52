/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looked time: for how long the programs of a merge were profiled. Instances of a
 * job are profiled at the same time, so the sum of the durations of all profiles
 * is the time of nobody; and a program that was idle has no profile of this time
 * at all (query/select/coverage.h).
 *
 * It is the time by which the total has to be divided to get what all series
 * together used in a second, each divided by its own time. If all were profiled
 * for the same time, it is this time.
 *
 * Ownership: looked_time_fini() frees everything.
 * Threads: one thread per query.
 */
#ifndef QUERY_MERGE_LOOKED_TIME_H
#define QUERY_MERGE_LOOKED_TIME_H

#include "model/types.h"
#include "query/select/coverage.h"

struct looked_time {
	struct coverage coverage;
	bool has_coverage; /* whether heartbeats tell of the series */
	double total;      /* of the chosen sample type in all series */
	double rate;       /* the same in a second */
	double most;    /* the time of the series that has most, in seconds */
	double sum;     /* the times of all series, in seconds */
	bool has_flows; /* profiles were added that count for a time */
	bool unknown;   /* something is missing */
};

/*
 * Begin with no series. The profiles begin in [from, to]. `all`: no profile of
 * the series is left out by a filter.
 */
void looked_time_init(struct looked_time *l, struct tsdb *db,
		      struct query_work *work, int64_t from, int64_t to,
		      bool all);

/* Free the heartbeats; what was added stays. */
void looked_time_fini(struct looked_time *l);

/*
 * Set *node to the machine of a series; NULL: it has no heartbeats. This is done
 * before the profiles of the series are listed (coverage_init()). *node is valid
 * until the next call. Errors of the memory budget. If time runs out, the result
 * is unknown, and that is no error.
 */
NODISCARD int looked_time_find(struct looked_time *l, struct labels *series,
			       const struct coverage_node **node,
			       struct err *err);

/*
 * Add the profiles of a series. `sample_index` names the sample type as in
 * typeset_index(); `types` is scratch memory. Errors of decoding. If time runs
 * out, or a profile lacks the sample type, the result is unknown, and that is no
 * error.
 */
NODISCARD int looked_time_add(struct looked_time *l,
			      const struct coverage_node *node,
			      const struct totals_view *v,
			      struct str sample_index, struct typeset *types,
			      struct err *err);

/* Return the time in nanoseconds; 0: it is unknown. */
int64_t looked_time_ns(const struct looked_time *l);

/*
 * Return the times of all series together, in seconds: what their values have to
 * be divided by to be those of one series in a second. The time of a counter is
 * that between its first profile and its last one. 0: it is unknown.
 */
double looked_time_sum(const struct looked_time *l);

#endif
