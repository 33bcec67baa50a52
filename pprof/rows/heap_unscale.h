/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovers the counts behind the estimates in Go's heap profiles. The runtime
 * counts the sampled objects of one size and one stack, c, and divides them by
 * the probability that an object of that size is sampled at the rate r
 * (protomem.go, scaleHeapSample):
 *
 *	scale = 1 / (1 - exp(-size / r))
 *	objects = trunc(c * scale)    space = trunc(c * size * scale)
 *
 * size is in the sample's label "bytes" and r is the profile's period, so that
 * c alone, a small number that grows by ones, gives both values back. How far
 * the two are off is stored as well; it is nearly always 0 (docs/decisions.md,
 * 48).
 *
 * The result must be the same, bit for bit, on every machine: exp() is our own,
 * made of IEEE operations only (fma() is one) and compiled without contraction.
 *
 * Ownership: borrows the dictionary; unsample_fini() frees the caches.
 * Threads: one thread at a time.
 */
#ifndef PPROF_ROWS_HEAP_UNSCALE_H
#define PPROF_ROWS_HEAP_UNSCALE_H

#include "pprof/dictionary/dictionary.h"

/* The rate of a label set at a period. */
struct unsample_rate {
	double scale;
	int64_t size; /* size of objects; 0: no label has it */
	/* Whether the other members have been computed. */
	bool known;
};

/* Entries of the cache of scales, which serves any dictionary. */
#define UNSAMPLE_SCALES 1024
#define UNSAMPLE_SHIFT  54 /* shifts a 64-bit hash down to an index */

/* An entry of the cache of scales. */
struct unsample_known {
	int64_t size;
	int64_t period;
	double scale; /* 0: unused entry */
};

/* Caches for the dictionary d and the current period. */
struct unsample {
	const struct dictionary *d;
	int64_t period;
	VEC(struct unsample_rate) rates; /* by label set */
	/* UNSAMPLE_SCALES entries; NULL until the first use. */
	struct unsample_known *known;
};

/*
 * Prepare for a group with the dictionary d. Must be called before each group;
 * scales stay cached.
 */
void unsample_reset(struct unsample *u, const struct dictionary *d);

/* Free the caches. */
void unsample_fini(struct unsample *u);

/*
 * How many objects one sampled object of a size stands for, at a sampling rate
 * of one in `rate` bytes.
 */
double unsample_scale(int64_t size, int64_t rate);

/* The size of objects by the label "bytes" of a label set; 0 without one. */
int64_t unsample_size(const struct dictionary *d, uint32_t set);

/*
 * Compute the rate of a label set at the current period. Borrowed from u until
 * the next call.
 */
const struct unsample_rate *unsample_learn(struct unsample *u, uint32_t set);

/*
 * The rate of a key in a profile with this period. Borrowed from u until the
 * next call.
 */
static inline const struct unsample_rate *
unsample_rate(struct unsample *u, uint32_t key, int64_t period)
{
	uint32_t set = u->d->keys.v[key].labels;

	if (period != u->period) {
		u->period = period;
		u->rates.count = 0;
	}
	if (set < u->rates.count && u->rates.v[set].known)
		return &u->rates.v[set];
	return unsample_learn(u, set);
}

/* The estimated number of objects for c sampled ones. */
int64_t unsample_objects(const struct unsample_rate *r, int64_t c);

/* The estimated bytes of objects for c sampled ones. */
int64_t unsample_space(const struct unsample_rate *r, int64_t c);

/* The count whose estimate is `objects`, or a count close to it. */
int64_t unsample_count(const struct unsample_rate *r, int64_t objects);

#endif
