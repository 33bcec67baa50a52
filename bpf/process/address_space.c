/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/address_space.h"

#include <string.h>

/* The position of the first range that ends behind an address. */
static size_t address_space_position(const struct address_space *a,
				     uint64_t address)
{
	return vec_partition_point(&a->ranges, e, e->end <= address);
}

/* Replace `count` ranges by the `n` ranges at `by`. */
static void address_space_replace(struct address_space *a, size_t at,
				  size_t count, const struct address_range *by,
				  size_t n)
{
	size_t rest = a->ranges.count - at - count;

	vec_reserve(&a->ranges, n);
	memmove(&a->ranges.v[at + n], &a->ranges.v[at + count],
		rest * sizeof(*by));
	memcpy(&a->ranges.v[at], by, n * sizeof(*by));
	a->ranges.count = at + n + rest;
}

bool address_space_map(struct address_space *a, struct address_range range)
{
	size_t first = address_space_position(a, range.start);
	size_t last = first; /* behind the last range that is overlapped */
	struct address_range now[3];
	size_t n = 0;
	bool full;

	while (last < a->ranges.count && a->ranges.v[last].start < range.end)
		last++;
	full = a->ranges.count - (last - first) >= ADDRESS_RANGES_MAX - 2;
	if (last > first && a->ranges.v[first].start < range.start) {
		now[n] = a->ranges.v[first];
		now[n++].end = range.start;
	}
	if (!full)
		now[n++] = range;
	/* When there is no room, a cut leaves no more ranges than there were. */
	if (last > first && a->ranges.v[last - 1].end > range.end &&
	    !(full && n == last - first)) {
		now[n] = a->ranges.v[last - 1];
		now[n].offset += range.end - now[n].start;
		now[n++].start = range.end;
	}
	address_space_replace(a, first, last - first, now, n);
	a->refused += full;
	return !full;
}

const struct address_range *address_space_find(const struct address_space *a,
					       uint64_t address)
{
	size_t at = address_space_position(a, address);

	if (at == a->ranges.count || address < a->ranges.v[at].start)
		return NULL;
	return &a->ranges.v[at];
}

void address_space_fini(struct address_space *a)
{
	vec_fini(&a->ranges);
	*a = (struct address_space){ 0 };
}
