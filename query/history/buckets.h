/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buckets: how many profiles of a time step have a total between two bounds, to
 * draw the distribution of totals over time. The bounds are spaced
 * logarithmically from the smallest total above 0 to the largest; those between
 * are numbers of few digits that are near.
 *
 * Ownership: buckets_fini() frees the counts.
 * Threads: one thread per timeline.
 */
#ifndef QUERY_HISTORY_BUCKETS_H
#define QUERY_HISTORY_BUCKETS_H

#include "base/json.h"

enum {
	/* Smallest and largest number of buckets. */
	BUCKETS_MIN = 2,
	BUCKETS_MAX = 64,
};

/* The buckets of all time steps. */
struct buckets {
	size_t n;      /* number of buckets per step */
	int64_t least; /* smallest total above 0; 0: none was seen */
	int64_t greatest;
	int64_t bounds[BUCKETS_MAX + 1]; /* ascending; set by buckets_begin() */
	uint32_t *counts; /* n for each step; NULL before buckets_begin() */
	size_t steps;
};

/* Take a total into account for the bounds that buckets_begin() computes. */
void buckets_note(struct buckets *b, int64_t total);

/*
 * Compute the bounds from all totals passed to buckets_note(), and begin to
 * count. The counts take n * steps * sizeof(uint32_t) bytes. `is_bytes`: units
 * are powers of 1024, not of 1000.
 */
void buckets_begin(struct buckets *b, size_t n, size_t steps, bool is_bytes);

/*
 * Count a total that was passed to buckets_note(). Totals of 0 or less are
 * counted in the first bucket. Counts nothing if no total was above 0.
 */
void buckets_count(struct buckets *b, size_t step, int64_t total);

/*
 * Write {"bounds":[…],"counts":[[…],…]}: n + 1 bounds, and n counts for each
 * step. Bucket i has the totals from bounds[i] to less than bounds[i + 1]; the
 * last bucket has bounds[n], too. Both arrays are empty if no total was above
 * 0.
 */
void buckets_json(const struct buckets *b, struct json *j);

/* Free the counts. */
void buckets_fini(struct buckets *b);

#endif
