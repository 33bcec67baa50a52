/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Postings: sorted lists of series numbers, and their algebra.
 *
 * Ownership: a list owns its numbers. Threads: one thread at a time.
 */
#ifndef TSDB_INDEX_POSTINGS_H
#define TSDB_INDEX_POSTINGS_H

#include "base/defs.h"

/* The zero value is the empty list. */
struct postings {
	uint32_t *v;
	size_t count;
	size_t cap;
};

void postings_fini(struct postings *p);

/* Add a number; in order after postings_sort(). */
void postings_add(struct postings *p, uint32_t number);
void postings_add_all(struct postings *p, const uint32_t *v, size_t count);

/* Sort, and drop duplicates. */
void postings_sort(struct postings *p);

/* Keep in a what is in b too; or what is not. */
void postings_intersect(struct postings *a, const struct postings *b);
void postings_subtract(struct postings *a, const struct postings *b);

#endif
