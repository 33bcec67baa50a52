/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Postings: sorted lists of series numbers, and set operations on them.
 *
 * Ownership: a list owns its numbers.
 * Threads: one thread at a time.
 */
#ifndef TSDB_INDEX_POSTINGS_H
#define TSDB_INDEX_POSTINGS_H

#include "base/defs.h"

/* A list of series numbers. The zero value is the empty list. */
struct postings {
	uint32_t *v;
	size_t count;
	size_t cap;
};

/* Free the numbers and reset the list to an empty one. */
void postings_fini(struct postings *p);

/*
 * Append a number. The list must be sorted with postings_sort() before it is
 * used in a set operation.
 */
void postings_add(struct postings *p, uint32_t number);

/* Append `count` numbers; see postings_add(). */
void postings_add_all(struct postings *p, const uint32_t *v, size_t count);

/* Sort the list and remove duplicates. */
void postings_sort(struct postings *p);

/* Remove from `a` all numbers that are not in `b`. Both must be sorted. */
void postings_intersect(struct postings *a, const struct postings *b);

/* Remove from `a` all numbers that are in `b`. Both must be sorted. */
void postings_subtract(struct postings *a, const struct postings *b);

#endif
