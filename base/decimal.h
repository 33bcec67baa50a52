/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimal: a number as the shortest text that reads back as the same number. printf() and
 * strtod() find it, too, but take ten times as long, and values over time are many
 * numbers.
 *
 * Threads: pure functions.
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stddef.h>

enum {
	DECIMAL_MAX = 32 /* longest text, in bytes */
};

/*
 * Write a finite number with the fewest of 15 to 17 digits that strtod() reads as the
 * same number, without zeros at its end, as printf() does with "%.15g" and so on. Returns
 * the length; there is no NUL.
 */
size_t decimal_write(double v, char out[DECIMAL_MAX]);

#endif
