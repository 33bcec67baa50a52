/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimate: the difference between two ratios, and how sure it is. Each side is
 * cut into buckets of time, and the spread between the buckets tells how much the
 * ratio varies without a reason: profiles that follow each other are too much
 * alike to be counted one by one (docs/decisions.md, 211).
 *
 * The ratio of a side is the sum of its values divided by the sum of its divisors
 * (Cochran, Sampling Techniques, 6.4: the variance of a ratio estimate).
 *
 * Ownership: borrows all arrays.
 * Threads: pure functions.
 */
#ifndef PPROF_COMPARE_ESTIMATE_H
#define PPROF_COMPARE_ESTIMATE_H

#include "base/defs.h"

enum estimate_side {
	ESTIMATE_BASE,
	ESTIMATE_NEW,
	ESTIMATE_SIDES,
};

/* Values, or what they are divided by, of each bucket or instance of a side. */
struct estimate_column {
	const double *v;
	size_t count;
};

/* What all rows of a comparison share. */
struct estimate_frame {
	/* Divisors by bucket and by instance. */
	struct estimate_column buckets[ESTIMATE_SIDES];
	struct estimate_column instances[ESTIMATE_SIDES];
	double sum[ESTIMATE_SIDES];     /* of the divisors */
	double count[ESTIMATE_SIDES];   /* buckets whose divisor is not 0 */
	double degrees[ESTIMATE_SIDES]; /* degrees of freedom of each side */
	/* Whether both sides are of the same time, bucket by bucket. */
	bool paired;
	/*
	 * Whether both sides have the same instances: those that only one side
	 * has are at most 1 % of it, by their divisors.
	 */
	bool same_instances;
	/* Whether values are parts of their divisors, as shares are. */
	bool is_share;
	/* Value of one sample; 0: values do not tell how many samples they are. */
	double period;
};

/* The difference of one row. */
struct estimate {
	double ratio[ESTIMATE_SIDES];
	double delta; /* new - base */
	double variance;
	double degrees;
	/* What the bucket adds that pushes most in the direction of the delta. */
	double dropped;
	double largest; /* the same of any bucket, in either direction */
	double p;       /* probability of such a delta by chance alone */
	/* Instances on both sides, and how many of them moved like the whole. */
	uint32_t instances;
	uint32_t agree;
	double biggest_part; /* of delta, by a single instance */
};

/*
 * Set the sums, counts and degrees of freedom, and whether the instances are the
 * same, from the divisors.
 */
void estimate_begin(struct estimate_frame *e);

/*
 * Return the ratios of one row and their difference, from the sums of its values.
 * Nothing is known about their spread.
 */
struct estimate estimate_ratios(const struct estimate_frame *e,
				const double sums[ESTIMATE_SIDES]);

/* The same from its values by bucket, added up in the order of the divisors. */
struct estimate estimate_buckets(const struct estimate_frame *e,
				 const double *const buckets[ESTIMATE_SIDES]);

/*
 * Add to the ratios of a row how sure their difference is, from its values by
 * bucket and by instance in the order of the divisors.
 */
void estimate_row(const struct estimate_frame *e, struct estimate *x,
		  const double *const buckets[ESTIMATE_SIDES],
		  const double *const instances[ESTIMATE_SIDES]);

/*
 * Return the variance of the difference by the spread of the buckets alone, to
 * choose their width.
 */
double estimate_spread(const struct estimate_frame *e,
		       const double *const buckets[ESTIMATE_SIDES]);

/*
 * Return half of the interval in which the difference is with a probability of
 * 95 %; NaN: nothing is known about it.
 */
double estimate_interval(const struct estimate *x);

/*
 * Return the smallest difference that would be seen in nearly all cases, if
 * `tests` rows are tested with the family-wise error `alpha`.
 */
double estimate_visible(const struct estimate *x, double alpha, size_t tests);

#endif
