/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/address_space.h"

#include <string.h>

enum {
	/*
	 * Largest number of ranges that one mapping adds: its own range and, if
	 * it cuts another range into two, the second part of that range.
	 */
	ADDRESS_MAP_ADDS = 2,
};

bool address_pool_is_full(const struct address_pool *pool)
{
	return pool->ranges >= ADDRESS_POOL_MAX;
}

size_t address_space_count(const struct address_space *a)
{
	return a->ranges ? a->ranges->list.count : 0;
}

const struct address_range *address_space_at(const struct address_space *a,
					     size_t number)
{
	return &a->ranges->list.v[number];
}

void address_space_share(struct address_space *a,
			 const struct address_space *from)
{
	a->ranges = from->ranges;
	if (a->ranges)
		a->ranges->users++;
}

/* Give the address space an array of its own with the ranges that it has. */
static void address_space_copy(struct address_pool *pool,
			       struct address_space *a)
{
	size_t count = address_space_count(a);
	const struct address_range *old = count ? a->ranges->list.v : NULL;
	struct address_ranges *copy = mem_new(struct address_ranges);

	copy->users = 1;
	vec_add_all(&copy->list, old, count);
	if (a->ranges)
		a->ranges->users--;
	pool->ranges += copy->list.cap;
	a->ranges = copy;
}

/*
 * Let the address space have an array of its own, with room for the ranges that
 * a new mapping adds. False: the pool is full.
 */
static bool address_space_own(struct address_pool *pool,
			      struct address_space *a)
{
	bool is_shared = !a->ranges || a->ranges->users > 1;
	size_t cap = is_shared ? 0 : a->ranges->list.cap;

	if (cap >= address_space_count(a) + ADDRESS_MAP_ADDS)
		return true;
	if (address_pool_is_full(pool))
		return false;
	if (is_shared)
		address_space_copy(pool, a);
	pool->ranges -= a->ranges->list.cap;
	vec_reserve(&a->ranges->list, ADDRESS_MAP_ADDS);
	pool->ranges += a->ranges->list.cap;
	return true;
}

/*
 * Return the position of the first range whose `end` is greater than `address`,
 * or the number of ranges if there is none.
 */
static size_t address_ranges_position(const struct address_ranges *r,
				      uint64_t address)
{
	return vec_partition_point(&r->list, e, e->end <= address);
}

/*
 * Replace the `count` ranges from the position `at` on by the `n` ranges at
 * `by`. The array must have room for them.
 */
static void address_ranges_replace(struct address_ranges *r, size_t at,
				   size_t count, const struct address_range *by,
				   size_t n)
{
	size_t rest = r->list.count - at - count;

	memmove(&r->list.v[at + n], &r->list.v[at + count], rest * sizeof(*by));
	memcpy(&r->list.v[at], by, n * sizeof(*by));
	r->list.count = at + n + rest;
}

/*
 * Add `range` to an array that has room for ADDRESS_MAP_ADDS more ranges.
 * False: the process has too many ranges, so `range` was not added, but what it
 * overlaps was removed.
 */
static bool address_ranges_map(struct address_ranges *r,
			       struct address_range range)
{
	size_t first = address_ranges_position(r, range.start);
	size_t last = first; /* behind the last range that is overlapped */
	struct address_range now[3];
	size_t n = 0;
	bool full;

	while (last < r->list.count && r->list.v[last].start < range.end)
		last++;
	full = r->list.count - (last - first) >= ADDRESS_RANGES_MAX - 2;
	if (last > first && r->list.v[first].start < range.start) {
		now[n] = r->list.v[first];
		now[n++].end = range.start;
	}
	if (!full)
		now[n++] = range;
	/*
	 * Keep the part of the last overlapped range that is behind `range`.
	 * Exception: if the process has too many ranges, and `range` lies in
	 * the middle of a single one, keep only the part before `range`,
	 * because two parts would increase the number of ranges.
	 */
	if (last > first && r->list.v[last - 1].end > range.end &&
	    !(full && n == last - first)) {
		now[n] = r->list.v[last - 1];
		now[n].offset += range.end - now[n].start;
		now[n++].start = range.end;
	}
	address_ranges_replace(r, first, last - first, now, n);
	return !full;
}

bool address_space_map(struct address_pool *pool, struct address_space *a,
		       struct address_range range)
{
	if (address_space_own(pool, a))
		return address_ranges_map(a->ranges, range);
	address_space_clear(pool, a);
	return false;
}

const struct address_range *address_space_find(const struct address_space *a,
					       uint64_t address)
{
	size_t at;

	if (!a->ranges)
		return NULL;
	at = address_ranges_position(a->ranges, address);
	if (at == a->ranges->list.count ||
	    address < a->ranges->list.v[at].start)
		return NULL;
	return &a->ranges->list.v[at];
}

void address_space_clear(struct address_pool *pool, struct address_space *a)
{
	struct address_ranges *r = a->ranges;

	a->ranges = NULL;
	if (!r || --r->users)
		return;
	pool->ranges -= r->list.cap;
	vec_fini(&r->list);
	mem_free(r);
}
