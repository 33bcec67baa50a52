/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query merge: fetch the profiles of one query, or of one side of a diff, one
 * after another into one merge, within the query's memory and time. Profiles
 * that are unreadable, or that the deadline cuts off, are left out, and a
 * warning says so.
 *
 * Ownership: owns the merge, and so the merged profile; borrows the database,
 * the work and the options.
 * Threads: one thread a query.
 */
#ifndef QUERY_QUERY_MERGE_H
#define QUERY_QUERY_MERGE_H

#include "pprof/aggregate.h"
#include "pprof/columns.h"
#include "pprof/decode.h"
#include "pprof/limits.h"
#include "pprof/merge.h"
#include "query/work/query_spec.h"

/* How profiles are aggregated. */
struct query_merge_options {
	enum aggregate aggregate;
	bool one_type; /* only the values of sample_index matter */
	/* Name or index of the sample type, as in pprof's option. */
	struct str sample_index;
	struct str group_by; /* series labels to put on samples, by commas */
};

/* The state of a merge. The report reads the members below `types`. */
struct query_merge {
	struct tsdb *db;
	struct query_work *work;
	const struct query_merge_options *o;
	struct merge *merge;
	struct columns_sum *sum; /* rows added up as columns, not merged yet */
	struct querier_row row;  /* the last of them: its table is the sum's */
	struct decoder *decoder; /* NULL once all profiles are merged */
	/* Buffer of the last profile that was fetched. */
	struct profile fetched;
	struct typeset *types; /* scratch: the type set of a run */
	size_t series;         /* series with profiles in the range */
	size_t profiles;       /* profiles merged */
	size_t damaged;        /* profiles that could not be read */
	struct err damage;     /* the error of the first of them */
	bool late;             /* time ran out: the answer is partial */
	struct err late_why; /* the deadline passed, or everprof is stopping */
	int64_t taken;       /* bytes accounted to the query work */
	int64_t ms;          /* time of a single profile */
	struct labels *labels; /* series of a single profile, or NULL */
};

/* Prepare a merge. All pointers are borrowed until query_merge_fini(). */
void query_merge_init(struct query_merge *g, struct tsdb *db,
		      struct query_work *work,
		      const struct query_merge_options *o);

/*
 * Free the merge, and with it the merged profile. The memory accounted for it
 * stays taken until the query work is settled or released.
 */
void query_merge_fini(struct query_merge *g);

/*
 * Merge all profiles that the spec asks for. Returns ERR_NOTFOUND when there is
 * none, ERR_CORRUPT when none of them can be read, ERR_INVALID for an unknown
 * sample type, ERR_LIMIT when the memory budget is used up, and ERR_TIMEOUT or
 * ERR_CLOSED when time ran out before the first profile.
 */
NODISCARD int query_merge_run(struct query_merge *g, const struct query_spec *s,
			      struct err *err);

/*
 * Finish the merge. *out is the merged profile, which belongs to the merge and
 * may be changed by the caller's report. Returns ERR_LIMIT when the memory
 * budget is used up.
 */
NODISCARD int query_merge_finish(struct query_merge *g, struct pprof **out,
				 struct err *err);

/*
 * Finish `base` and subtract it from *p. The difference replaces *p and belongs
 * to `both`. Returns ERR_LIMIT when the memory budget is used up, and
 * ERR_INVALID when the sample types of the two sides do not match.
 */
NODISCARD int query_merge_subtract(struct query_merge *base, struct merge *both,
				   const struct merge_diff_options *o,
				   struct pprof **p, struct err *err);

/*
 * The limits that a report has to keep to: the memory and the deadline of this
 * query. Valid as long as the merge.
 */
struct limits query_merge_limits(struct query_merge *g);

/*
 * Write at most `max` warnings to out, one sentence for each kind of omission.
 * Returns their number; the texts are in the arena.
 */
size_t query_merge_warnings(const struct query_merge *g, struct arena *arena,
			    const char **out, size_t max);

#endif
