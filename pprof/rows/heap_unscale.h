/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovers the counts behind the estimates in Go's heap profiles. The runtime
 * counts the sampled objects of one size and one stack. To estimate the number
 * of all objects, it divides the count c by the probability that an object of
 * that size is sampled, given the sampling rate r (one sample per r bytes)
 * (protomem.go, scaleHeapSample):
 *
 *	scale = 1 / (1 - exp(-size / r))
 *	objects = trunc(c * scale)    space = trunc(c * size * scale)
 *
 * size is in the sample's label "bytes" and r is the profile's period. So both
 * values can be computed from c, which is small and grows slowly. The error of
 * each computed value (the value in the profile minus the computed value) is
 * stored, too; it is nearly always 0 (docs/decisions.md, 48).
 *
 * The result must be the same, bit for bit, on every machine: exp() is
 * implemented here with IEEE operations only (fma() is one), and compiled
 * without contraction (merging a product and a sum into one operation).
 *
 * Ownership: borrows the dictionary; unsample_fini() frees the caches.
 * Threads: one thread at a time.
 */
#ifndef PPROF_ROWS_HEAP_UNSCALE_H
#define PPROF_ROWS_HEAP_UNSCALE_H

#include "pprof/dictionary/dictionary.h"

/*
 * How the runtime scaled the samples with one label set, in profiles with one
 * period (sampling rate).
 */
struct unsample_rate {
	double scale;
	int64_t size; /* size of an object in bytes; 0: unknown */
	/* Whether `scale` and `size` have been computed. */
	bool known;
};

/*
 * Number of entries in the cache of scales. A scale depends on size and period
 * only, so the cache is kept when the dictionary changes.
 */
#define UNSAMPLE_SCALES 1024
/*
 * Number of bits by which a 64-bit hash is shifted right to get a cache index.
 */
#define UNSAMPLE_SHIFT 54

/* An entry of the cache of scales. */
struct unsample_known {
	int64_t size;
	int64_t period;
	double scale; /* scale for `size` and `period`; 0: unused entry */
};

/*
 * Two caches: the rates of label sets, for the dictionary d and the current
 * period, and the scales of sizes.
 */
struct unsample {
	const struct dictionary *d;
	int64_t period;
	VEC(struct unsample_rate) rates; /* rate of each label set */
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
 * How many objects one sampled object of this size stands for, if one object
 * per `rate` bytes is sampled.
 */
double unsample_scale(int64_t size, int64_t rate);

/*
 * The object size in a label set: its first label "bytes" that is a number
 * without a unit; 0 if there is no such label or the number is negative.
 */
int64_t unsample_size(const struct dictionary *d, uint32_t set);

/*
 * Compute the scale and object size of a label set for the current period. The
 * result is borrowed from u until the next call.
 */
const struct unsample_rate *unsample_learn(struct unsample *u, uint32_t set);

/*
 * The scale and object size of a key's samples in a profile with this period.
 * The result is borrowed from u until the next call.
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

/* The estimated number of all objects, if c objects were sampled. */
int64_t unsample_objects(const struct unsample_rate *r, int64_t c);

/* The estimated size of all objects in bytes, if c objects were sampled. */
int64_t unsample_space(const struct unsample_rate *r, int64_t c);

/*
 * The inverse: the number of sampled objects whose estimate is `objects`, or a
 * number close to it.
 */
int64_t unsample_count(const struct unsample_rate *r, int64_t objects);

#endif
