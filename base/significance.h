/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Significance: Student's t distribution, and the correction of many tests. The tail is
 * a regularised incomplete beta function (NIST's Digital Library of Mathematical
 * Functions, 8.17), computed as a continued fraction (8.17.22).
 *
 * Threads: pure functions.
 */
#ifndef BASE_SIGNIFICANCE_H
#define BASE_SIGNIFICANCE_H

#include "base/defs.h"

/*
 * Return the probability that a value of Student's t distribution with `df`
 * degrees of freedom (more than 0, not necessarily a whole number) exceeds t.
 */
double significance_tail(double t, double df);

/*
 * Return the t that is exceeded with the probability p, which is more than 0 and
 * at most 0.5.
 */
double significance_quantile(double p, double df);

/*
 * Correct the probabilities of n tests by Holm's method, in place: the result is
 * the smallest family-wise error at which the test would reject. Values of more
 * than 1 are of rows that were not tested; they stay, and do not count.
 */
void significance_holm(double *p, size_t n);

#endif
