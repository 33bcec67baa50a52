/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query merge: fetch the profiles of one query, or of one side of a diff, one
 * after another into one merge, within the query's memory and time. Profiles
 * that are unreadable, or that the deadline cuts off, are left out, and a
 * warning says so.
 *
 * Ownership: owns the merge, and so the merged profile; borrows the database,
 * the work and the options.
 * Threads: one thread per query.
 */
#ifndef QUERY_MERGE_QUERY_MERGE_H
#define QUERY_MERGE_QUERY_MERGE_H

#include "base/limits.h"
#include "pprof/columns/columns.h"
#include "pprof/merge/aggregate.h"
#include "pprof/merge/merge.h"
#include "pprof/proto/decode.h"
#include "query/merge/looked_time.h"
#include "query/merge/wanted_type.h"
#include "query/select/query_spec.h"

struct query_compare;

/* Options of a merge: how its profiles are aggregated. */
struct query_merge_options {
	enum aggregate aggregate;
	/*
	 * Merge only the values of sample_index. If that is a name, profiles that
	 * lack it are left out, and the others may have other types, too.
	 */
	bool one_type;
	/*
	 * Merge only the values of this sample type, of profiles that have it and
	 * this type of the period; others are left out. NULL: merge all types.
	 */
	const struct value_type *project;
	const struct value_type *period;
	/* Name or index of a sample type, as in pprof's option of that name. */
	struct str sample_index;
	/* Series labels to add to samples, separated by commas. */
	struct str group_by;
	/* Whether to find out for how long the programs were profiled … */
	bool looked;
	bool without_beats; /* … by their profiles alone, without heartbeats */
};

/* The state of a merge. Reports read the members after `types`. */
struct query_merge {
	struct tsdb *db;
	struct query_work *work;
	const struct query_merge_options *o;
	struct merge *merge;
	/* Sum of profiles that are stored as columns; not yet in the merge. */
	struct columns_sum *sum;
	/*
	 * The last profile added to `sum`; holds a reference to the table that
	 * `sum` uses.
	 */
	struct querier_row row;
	/* The decoder; NULL once all profiles are merged. */
	struct decoder *decoder;
	/* Buffer for the profile that is being fetched. */
	struct profile fetched;
	/* Scratch: type set of the profiles being added. */
	struct typeset *types;
	size_t series;   /* number of series with profiles in the range */
	size_t profiles; /* number of profiles merged */
	size_t damaged;  /* number of profiles that could not be read */
	/* The sample type of that name, and how many profiles lack it. */
	struct wanted_type wanted;
	size_t lacking;
	/* some series says that its values count an interval (LABEL_DELTA) */
	bool increments;
	/* Error of the first profile that could not be read. */
	struct err damage;
	/*
	 * The deadline passed, or everprof is stopping: the result is partial.
	 */
	bool late;
	/* The reason for `late`. */
	struct err late_why;
	int64_t taken; /* bytes taken from the budget for this merge */
	/* Time of the profile, if the query is for a single one. */
	int64_t ms;
	/*
	 * Series of the profile, if the query is for a single one; else NULL.
	 */
	struct labels *labels;
	/* For how long the programs were profiled. */
	struct looked_time looked;
	/* Collects the values apart by bucket of time; NULL: they are merged. */
	struct query_compare *compare;
	/* The matchers of the samples of the series that is being added. */
	struct matcher sample_matchers[SELECTOR_MATCHERS_MAX];
	struct limits sample_limits;
	bool has_looked;   /* the options ask for it */
	int64_t looked_ns; /* the result; 0: not known */
	double looked_sum; /* of all series, in seconds; 0: not known */
};

/*
 * Prepare a merge. The merge keeps the pointers, so what they point to must
 * live until query_merge_fini().
 */
void query_merge_init(struct query_merge *g, struct tsdb *db,
		      struct query_work *work,
		      const struct query_merge_options *o);

/*
 * Free the merge and the merged profile. The memory taken for them returns to
 * the budget at query_settle() or query_release().
 */
void query_merge_fini(struct query_merge *g);

/*
 * Merge all profiles that the spec selects. Returns ERR_NOTFOUND when there is
 * none, ERR_CORRUPT when none of them can be read, ERR_INVALID for an unknown
 * sample type, ERR_LIMIT when the memory budget is used up, and ERR_TIMEOUT or
 * ERR_CLOSED when time ran out before the first profile.
 */
NODISCARD int query_merge_run(struct query_merge *g, const struct query_spec *s,
			      struct err *err);

/*
 * Merge a profile that is not stored, decompressed, as the only one: it is one of one
 * series. ERR_INVALID: it is none; ERR_LIMIT: the memory budget is used up.
 */
NODISCARD int query_merge_bytes(struct query_merge *g, struct bytes raw,
				struct err *err);

/*
 * Finish the merge. *out is the merged profile, which belongs to the merge and
 * may be changed by the caller's report. Returns ERR_LIMIT when the memory
 * budget is used up.
 */
NODISCARD int query_merge_finish(struct query_merge *g, struct pprof **out,
				 struct err *err);

/*
 * Finish `base` and subtract it from the profile *p. *p is set to the
 * difference, which belongs to `both`. Returns ERR_LIMIT when the memory budget
 * is used up, and ERR_INVALID when the sample types of the two sides do not
 * match.
 */
NODISCARD int query_merge_subtract(struct query_merge *base, struct merge *both,
				   const struct merge_diff_options *o,
				   struct pprof **p, struct err *err);

/*
 * Return the limits that a report about this merge must keep: the memory and
 * the deadline of the query. The result is valid as long as the merge.
 */
struct limits query_merge_limits(struct query_merge *g);

/*
 * Write at most `max` warnings to `out`, one sentence for each kind of
 * omission. Returns the number of warnings; the texts are in the arena.
 */
size_t query_merge_warnings(const struct query_merge *g, struct arena *arena,
			    const char **out, size_t max);

/*
 * Leave out of a view the profiles that lack the sample type that is merged. The
 * caller frees `rows`. Errors as for wanted_type_reduce().
 */
NODISCARD int query_merge_reduce(struct query_merge *g, struct totals_view *v,
				 struct total_rows *rows, struct err *err);

/*
 * Add the profiles of one series within the time range of `side`. A deadline
 * that passes after the first profile sets g->late and is no error. Returns
 * ERR_TIMEOUT, ERR_CLOSED or ERR_LIMIT when the query's limits are exceeded,
 * ERR_INVALID for an unknown sample_index, and the errors of the querier.
 */
NODISCARD int query_add_series(struct query_merge *g, struct querier *q,
			       size_t series, const struct query_spec *side,
			       struct err *err);

#endif
