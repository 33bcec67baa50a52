/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compare table: what a comparison adds up: the values of each function, or of each
 * group, by bucket of time and by instance. Most rows have few samples, so nothing
 * is added up before somebody asks for a row.
 *
 * Ownership: compare_table_fini() frees what the table made; the comparison, the
 * profile and the nodes are borrowed.
 * Threads: one thread per comparison.
 */
#ifndef PPROF_COMPARE_COMPARE_TABLE_H
#define PPROF_COMPARE_COMPARE_TABLE_H

#include "pprof/compare/compare.h"

/* Marks the samples of a function whose leaf it is. */
#define COMPARE_LEAF (UINT32_C(1) << 31)

/* Values of both sides, by bucket and by instance. */
struct compare_values {
	double *buckets[ESTIMATE_SIDES];
	double *instances[ESTIMATE_SIDES];
};

/* A comparison that is being computed. */
struct compare_table {
	struct compare *c;
	const struct pprof *p;
	const struct nodes *nodes;
	const struct limits *limits;
	/* The cells of each sample; see cells_sort(). */
	uint32_t *bucket_first;
	uint32_t *instance_first;
	/* The samples of each node: those of node i begin at node_first[i]. */
	uint32_t *node_first;
	uint32_t *node_samples;
	double *sample_sums[ESTIMATE_SIDES]; /* by sample of p */
	/* The joined bucket of each bucket, and the divisors of joined ones. */
	uint32_t *joined[ESTIMATE_SIDES];
	double *divisors[ESTIMATE_SIDES];
	double *instance_divisors[ESTIMATE_SIDES];
	size_t bucket_count[ESTIMATE_SIDES]; /* before they are joined */
	size_t instance_count;
	size_t cells_read; /* for the node that is being estimated */
	struct compare_values total;
	struct compare_values values; /* of the row that is being estimated */
	struct estimate_frame frame;
};

/* The samples of a row; COMPARE_LEAF marks those that are its own values, too. */
struct compare_entries {
	const uint32_t *v;
	size_t count;
};

/*
 * Prepare the cells of a comparison and the lists of the samples of all functions;
 * the members c, p, nodes and limits are set. ERR_LIMIT and ERR_TIMEOUT of the
 * limits; compare_table_fini() is called in any case.
 */
NODISCARD int compare_table_init(struct compare_table *t, struct err *err);

/* Free what the table made. */
void compare_table_fini(struct compare_table *t);

/* Return the number of a sample of p in the cells. */
size_t compare_table_id(const struct pprof *p, size_t sample);

/* Return the weight of a sample on both sides. */
double compare_table_weight(const struct compare_table *t, size_t sample);

/* Return the samples of a function. */
struct compare_entries compare_table_node(const struct compare_table *t,
					  size_t node);

/* Return the samples of a row: of a group, if there are groups, or of a function. */
struct compare_entries compare_table_row(const struct compare_table *t,
					 size_t row);

/* Add up the values of samples; `leaf`: only of those that are the row's own. */
void compare_table_add(struct compare_table *t, struct compare_entries e,
		       bool leaf, struct compare_values *to);

/*
 * Join 2^shift buckets to one, which begins at a multiple of its length. Buckets
 * at the ends of the range may be cut off, and weigh less then.
 */
void compare_table_join(struct compare_table *t, unsigned int shift);

#endif
