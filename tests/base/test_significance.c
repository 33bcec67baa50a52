/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Student's t distribution beside values of mpmath 1.3 with 40 digits, and Holm's
 * correction of many tests.
 */
#include "base/significance.h"

#include <math.h>

#include "tests/check.h"

TestSuite(significance, .timeout = 30);

static void expect_near(double got, double want, double relative)
{
	cr_expect(fabs(got - want) <= relative * fabs(want),
		  "%.17g, expected %.17g", got, want);
}

Test(significance, tails_have_ten_digits)
{
	static const struct {
		double t;
		double df;
		double tail;
	} cases[] = {
		{ 0.001, 0.5, 0.499730323834244 },
		{ 0.5, 0.5, 0.378659036464718 },
		{ 1.96, 0.5, 0.22486148886919 },
		{ 4, 0.5, 0.159610041494336 },
		{ 7.5, 0.5, 0.116947971935175 },
		{ 30, 0.5, 0.0585468414900534 },
		{ 0.001, 1, 0.499681690219919 },
		{ 0.5, 1, 0.352416382349567 },
		{ 1.96, 1, 0.150171445888017 },
		{ 4, 1, 0.0779791303773693 },
		{ 7.5, 1, 0.0421924631588414 },
		{ 30, 1, 0.0106064024055354 },
		{ 0.001, 2, 0.499646446697795 },
		{ 0.5, 2, 0.333333333333333 },
		{ 1.96, 2, 0.0945286548008661 },
		{ 4, 2, 0.0285954792089683 },
		{ 7.5, 2, 0.00865866343968622 },
		{ 30, 2, 0.000554631340979829 },
		{ 0.001, 3.5, 0.499628227735933 },
		{ 0.5, 3.5, 0.323425219661276 },
		{ 1.96, 3.5, 0.0658112865063629 },
		{ 4, 3.5, 0.0104603081827019 },
		{ 7.5, 3.5, 0.00141272299693193 },
		{ 30, 3.5, 1.19680659978113e-5 },
		{ 0.001, 8, 0.499613301051545 },
		{ 0.5, 8, 0.315268037778488 },
		{ 1.96, 8, 0.0428290267287815 },
		{ 4, 8, 0.00197488640172266 },
		{ 7.5, 8, 3.46387249525398e-5 },
		{ 30, 8, 8.26762837589487e-10 },
		{ 0.001, 19.25, 0.499606203066263 },
		{ 0.5, 19.25, 0.3113712909423 },
		{ 1.96, 19.25, 0.0323169577805694 },
		{ 4, 19.25, 0.000374794430038966 },
		{ 7.5, 19.25, 1.98435248346637e-7 },
		{ 0.001, 38, 0.499603673492242 },
		{ 0.5, 38, 0.309979157018148 },
		{ 1.96, 38, 0.0286796177805712 },
		{ 4, 38, 0.000141195290709787 },
		{ 7.5, 38, 2.61649980071266e-9 },
		{ 0.001, 199.5, 0.49960155739881 },
		{ 0.5, 199.5, 0.308813064434973 },
		{ 1.96, 199.5, 0.0256941642979737 },
		{ 4, 199.5, 4.46017760742184e-5 },
		{ 7.5, 199.5, 1.02706490527471e-12 },
		{ 0.001, 1000, 0.499601157509226 },
		{ 0.5, 1000, 0.308592540416937 },
		{ 1.96, 1000, 0.0251365924778744 },
		{ 4, 1000, 3.40049596043908e-5 },
		{ 0.001, 10000, 0.499601067759526 },
		{ 0.5, 10000, 0.308543039661617 },
		{ 1.96, 10000, 0.0250117601159165 },
		{ 4, 10000, 3.18993344115698e-5 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		expect_near(significance_tail(cases[i].t, cases[i].df),
			    cases[i].tail, 1e-10);
		expect_near(significance_tail(-cases[i].t, cases[i].df),
			    1 - cases[i].tail, 1e-10);
	}
	expect_near(significance_tail(0, 7), 0.5, 1e-15);
}

Test(significance, a_quantile_has_the_tail_that_was_asked_for)
{
	for (double df = 0.5; df < 2e4; df *= 1.7) {
		for (double p = 0.5; p > 1e-12; p /= 7)
			expect_near(significance_tail(
					    significance_quantile(p, df), df),
				    p, 1e-9);
	}
}

Test(significance, holm_corrects_many_tests)
{
	/* Five tests; the value of 2 is of none. */
	double p[] = { 0.01, 2, 0.04, 0.03, 0.005, 1 };
	static const double want[] = { 0.04, 2, 0.09, 0.09, 0.025, 1 };

	significance_holm(p, ARRAY_SIZE(p));
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		expect_near(p[i], want[i], 1e-12);
	significance_holm(p, 0);
}
