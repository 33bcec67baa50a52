/* SPDX-License-Identifier: Apache-2.0 */
#include "base/radix.h"

#include <string.h>

enum {
	RADIX_FEW = 16, /* so few items are sorted by insertion */
};

static void radix_insert(struct radix_item *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct radix_item x = v[i];
		size_t k = i;

		for (; k > 0 && v[k - 1].key > x.key; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

/* Copy items to `to`, sorted by one byte of their keys. */
static void radix_by_byte(const struct radix_item *v, size_t n, unsigned shift,
			  struct radix_item *to)
{
	size_t places[257] = { 0 };

	for (size_t i = 0; i < n; i++)
		places[(v[i].key >> shift & 0xff) + 1]++;
	for (unsigned b = 0; b < 256; b++)
		places[b + 1] += places[b];
	for (size_t i = 0; i < n; i++)
		to[places[v[i].key >> shift & 0xff]++] = v[i];
}

void radix_sort(struct radix_item *v, size_t n, struct radix_item *scratch)
{
	struct radix_item *from = v;
	struct radix_item *to = scratch;
	uint64_t differ = 0;

	if (n <= RADIX_FEW) {
		radix_insert(v, n);
		return;
	}
	for (size_t i = 1; i < n; i++)
		differ |= v[i].key ^ v[0].key;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		struct radix_item *sorted = to;

		if (!(differ >> shift & 0xff))
			continue;
		radix_by_byte(from, n, shift, to);
		to = from;
		from = sorted;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
}
