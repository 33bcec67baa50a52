/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merge: combines many profiles into one, one after another, in memory that
 * grows with the number of distinct stacks, not with the number of profiles.
 *
 * Which objects count as equal, their order in the result, and how times,
 * periods and comments are combined follow google/pprof's profile.Merge and
 * measurement.ScaleProfiles (merge.go, measurement.go): everprof and pprof
 * merge the same files to the same profile (docs/decisions.md, 32). Values are
 * converted to the finest unit that occurs.
 *
 * Ownership: the merge owns its result until merge_free(); added profiles are
 * only read.
 * Threads: one thread per merge.
 */
#ifndef PPROF_MERGE_MERGE_H
#define PPROF_MERGE_MERGE_H

#include "base/limits.h"
#include "model/matcher.h"
#include "model/types.h"
#include "pprof/profile/profile.h"

/* A merge in progress. */
struct merge;

/* How a merge treats the values of one sample type. */
enum merge_op {
	MERGE_ADD,      /* added to the result */
	MERGE_SUBTRACT, /* subtracted from the result */
	MERGE_AVERAGE,  /* collected, then averaged by merge_average() */
	MERGE_SKIP,     /* ignored */
};

/* Create an empty merge. The caller frees it with merge_free(). */
struct merge *merge_new(void);

/* Free a merge and its result. NULL is a no-op. */
void merge_free(struct merge *m);

/*
 * From now on, only one sample type of the added profiles is merged, so that
 * profiles with different sample types can be. A profile that lacks the type, or
 * has another type of its period, is left out, and does not count. The texts are
 * borrowed until the merge is freed. Nothing may have been added before.
 */
void merge_project(struct merge *m, const struct value_type *type,
		   const struct value_type *period);

/*
 * The same for the sample type of this name. Its units may differ: they are converted.
 * merge_add() returns ERR_INVALID for units that cannot be, and for another type of the
 * period, as it does for whole profiles.
 */
void merge_project_name(struct merge *m, struct str type);

/* Whether profiles with these types are merged. *at: which one is. */
bool merge_projects(const struct typeset *types, const struct value_type *type,
		    const struct value_type *period, size_t *at);

/*
 * Add a profile. `ops` has one operation for each sample type; NULL adds all
 * values. A sample is left out if its values are 0 in all types that are not
 * skipped. ERR_INVALID: the sample types or the period type do not match those
 * of the earlier profiles; the message names both, and nothing was added. Errors
 * of the limits of merge_match(), after which nothing was added, either.
 */
NODISCARD int merge_add(struct merge *m, const struct pprof *p,
			const enum merge_op *ops, struct err *err);

/*
 * Add a profile that is itself a sum of profiles, like merge_add(), but keeps
 * samples whose values are all 0 because they cancelled out: these samples
 * still determine the order of samples in the result.
 */
NODISCARD int merge_add_sum(struct merge *m, const struct pprof *p,
			    const enum merge_op *ops, struct err *err);

/*
 * Add such a sum again, with other values. It must be the profile of the last
 * merge_add_sum() or merge_add_more(), without another one in between, and objects
 * may only have been appended to it. This takes less time, because the places of the
 * others in the result are known.
 */
NODISCARD int merge_add_more(struct merge *m, const struct pprof *p,
			     const enum merge_op *ops, struct err *err);

/*
 * Return the number of the sample of the result that sample i of the last sum has
 * become.
 */
uint32_t merge_place(const struct merge *m, size_t i);

/*
 * End a group of n profiles whose values are averaged: divides by n the values
 * that MERGE_AVERAGE has collected since the last call, rounds half away from
 * zero, and adds the quotients to the result.
 */
void merge_average(struct merge *m, size_t n);

/*
 * From now on, the values of added profiles are not added to the result but
 * collected, whatever their operation adds, until merge_collected() takes them.
 * The result has their stacks. Profiles with other units are refused.
 */
void merge_collect(struct merge *m);

/*
 * Take the values of one sample type that were collected since the last call:
 * divides them by n, rounding half away from zero, calls take() for each sample of
 * the result that then has a value other than 0, and drops the values of all types.
 */
void merge_collected(struct merge *m, size_t type, size_t n,
		     void (*take)(void *ctx, uint32_t sample, int64_t value),
		     void *ctx);

/*
 * Return the result of a merge that has collected all values, owned by the merge:
 * its only sample type is `type`, and the value of each sample is its number in
 * merge_collected() plus 1, so that what was collected can be found after filters
 * have removed samples. Nothing may be added afterwards.
 */
struct pprof *merge_number(struct merge *m, size_t type);

/*
 * Put a text label with this key and value on all samples of the profiles
 * added from now on, except for samples that already have a text label with
 * this key.
 */
void merge_label(struct merge *m, struct str key, struct str value);

/*
 * End the effect of merge_label(): profiles added from now on do not get these
 * labels. Profiles added before keep them.
 */
void merge_no_labels(struct merge *m);

/*
 * From now on, only samples whose text labels fulfil all matchers are merged; of
 * several labels with the same key the first counts, and a label that is missing, or
 * that no series could have (label_view_get()), is empty. A profile without such a
 * sample is left out, and does not count. The matchers are borrowed until the next
 * call, and the limits, which are asked while labels are matched, until the merge is
 * freed.
 */
void merge_match(struct merge *m, const struct matcher *v, size_t count,
		 const struct limits *limits);

/* Return how many profiles were added. */
size_t merge_count(const struct merge *m);

/*
 * Find a sample type of the result, as pprof_type_index() does; something must
 * have been added. ERR_INVALID: there is no such type.
 */
NODISCARD int merge_type_index(const struct merge *m, struct str name,
			       size_t *out, struct err *err);

/* Return the memory of the merge and its result, in bytes. */
size_t merge_memory(const struct merge *m);

/*
 * Return the result, owned by the merge. Samples whose values are all 0 are
 * removed, and with them the objects that only they referred to. Nothing may be
 * added afterwards.
 */
struct pprof *merge_finish(struct merge *m);

/* Options of merge_diff(), which computes the difference of two profiles. */
struct merge_diff_options {
	bool label_base; /* whether base samples get a label (-diff_base) */
	bool normalize;  /* whether to scale `source` to the totals of `base` */
	/*
	 * By how much to scale what counts for a time in `source`; 0: not at
	 * all.
	 */
	double scale;
	/* If not NULL, gets by what each type of `source` was multiplied. */
	double *ratios;
};

/*
 * Subtract `base` from `source`, as pprof's -base and -diff_base do, in the
 * empty merge m. Stores the result in *out, which m owns. Both profiles must be
 * results of merges; they are changed. Errors as for merge_add().
 */
NODISCARD int merge_diff(struct merge *m, struct pprof *source,
			 struct pprof *base, const struct merge_diff_options *o,
			 struct pprof **out, struct err *err);

#endif
