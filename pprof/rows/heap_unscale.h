/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovers the counts behind the estimates in Go's heap profiles. The runtime
 * counts the sampled objects of one size and one stack. It divides the count c
 * by the probability that an object of that size is sampled at the rate r
 * (protomem.go, scaleHeapSample):
 *
 *	scale = 1 / (1 - exp(-size / r))
 *	objects = trunc(c * scale)    space = trunc(c * size * scale)
 *
 * size is in the sample's label "bytes" and r is the profile's period. So both
 * values can be computed from c, a small number that grows by ones. The error
 * of each computed value is stored, too; it is nearly always 0
 * (docs/decisions.md, 48).
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

/*
 * How the runtime scaled the samples with one label set, in profiles with one
 * period.
 */
struct unsample_rate {
	double scale;
	int64_t size; /* size of an object in bytes; 0: unknown */
	/* Whether `scale` and `size` have been computed. */
	bool known;
};

/*
 * Number of entries in the cache of scales, which do not depend on a
 * dictionary.
 */
#define UNSAMPLE_SCALES 1024
#define UNSAMPLE_SHIFT  54 /* shifts a 64-bit hash down to an index */

/* An entry of the cache of scales. */
struct unsample_known {
	int64_t size;
	int64_t period;
	double scale; /* scale of size and period; 0: unused entry */
};

/*
 * Caches of rates, for the dictionary d and the current period, and of scales.
 */
struct unsample {
	const struct dictionary *d;
	int64_t period;
	VEC(struct unsample_rate) rates; /* entry of each label set */
	/* Cache of UNSAMPLE_SCALES scales; NULL until it is first used. */
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
 * The number of objects for which one sampled object of this size stands, if
 * one in `rate` bytes is sampled.
 */
double unsample_scale(int64_t size, int64_t rate);

/*
 * The object size in the label "bytes" of a label set; 0 if it has no such
 * label.
 */
int64_t unsample_size(const struct dictionary *d, uint32_t set);

/*
 * Compute the scale and object size of a label set for the current period.
 * Borrowed from u until the next call.
 */
const struct unsample_rate *unsample_learn(struct unsample *u, uint32_t set);

/*
 * The scale and object size of a key in a profile with this period. Borrowed
 * from u until the next call.
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

/* The estimated number of objects for c sampled objects. */
int64_t unsample_objects(const struct unsample_rate *r, int64_t c);

/* The estimated size of all objects in bytes, for c sampled objects. */
int64_t unsample_space(const struct unsample_rate *r, int64_t c);

/*
 * The sampled count for which `objects` is the estimate, or a count close to
 * it.
 */
int64_t unsample_count(const struct unsample_rate *r, int64_t objects);

#endif
