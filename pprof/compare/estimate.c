/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/compare/estimate.h"

#include <math.h>

#include "base/significance.h"

/* Largest part of a side in instances that the other side does not have. */
#define ALONE_MAX 0.01

/* Degrees of freedom of a variance that counting alone gives, at least. */
#define COUNTING_DEGREES 60

/*
 * The t of a difference that is seen in 95 % of all cases, beyond the one at
 * which it is called a difference; and by how much the textbook's sum of both
 * falls short, because the spread itself is estimated (docs/decisions.md, 211).
 */
#define VISIBLE_POWER  1.65
#define VISIBLE_FACTOR 1.4

/*
 * Whether both sides have the same instances. A series that has a single profile,
 * because a program has just started or ended, cannot move the ratio of its side,
 * so it makes no other instances of them (docs/decisions.md, 211).
 */
static bool has_same_instances(const struct estimate_frame *e)
{
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		const double *own = e->instances[s].v;
		const double *other = e->instances[!s].v;
		double sum = 0;
		double alone = 0;

		for (size_t i = 0; i < e->instances[s].count; i++) {
			sum += own[i];
			alone += other[i] > 0 ? 0 : own[i];
		}
		if (alone > ALONE_MAX * sum)
			return false;
	}
	return true;
}

void estimate_begin(struct estimate_frame *e)
{
	e->same_instances = has_same_instances(e);
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		const struct estimate_column *c = &e->buckets[s];
		double squares = 0;

		e->sum[s] = 0;
		e->count[s] = 0;
		for (size_t i = 0; i < c->count; i++) {
			e->sum[s] += c->v[i];
			squares += c->v[i] * c->v[i];
			e->count[s] += c->v[i] > 0;
		}
		/* Buckets of unequal weight count as fewer. */
		e->degrees[s] =
			squares > 0 ? e->sum[s] * e->sum[s] / squares - 1 : 0;
	}
}

/* By how much the value of a bucket differs from its part of the ratio. */
static double bucket_deviation(const struct estimate_frame *e, int side,
			       const double *values, size_t i, double ratio)
{
	if (!(e->sum[side] > 0))
		return 0;
	return (values[i] - ratio * e->buckets[side].v[i]) / e->sum[side];
}

/* A sum of squares of n deviations as a variance. */
static double variance_of(double squares, double n)
{
	return n > 1 ? squares * n / (n - 1) : 0;
}

/* Note what a bucket adds to the difference. */
static void note_push(struct estimate *x, double push)
{
	double along = x->delta < 0 ? -push : push;

	x->dropped = fmax(x->dropped, along);
	x->largest = fmax(x->largest, fabs(push));
}

/*
 * Both sides are of the same time: what happens to both is subtracted, bucket by
 * bucket.
 */
static void spread_pairs(const struct estimate_frame *e,
			 const double *const v[ESTIMATE_SIDES],
			 struct estimate *x)
{
	double squares = 0;

	x->dropped = 0;
	x->largest = 0;
	for (size_t i = 0; i < e->buckets[ESTIMATE_NEW].count; i++) {
		double u = bucket_deviation(e, ESTIMATE_NEW, v[ESTIMATE_NEW], i,
					    x->ratio[ESTIMATE_NEW]) -
			   bucket_deviation(e, ESTIMATE_BASE, v[ESTIMATE_BASE],
					    i, x->ratio[ESTIMATE_BASE]);

		squares += u * u;
		note_push(x, u);
	}
	x->variance = variance_of(
		squares, fmin(e->count[ESTIMATE_BASE], e->count[ESTIMATE_NEW]));
	x->degrees = fmin(e->degrees[ESTIMATE_BASE], e->degrees[ESTIMATE_NEW]);
}

/* The variances of both sides add up (Welch and Satterthwaite). */
static void spread_sides(const struct estimate_frame *e,
			 const double *const v[ESTIMATE_SIDES],
			 struct estimate *x, double variance[ESTIMATE_SIDES])
{
	double inverse = 0;

	x->variance = 0;
	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		double squares = 0;

		for (size_t i = 0; i < e->buckets[s].count; i++) {
			double u = bucket_deviation(e, s, v[s], i, x->ratio[s]);

			squares += u * u;
			note_push(x, s == ESTIMATE_NEW ? u : -u);
		}
		variance[s] = variance_of(squares, e->count[s]);
		x->variance += variance[s];
		if (e->degrees[s] > 0)
			inverse += variance[s] * variance[s] / e->degrees[s];
	}
	x->degrees = inverse > 0 ? x->variance * x->variance / inverse :
				   fmin(e->degrees[0], e->degrees[1]);
}

/* Set the variance, its degrees of freedom, and that of each side alone. */
static void find_spread(const struct estimate_frame *e,
			const double *const v[ESTIMATE_SIDES],
			struct estimate *x, double variance[ESTIMATE_SIDES])
{
	spread_sides(e, v, x, variance);
	if (e->paired)
		spread_pairs(e, v, x);
}

/*
 * Different instances on the two sides: their differences, less what time
 * explains of them, are an uncertainty, too.
 */
