/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Radix sort: sorts items by whole numbers, byte by byte, in time that grows with
 * their number alone. Faster than qsort() where many numbers have few bytes in which
 * they differ, and items with equal numbers keep their order.
 *
 * Ownership: plain functions; the caller owns the items.
 * Threads: any.
 */
#ifndef BASE_RADIX_H
#define BASE_RADIX_H

#include "base/defs.h"

/* An item: what it is sorted by, and which one it is. */
struct radix_item {
	uint64_t key;
	uint32_t index;
};

/* Sort n items by their keys, ascending. `scratch` has room for as many. */
void radix_sort(struct radix_item *v, size_t n, struct radix_item *scratch);

#endif
