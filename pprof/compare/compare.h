/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compare: which functions differ between two sets of profiles by more than
 * chance, and which differences are too small to be seen (docs/comparing.md).
 *
 * The values of both sides are collected apart by bucket of time and by instance;
 * compare_run() adds them up by function and judges each difference.
 *
 * Ownership: compare_fini() and compare_result_fini() free everything; the
 * profile and its nodes are borrowed.
 * Threads: one thread per comparison.
 */
#ifndef PPROF_COMPARE_COMPARE_H
#define PPROF_COMPARE_COMPARE_H

#include "base/limits.h"
#include "pprof/compare/cells.h"
#include "pprof/compare/estimate.h"
#include "pprof/graph/nodes.h"
#include "pprof/merge/aggregate.h"

/* What is compared. */
enum compare_by {
	COMPARE_SHARE, /* the part of the total */
	COMPARE_RATE,  /* the value in a second of one instance */
	COMPARE_LEVEL, /* the value of one instance */
};

/* What values are divided by, unless the share of the total is compared. */
struct compare_divisors {
	VEC(double) buckets;
	VEC(double) instances;
};

/* What the values of the sample type that is compared are. */
struct compare_type {
	enum value_kind kind;
	bool is_samples; /* numbers of samples */
	bool is_period;  /* the period has the same type and unit */
};

/*
 * Groups of samples that are compared in place of the functions, such as the
 * boxes of a flame graph: each has a value, which is cumulative.
 */
struct compare_groups {
	size_t count;
	const struct pprof_run *of; /* by group: its part of `samples` */
	const uint32_t *samples;    /* numbers of samples of the profile */
};

/* Two sets of profiles that are compared. The zero value is empty. */
struct compare {
	enum compare_by by;
	/*
	 * Values by bucket and by instance. The column is twice the number of
	 * the bucket or the instance; that of the new side is one more.
	 */
	struct cells buckets;
	struct cells instances;
	struct compare_divisors divisors[ESTIMATE_SIDES];
	/*
	 * The number of the first bucket of each side since 1970, in buckets:
	 * joined buckets begin at whole multiples of their length.
	 */
	int64_t first[ESTIMATE_SIDES];
	/*
	 * Whether each bucket is a run of its own, and not a piece of a longer
	 * time: they are independent, and are not joined.
	 */
	bool runs;
	/*
	 * Whether both sides are of the same time. They have the same buckets
	 * then; if they do not, it is ignored.
	 */
	bool paired;
	bool is_state;      /* values drift without a reason, as memory does */
	double period;      /* value of a sample; 0: unknown */
	double alpha;       /* family-wise error of all that is called sure */
	double min_samples; /* rows with fewer are not tested */
	/*
	 * Groups to compare in place of the functions, borrowed, or NULL.
	 * The blocks of time are as wide as they are for the functions.
	 */
	const struct compare_groups *groups;
};

/* The flat or cumulative value of a function on both sides. */
struct compare_value {
	struct estimate e;
	double samples; /* of both sides; 0 if the period is unknown */
	double p_all;   /* corrected for all rows; 2: the row was not tested */
	/*
	 * The smallest difference that would have been seen; NaN: not tested, or
	 * a group.
	 */
	double visible;
	bool sure; /* the difference is not chance */
};

/* One function, or one group. */
struct compare_row {
	uint32_t node; /* its number */
	struct compare_value flat;
	struct compare_value cum;
};

/* The result of a comparison. */
struct compare_result {
	VEC(struct compare_row)
	/*
	 * sure ones first, then the most likely; groups in their order
	 */
	rows;
	struct compare_value total; /* of no use for shares */
	size_t tested;              /* values that were tested */
	size_t few;                 /* values with too few samples */
	size_t buckets[ESTIMATE_SIDES];
	size_t instances[ESTIMATE_SIDES];
	bool same_instances; /* see struct estimate_frame */
	size_t joined;       /* how many buckets were joined to one */
	bool bursty; /* the load changes more slowly than the range averages */
	bool few_buckets; /* too few for a judgement: nothing is sure */
};

/*
 * Return what the values of a sample type are; `per_interval`: as for
 * value_kind().
 */
struct compare_type compare_type_of(const struct value_type *type,
				    const struct value_type *period,
				    bool per_interval);

/* Return what is compared unless somebody asks for something else. */
enum compare_by compare_by_kind(enum value_kind kind);

/*
 * Return the value of one sample, of profiles with this period; 0: values do not
 * tell how many samples they are.
 */
double compare_type_period(const struct compare_type *t, int64_t period);

/* Make room for the divisors of a column (see `buckets`) and return its place. */
double *compare_divisor(struct compare *c, bool instance, uint32_t column);

/*
 * Compare. The value of each sample of p is the number of the sample in the cells
 * plus 1 (merge_number()): filters may have removed samples from p, or frames from
 * their stacks. `nodes` are those of p. Changes `c`. Returns ERR_LIMIT and
 * ERR_TIMEOUT of the limits. The caller frees the result on success.
 */
NODISCARD int compare_run(struct compare *c, const struct pprof *p,
			  const struct nodes *nodes,
			  const struct limits *limits,
			  struct compare_result *out, struct err *err);

/* Return the sum of the divisors of all buckets of a side. */
double compare_divisor_sum(const struct compare *c, int side);

/*
 * Set `sums[s]`, by sample of p, to the values of its cells on side s, which may
 * be done before the comparison only. Both have room for all samples of p.
 */
void compare_sums(const struct compare *c, const struct pprof *p,
		  int64_t *sums[ESTIMATE_SIDES]);

/* Return the memory of what was collected, in bytes. */
size_t compare_memory(const struct compare *c);

/* Free what was collected. */
void compare_fini(struct compare *c);

/* Free a result. */
void compare_result_fini(struct compare_result *r);

#endif
