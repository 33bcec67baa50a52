/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unsample: Go's heap profiles hold estimates. The runtime counts the sampled
 * objects of one size and one stack, c, and scales them by the probability
 * that an object of that size is sampled at the rate r (protomem.go,
 * scaleHeapSample):
 *
 *	scale = 1 / (1 - exp(-size / r))
 *	objects = trunc(c * scale)    space = trunc(c * size * scale)
 *
 * size is in the sample's label "bytes" and r is the profile's period, so c
 * alone, a small number that grows by ones, gives both values back. What is
 * stored beside it is how far the two are off, which is 0.
 *
 * The same bits must come out on every machine: exp() is our own, of IEEE
 * operations alone (fma() is one), compiled without contraction.
 *
 * Ownership: keeps nothing.
 * Threads: one thread at a time.
 */
#ifndef PPROF_ROWS_HEAP_UNSCALE_H
#define PPROF_ROWS_HEAP_UNSCALE_H

#include "pprof/dictionary/dictionary.h"

/* Of a set of labels at a period. */
struct unsample_rate {
	double scale;
	int64_t size; /* 0: no label says it */
	bool known;
};

/* Scales that were calculated, by size: of any dictionary. */
#define UNSAMPLE_SCALES 1024
#define UNSAMPLE_SHIFT  54 /* leaves as many bits of a hash */

struct unsample_known {
	int64_t size;
	int64_t period;
	double scale; /* 0: nothing is known here */
};

struct unsample {
	const struct dictionary *d;
	int64_t period;
	VEC(struct unsample_rate) rates; /* by set of labels */
	struct unsample_known *known;
};

/* To be called before each group. */
void unsample_reset(struct unsample *u, const struct dictionary *d);
void unsample_fini(struct unsample *u);

/* How many objects of a size a sampled one stands for. */
double unsample_scale(int64_t size, int64_t rate);

/* What the label "bytes" of a set says; 0: it has none. */
int64_t unsample_size(const struct dictionary *d, uint32_t set);

const struct unsample_rate *unsample_learn(struct unsample *u, uint32_t set);

/* The rate of a key in a profile with this period. */
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

/* What c sampled objects make. */
int64_t unsample_objects(const struct unsample_rate *r, int64_t c);
int64_t unsample_space(const struct unsample_rate *r, int64_t c);

/* The c that makes so many objects, or is near it. */
int64_t unsample_count(const struct unsample_rate *r, int64_t objects);

#endif
