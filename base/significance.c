/* SPDX-License-Identifier: Apache-2.0 */
#include "base/significance.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum {
	/* Neither loop needs nearly as many rounds. */
	FRACTION_ROUNDS = 10000,
	QUANTILE_ROUNDS = 200,
};

#define FRACTION_TINY 1e-300

/* Of larger squares the tail is 0, or nearly, and could not be computed. */
#define SQUARE_MAX 1e200

/*
 * ln(gamma(a + 1/2) / gamma(a)). For large a, the difference of two logarithms
 * would lose the digits that count, so a series is used (DLMF 5.11.13).
 */
static double gamma_half_ratio(double a)
{
	double r = 1 / a;
	int sign;

	if (a < 20)
		return lgamma_r(a + 0.5, &sign) - lgamma_r(a, &sign);
	return 0.5 * log(a) +
	       r * (-1.0 / 8 +
		    r * r *
			    (1.0 / 192 +
			     r * r * (-1.0 / 640 + r * r * 17.0 / 14336)));
}

/* A divisor of Lentz's method must not be 0. */
static double not_zero(double v)
{
	return fabs(v) < FRACTION_TINY ? FRACTION_TINY : v;
}

/*
 * The continued fraction of the incomplete beta function, by Lentz's method. It
 * converges fast for x < (a + 1) / (a + b + 2).
 */
static double beta_fraction(double x, double a, double b)
{
	double c = 1;
	double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
	double f = d;

	for (int m = 1; m < FRACTION_ROUNDS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x /
			     ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		f *= d * c;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		step = d * c;
		f *= step;
		if (fabs(step - 1) < 1e-15)
			break;
	}
	return f;
}

/*
 * With x = df / (df + t^2), the tail is half of the beta function at x with the
 * parameters df / 2 and 1 / 2. Near x = 1 the complement converges instead.
 */
double significance_tail(double t, double df)
{
	double a = df / 2;
	double square = t * t / df;
	double x = 1 / (1 + square);
	double rest = square / (1 + square);
	/* x^a * (1 - x)^(1/2) / B(a, 1/2), where gamma(1/2)^2 is pi. */
	double front = exp(gamma_half_ratio(a) - a * log1p(square)) *
		       sqrt(rest / M_PI);
	double tail;

	if (t < 0)
		return 1 - significance_tail(-t, df);
	if (square > SQUARE_MAX)
		return 0;
	if (x < (a + 1) / (a + 2.5))
		tail = front * beta_fraction(x, a, 0.5) / df;
	else
		tail = 0.5 - front * beta_fraction(rest, 0.5, a);
	return tail;
}

/* The density of Student's t distribution. */
static double t_density(double t, double df)
{
	return exp(gamma_half_ratio(df / 2) -
		   (df + 1) / 2 * log1p(t * t / df)) /
	       sqrt(df * M_PI);
}

/*
 * About the quantile, to begin with: that of the normal distribution (Abramowitz
 * and Stegun, 26.2.23), and how Student's is wider (26.7.5).
 */
static double quantile_guess(double p, double df)
{
	double s = sqrt(-2 * log(p));
	double z = s -
		   (2.515517 + s * (0.802853 + s * 0.010328)) /
			   (1 + s * (1.432788 + s * (0.189269 + s * 0.001308)));
	double cube = z * z * z;

	return z + (cube + z) / (4 * df) +
	       (5 * cube * z * z + 16 * cube + 3 * z) / (96 * df * df);
}

/*
 * Newton's method for the logarithm of the tail, within two bounds that each
 * step narrows; a step that leaves them is replaced by their middle.
 */
double significance_quantile(double p, double df)
{
	double t = fmax(quantile_guess(p, df), 1e-3);
	double low = 0;
	double high = 2 * t;

	while (significance_tail(high, df) > p && high < 1e150)
		high *= 2;
	for (int i = 0; i < QUANTILE_ROUNDS; i++) {
		double tail = significance_tail(t, df);
		double next;

		if (tail > p)
			low = t;
		else
			high = t;
		next = t + log(tail / p) * tail / t_density(t, df);
		if (!(next > low && next < high))
			next = (low + high) / 2;
		if (fabs(next - t) <= 1e-14 * t)
			return next;
		t = next;
	}
	return t;
}

/* A test and its place. */
struct holm_test {
	double p;
	size_t at;
};

static int compare_tests(const void *a, const void *b)
{
	const struct holm_test *x = a;
	const struct holm_test *y = b;

	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

void significance_holm(double *p, size_t n)
{
	struct holm_test *v = mem_zalloc(n + 1, sizeof(struct holm_test));
	size_t count = 0;
	double most = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] <= 1)
			v[count++] = (struct holm_test){ p[i], i };
	}
	if (count)
		qsort(v, count, sizeof(*v), compare_tests);
	for (size_t i = 0; i < count; i++) {
		double adjusted = v[i].p * (double)(count - i);

		most = adjusted > most ? adjusted : most;
		p[v[i].at] = most < 1 ? most : 1;
	}
	mem_free(v);
}
