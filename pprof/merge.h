/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merge: many profiles into one, one after another, in memory that follows
 * from the distinct stacks, not from the number of profiles.
 *
 * What is the same, in which order it comes out, and what becomes of headers
 * is as in google/pprof's profile.Merge and measurement.ScaleProfiles
 * (merge.go, measurement.go): merging files there and here gives the same
 * profile. Units are brought to the finest one that occurs.
 *
 * Ownership: the merge owns the result until merge_free(); added profiles are
 * only read. Threads: one thread a merge.
 */
#ifndef PPROF_MERGE_H
#define PPROF_MERGE_H

#include "base/err.h"
#include "pprof/profile/profile.h"

struct merge;

/* What is done with the values of one sample type. */
enum merge_op {
	MERGE_ADD,
	MERGE_SUBTRACT,
	MERGE_AVERAGE, /* added up until merge_average() */
	MERGE_SKIP,
};

struct merge *merge_new(void);
void merge_free(struct merge *m);

/*
 * ops: one for each sample type; NULL adds all. ERR_INVALID: sample or period
 * types do not agree, the message names both.
 */
NODISCARD int merge_add(struct merge *m, const struct pprof *p,
			const enum merge_op *ops, struct err *err);

/*
 * The same of a profile that is itself a sum: samples whose values cancelled
 * out keep their place in the order.
 */
NODISCARD int merge_add_sum(struct merge *m, const struct pprof *p,
			    const enum merge_op *ops, struct err *err);

/*
 * Add what MERGE_AVERAGE gathered since the last call, divided by n and
 * rounded half away from zero: the end of a series of n profiles.
 */
void merge_average(struct merge *m, size_t n);

/*
 * Samples of the profiles that are added from now on get this text label,
 * unless they have one of that key.
 */
void merge_label(struct merge *m, struct str key, struct str value);
void merge_no_labels(struct merge *m);

/* How many profiles were added. */
size_t merge_count(const struct merge *m);

/* Bytes that it takes. */
size_t merge_memory(const struct merge *m);

/*
 * The result, without samples whose values are all 0 and what only they
 * needed; nothing may be added afterwards.
 */
struct pprof *merge_finish(struct merge *m);

struct merge_diff_options {
	bool label_base; /* -diff_base: base samples stay apart, with a label */
	bool normalize;  /* the source is scaled to the base's totals */
};

/*
 * source - base, as pprof's -base and -diff_base. The profiles are results of
 * merges, which this changes; the result belongs to m, which was empty.
 */
NODISCARD int merge_diff(struct merge *m, struct pprof *source,
			 struct pprof *base, const struct merge_diff_options *o,
			 struct pprof **out, struct err *err);

#endif