static void add_instances(const struct estimate_frame *e,
			  const double *const v[ESTIMATE_SIDES],
			  const double variance[ESTIMATE_SIDES],
			  struct estimate *x)
{
	double squares = 0;
	double weight = 0;
	double degrees = -2;

	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		const struct estimate_column *c = &e->instances[s];
		double n = 0;
		double sum = 0;

		for (size_t i = 0; i < c->count; i++) {
			double off;

			if (!(c->v[i] > 0))
				continue;
			off = v[s][i] / c->v[i] - x->ratio[s];
			sum += off * off;
			n++;
		}
		if (n < 1)
			return;
		squares += sum - (n - 1) * n * variance[s];
		weight += 1 / n;
		degrees += n;
	}
	if (degrees < 1)
		return;
	x->degrees = fmin(x->degrees, degrees);
	x->variance += fmax(0, squares / degrees) * weight;
}

/* Tell how the instances that both sides have moved. */
static void compare_instances(const struct estimate_frame *e,
			      const double *const v[ESTIMATE_SIDES],
			      struct estimate *x)
{
	const double *base = e->instances[ESTIMATE_BASE].v;
	const double *new = e->instances[ESTIMATE_NEW].v;
	size_t n = e->instances[ESTIMATE_NEW].count;

	for (size_t i = 0; i < n; i++) {
		double a = v[ESTIMATE_BASE][i];
		double b = v[ESTIMATE_NEW][i];
		double moved;

		if (!(base[i] > 0) || !(new[i] > 0))
			continue;
		moved = b / new[i] - a / base[i];
		x->instances++;
		x->agree += moved != 0 && (moved < 0) == (x->delta < 0);
		moved = b / e->sum[ESTIMATE_NEW] - a / e->sum[ESTIMATE_BASE];
		if (x->delta != 0)
			x->biggest_part =
				fmax(x->biggest_part, moved / x->delta);
	}
}

/*
 * The variance of counting samples: no difference can be surer than that, however
 * equal the buckets happen to be.
 */
static double counting_variance(const struct estimate_frame *e,
				const struct estimate *x)
{
	double a = e->sum[ESTIMATE_BASE];
	double b = e->sum[ESTIMATE_NEW];
	double pooled;

	if (!(e->period > 0) || !(a > 0) || !(b > 0))
		return 0;
	pooled = (x->ratio[ESTIMATE_BASE] * a + x->ratio[ESTIMATE_NEW] * b) /
		 (a + b);
	if (e->is_share)
		pooled *= 1 - pooled;
	return fmax(0, pooled) * e->period * (1 / a + 1 / b);
}

struct estimate estimate_ratios(const struct estimate_frame *e,
				const double sums[ESTIMATE_SIDES])
{
	struct estimate x = { .p = 1 };

	for (int s = 0; s < ESTIMATE_SIDES; s++)
		x.ratio[s] = e->sum[s] > 0 ? sums[s] / e->sum[s] : 0;
	x.delta = x.ratio[ESTIMATE_NEW] - x.ratio[ESTIMATE_BASE];
	return x;
}

struct estimate estimate_buckets(const struct estimate_frame *e,
				 const double *const buckets[ESTIMATE_SIDES])
{
	double sums[ESTIMATE_SIDES] = { 0 };

	for (int s = 0; s < ESTIMATE_SIDES; s++) {
		for (size_t i = 0; i < e->buckets[s].count; i++)
			sums[s] += buckets[s][i];
	}
	return estimate_ratios(e, sums);
}

double estimate_spread(const struct estimate_frame *e,
		       const double *const buckets[ESTIMATE_SIDES])
{
	struct estimate x = estimate_buckets(e, buckets);
	double variance[ESTIMATE_SIDES];

	find_spread(e, buckets, &x, variance);
	return x.variance;
}

void estimate_row(const struct estimate_frame *e, struct estimate *x,
		  const double *const buckets[ESTIMATE_SIDES],
		  const double *const instances[ESTIMATE_SIDES])
{
	double variance[ESTIMATE_SIDES] = { 0 };
	double counting;
	double sure;

	find_spread(e, buckets, x, variance);
	if (!e->same_instances)
		add_instances(e, instances, variance, x);
	counting = counting_variance(e, x);
	if (counting > x->variance) {
		x->variance = counting;
		x->degrees = fmax(x->degrees, COUNTING_DEGREES);
	}
	compare_instances(e, instances, x);
	/* A difference that hangs on one bucket is none. */
	sure = fabs(x->delta) - x->dropped;
	if (sure > 0 && x->degrees > 0)
		x->p = x->variance > 0 ?
			       2 * significance_tail(sure / sqrt(x->variance),
						     x->degrees) :
			       0;
}

double estimate_visible(const struct estimate *x, double alpha, size_t tests)
{
	double t;

	if (!(x->degrees > 0))
		return (double)INFINITY;
	t = significance_quantile(alpha / 2 / (double)(tests ? tests : 1),
				  x->degrees);
	return VISIBLE_FACTOR *
	       ((t + VISIBLE_POWER) * sqrt(x->variance) + x->largest);
}

double estimate_interval(const struct estimate *x)
{
	return x->degrees > 0 ? significance_quantile(0.025, x->degrees) *
					sqrt(x->variance) :
				(double)NAN;
}
