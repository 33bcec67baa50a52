/* SPDX-License-Identifier: Apache-2.0 */
#include "base/decimal.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned __int128 uint128;

/* A number without a sign, as `digits`, of which `places` are behind the point. */
struct decimal {
	uint64_t digits;
	int places;
};

/* Whether a number is written without an exponent, as by printf()'s "%.15g". */
static bool decimal_is_plain(double size)
{
	return size >= 1e-4 && size < 1e15;
}

/*
 * Find 15 digits of a plain number; returns whether they suffice. The number is a whole
 * number below 1e15, divided by a power of ten up to 1e18. A double holds both exactly,
 * so that dividing rounds as reading the digits does.
 */
static bool decimal_find_15(double size, struct decimal *out)
{
	double unit = 1;

	out->places = 0;
	for (; size * unit < 1e14; out->places++)
		unit *= 10;
	out->digits = (uint64_t)nearbyint(size * unit);
	return (double)out->digits / unit == size;
}

/*
 * Find more digits of a plain number: m / 2^s, of which m has 53 bits, and 3 <= s <= 66.
 * Times 10^places, of at most 20 places, it is a fraction whose numerator has 120 bits:
 * rounding it is exact. Returns whether the digits suffice: they are nearer to the number
 * than half the distance to the next double, which below a power of two is half as far.
 */
static bool decimal_find(double size, struct decimal *out)
{
	int exponent;
	uint64_t m = (uint64_t)ldexp(frexp(size, &exponent), 53);
	int s = 53 - exponent;
	uint128 unit = 1;
	uint128 scaled;
	uint128 half = (uint128)1 << (s - 1);
	uint128 rest;
	uint128 distance;

	for (int i = 0; i < out->places; i++)
		unit *= 10;
	scaled = m * unit;
	out->digits = (uint64_t)(scaled >> s);
	rest = scaled - ((uint128)out->digits << s);
	out->digits += rest > half || (rest == half && out->digits % 2);
	distance = rest > half ? (half - (rest - half)) : rest;
	return distance * (m == (uint64_t)1 << 52 ? 4 : 2) < unit;
}

/* Write the digits without zeros at the end of the places. */
static size_t decimal_print(struct decimal d, bool negative,
			    char out[DECIMAL_MAX])
{
	char text[DECIMAL_MAX];
	char *p = text + sizeof(text);

	for (; d.places > 0 && d.digits % 10 == 0; d.digits /= 10)
		d.places--;
	if (d.places <= 0)
		d.places = -1; /* no point */
	do {
		*--p = (char)('0' + d.digits % 10);
		d.digits /= 10;
		if (--d.places == 0)
			*--p = '.';
	} while (d.digits || d.places >= 0);
	if (negative)
		*--p = '-';
	memcpy(out, p, (size_t)(text + sizeof(text) - p));
	return (size_t)(text + sizeof(text) - p);
}

/* Write a number that needs an exponent. */
static size_t decimal_print_any(double v, char out[DECIMAL_MAX])
{
	int digits = 15;
	int len;

	do {
		len = snprintf(out, DECIMAL_MAX, "%.*g", digits, v);
	} while (digits++ < 17 && strtod(out, NULL) != v);
	return (size_t)len;
}

size_t decimal_write(double v, char out[DECIMAL_MAX])
{
	double size = fabs(v);
	struct decimal d;

	if (!decimal_is_plain(size))
		return decimal_print_any(v, out);
	if (!decimal_find_15(size, &d)) {
		d.places++;
		if (!decimal_find(size, &d)) {
			d.places++;
			(void)decimal_find(size, &d);
		}
	}
	return decimal_print(d, v < 0, out);
}
