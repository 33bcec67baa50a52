/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/rows/heap_unscale.h"

#include "base/hash.h"

#include <float.h>
#include <math.h>

_Static_assert(FLT_EVAL_METHOD == 0, "doubles must be doubles");

/*
 * ln 2 = LN2_HI + LN2_LO. LN2_HI ends with zero bits, so that k * LN2_HI is
 * exact.
 */
#define LOG2E  0x1.71547652b82fep0
#define LN2_HI 0x1.62e42fee00000p-1
#define LN2_LO 0x1.a39ef35793c76p-33

/* Number of terms of exp(r)'s power series, enough for |r| <= ln(2) / 2. */
#define TERMS 20
#define LARGE 60.0 /* for larger x, 1 - exp(-x) rounds to 1 */
/* Estimates of BIG and more are treated as 0, as they may exceed int64_t. */
#define BIG 0x1p62

/*
 * A number with twice the precision of a double: high + low. It is needed for
 * small x: exp(-x) is then close to 1, so 1 - exp(-x) loses most digits, and an
 * error in the last bit of exp(-x) would be visible in the result.
 */
struct pair {
	double high;
	double low;
};

/* Exact sum of two doubles (Knuth's TwoSum). */
static struct pair sum_of(double a, double b)
{
	double s = a + b;
	double t = s - a;

	return (struct pair){ s, (a - (s - t)) + (b - t) };
}

/*
 * Product of two pairs; fma() gives the rounding error of the product of the
 * high parts.
 */
static struct pair heap_unscale_multiply(struct pair a, struct pair b)
{
	double p = a.high * b.high;
	double low = fma(a.high, b.high, -p);

	return sum_of(p, low + (a.high * b.low + a.low * b.high));
}

/* Quotient of a pair and a small integer. */
static struct pair heap_unscale_divide(struct pair a, double b)
{
	double q = a.high / b;

	return sum_of(q, (fma(-q, b, a.high) + a.low) / b);
}

/* Sum of 1 and the pair a. */
static struct pair plus_one(struct pair a)
{
	struct pair s = sum_of(1, a.high);

	return sum_of(s.high, s.low + a.low);
}

/*
 * Return exp(-x) for x >= 0. With x = k ln 2 - r, where r is small, the result
 * is 2^-k * exp(r). exp(r) is a power series, computed by Horner's rule.
 */
static double exp_minus(double x)
{
	double k = (double)(int)(x * LOG2E + 0.5);
	struct pair r = sum_of(k * LN2_HI - x, k * LN2_LO);
	struct pair sum = { 1, 0 };

	for (int i = TERMS; i > 0; i--)
		sum = plus_one(
			heap_unscale_divide(heap_unscale_multiply(r, sum), i));
	return ldexp(sum.high, -(int)k);
}

/*
 * Return 1 where Go's scaleHeapSample does not scale. Also returns 1 if size /
 * rate is large, because the computed scale would be exactly 1.
 */
double unsample_scale(int64_t size, int64_t rate)
{
	double x = (double)size / (double)rate;

	if (size <= 0 || rate <= 1 || x > LARGE)
		return 1;
	return 1 / (1 - exp_minus(x));
}

/* Only the first label "bytes" counts, as docs/format/columns.md says. */
int64_t unsample_size(const struct dictionary *d, uint32_t set)
{
	struct pprof_run r = d->label_sets.v[set];

	for (uint32_t i = 0; i < r.count; i++) {
		const struct pprof_label *l = &d->labels.v[r.first + i];

		if (l->is_number && !l->unit &&
		    str_eq(dict_str(d, l->key), str_of("bytes")))
			return l->num > 0 ? l->num : 0;
	}
	return 0;
}

void unsample_reset(struct unsample *u, const struct dictionary *d)
{
	u->d = d;
	u->period = 0;
	u->rates.count = 0;
}

void unsample_fini(struct unsample *u)
{
	vec_fini(&u->rates);
	mem_free(u->known);
}

/*
 * The scale of a size, from a cache. A hash of the size selects the only entry
 * that can hold its scale; a new scale replaces the old one there. The cache is
 * worth it because exp_minus() is slow and Go's allocator has few sizes.
 */
static double scale_of(struct unsample *u, int64_t size)
{
	struct unsample_known *k;

	if (!u->known)
		u->known = mem_zalloc(UNSAMPLE_SCALES, sizeof(*u->known));
	/* Multiplicative hashing: the top bits of the product are the index. */
	k = &u->known[hash_number((uint64_t)size) >> UNSAMPLE_SHIFT];
	if (k->scale == 0 || k->size != size || k->period != u->period)
		*k = (struct unsample_known){
			.size = size,
			.period = u->period,
			.scale = unsample_scale(size, u->period),
		};
	return k->scale;
}

/* Compute scale and object size of a label set and keep them in u->rates. */
const struct unsample_rate *unsample_learn(struct unsample *u, uint32_t set)
{
	struct unsample_rate *r;

	while (u->rates.count <= set)
		*vec_add(&u->rates) = (struct unsample_rate){ 0 };
	r = &u->rates.v[set];
	r->size = unsample_size(u->d, set);
	r->scale = scale_of(u, r->size);
	r->known = true;
	return r;
}

/*
 * Truncate v to an integer; 0 if v is out of range, because converting it would
 * be undefined behaviour.
 */
static int64_t heap_unscale_truncate(double v)
{
	return v > -BIG && v < BIG ? (int64_t)v : 0;
}

int64_t unsample_objects(const struct unsample_rate *r, int64_t c)
{
	return heap_unscale_truncate((double)c * r->scale);
}

/*
 * The product may wrap around; it is computed unsigned, because signed overflow
 * is undefined.
 */
int64_t unsample_space(const struct unsample_rate *r, int64_t c)
{
	int64_t bytes = (int64_t)((uint64_t)c * (uint64_t)r->size);

	return heap_unscale_truncate((double)bytes * r->scale);
}

/*
 * The division may give a count that is too low by 1, so count + 1 is tried,
 * too. If neither count gives `objects`, the caller stores the difference.
 */
int64_t unsample_count(const struct unsample_rate *r, int64_t objects)
{
	int64_t c = heap_unscale_truncate((double)objects / r->scale);

	for (int64_t i = c; i <= c + 1; i++) {
		if (unsample_objects(r, i) == objects)
			return i;
	}
	return c;
}
