/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/index/postings.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void postings_fini(struct postings *p)
{
	mem_free(p->v);
	*p = (struct postings){ 0 };
}

/* The array grows geometrically, because numbers are added one by one. */
void postings_add(struct postings *p, uint32_t number)
{
	p->v = mem_grow(p->v, p->count, &p->cap, sizeof(*p->v));
	p->v[p->count++] = number;
}

/*
 * Grow the array to the exact size, because most lists are filled by one call.
 */
void postings_add_all(struct postings *p, const uint32_t *v, size_t count)
{
	if (p->count + count > p->cap) {
		p->cap = p->count + count;
		p->v = mem_realloc(p->v, p->cap, sizeof(*p->v));
	}
	if (count)
		memcpy(p->v + p->count, v, count * sizeof(*v));
	p->count += count;
}

/* Order for qsort, without the overflow of a subtraction. */
static int postings_by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/*
 * Whether the list is sorted and has no duplicates. The list of a single label
 * always is, and so is not sorted again.
 */
static bool is_sorted(const struct postings *p)
{
	for (size_t i = 1; i < p->count; i++) {
		if (p->v[i] <= p->v[i - 1])
			return false;
	}
	return true;
}

void postings_sort(struct postings *p)
{
	size_t kept = 0;

	if (is_sorted(p))
		return;
	qsort(p->v, p->count, sizeof(*p->v), postings_by_number);
	for (size_t i = 0; i < p->count; i++) {
		if (!kept || p->v[i] != p->v[kept - 1])
			p->v[kept++] = p->v[i];
	}
	p->count = kept;
}

/*
 * Keep the numbers of `a` that are in `b` (if wanted) or that are not in `b`
 * (if !wanted). Makes one pass over both lists, as in a merge.
 */
static void postings_filter(struct postings *a, const struct postings *b,
			    bool wanted)
{
	size_t kept = 0;
	size_t k = 0;

	for (size_t i = 0; i < a->count; i++) {
		while (k < b->count && b->v[k] < a->v[i])
			k++;
		if ((k < b->count && b->v[k] == a->v[i]) == wanted)
			a->v[kept++] = a->v[i];
	}
	a->count = kept;
}

void postings_intersect(struct postings *a, const struct postings *b)
{
	postings_filter(a, b, true);
}

void postings_subtract(struct postings *a, const struct postings *b)
{
	postings_filter(a, b, false);
}
