/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal texts of doubles are those that printf() and strtod() find by trying. */
#include "base/decimal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"

/* The text that printf() has with the fewest digits that read back. */
static void expected_of(double v, char out[DECIMAL_MAX])
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(out, DECIMAL_MAX, "%.*g", digits, v);
		if (strtod(out, NULL) == v)
			return;
	}
}

static bool is_expected(double v)
{
	char want[DECIMAL_MAX];
	char got[DECIMAL_MAX + 1];

	expected_of(v, want);
	got[decimal_write(v, got)] = 0;
	return check_str(str_of(got), want);
}

Test(decimal, special_numbers)
{
	static const double numbers[] = {
		0,
		1,
		-1,
		0.1,
		0.3,
		1.0 / 3,
		2.0 / 3,
		100,
		0.0001,
		0.00009999999999999999,
		0.00010000000000000002,
		999999999999999,
		999999999999999.875,
		1e15,
		123456789012345680,
		1e300,
		5e-324,
		2.2250738585072014e-308,
		1.7976931348623157e308,
		4503599627370496.5,
		9007199254740993,
		0.1 + 0.2,
		-123.456,
		1e14 + 0.5,
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		cr_expect(is_expected(numbers[i]));
}

/* Below a power of two, doubles lie half as far apart as above it. */
Test(decimal, numbers_beside_powers_of_two)
{
	for (int e = -14; e <= 50; e++) {
		double power = ldexp(1, e);

		cr_expect(is_expected(power));
		cr_expect(is_expected(nextafter(power, 0)));
		cr_expect(is_expected(nextafter(power, INFINITY)));
	}
}

Test(decimal, many_numbers)
{
	uint64_t state = 42;

	for (int i = 0; i < 100000; i++) {
		double v;
		uint64_t bits;

		/* A linear congruential generator (Knuth, MMIX). */
		state = state * 6364136223846793005u + 1442695040888963407u;
		/* The exponent is that of a number from 2^-14 to 2^50. */
		bits = state >> 12 | (uint64_t)(1023 - 14 + i % 65) << 52;
		memcpy(&v, &bits, sizeof(v));
		cr_assert(is_expected(v));
		cr_assert(is_expected(round(v * 1000) / 1000));
	}
}
