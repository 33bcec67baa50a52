/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/head/series.h"

#include "base/mem.h"
#include "base/units.h"

uint64_t series_weight(const struct labels *ls)
{
	return 1 + ls->len / KIB;
}

void series_fini(struct series *s)
{
	mem_free(s->unflushed);
	mem_free(s->groups);
	mem_free(s->gaps);
	*s = (struct series){ 0 };
}

/*
 * Index of the first unflushed profile at or after `ms`. The last profile is
 * compared first, because profiles are usually added in order.
 */
static uint32_t lower_bound(const struct series *s, int64_t ms)
{
	uint32_t low = 0;
	uint32_t high = s->unflushed_count;

	if (high && s->unflushed[high - 1].ms < ms)
		return high;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s->unflushed[mid].ms < ms)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * The array grows only by half: most series have few unflushed profiles, and
 * there are many series.
 */
void series_add(struct series *s, const struct unflushed *p)
{
	uint32_t at = lower_bound(s, p->ms);

	if (s->unflushed_count == s->unflushed_cap) {
		s->unflushed_cap += s->unflushed_cap / 2 + 2;
		s->unflushed = mem_realloc(s->unflushed, s->unflushed_cap,
					   sizeof(*s->unflushed));
	}
	memmove(&s->unflushed[at + 1], &s->unflushed[at],
		(s->unflushed_count - at) * sizeof(*s->unflushed));
	s->unflushed[at] = *p;
	s->unflushed_count++;
}

void series_add_group(struct series *s, const struct chunk *g)
{
	if (s->group_count == s->group_cap) {
		s->group_cap += s->group_cap / 2 + 1;
		s->groups = mem_realloc(s->groups, s->group_cap,
					sizeof(*s->groups));
	}
	s->groups[s->group_count++] = *g;
}

const struct unflushed *series_find(const struct series *s, int64_t ms)
{
	uint32_t at = lower_bound(s, ms);

	return at < s->unflushed_count && s->unflushed[at].ms == ms ?
		       &s->unflushed[at] :
		       NULL;
}

/* Shorten the array of unflushed profiles, and free it if it is empty. */
static void series_shrink(struct series *s, uint32_t kept)
{
	s->unflushed_count = kept;
	if (kept)
		return;
	mem_free(s->unflushed);
	s->unflushed = NULL;
	s->unflushed_cap = 0;
}

/*
 * Only for profiles in the WAL, because their LSN is known: a tombstone
 * interval hides a profile whose LSN is not above the LSN of the interval. For
 * profiles in chunks, chunks_hides() compares places in the log instead.
 */
bool series_hides(const struct series *s, int64_t ms, uint64_t lsn)
{
	for (uint32_t i = 0; i < s->gap_count; i++) {
		const struct tombstone_interval *g = &s->gaps[i];

		if (lsn <= g->lsn && ms >= g->from && ms <= g->to)
			return true;
	}
	return false;
}

void series_add_gap(struct series *s, const struct tombstone_interval *g)
{
	uint32_t kept = 0;

	s->gaps = mem_realloc(s->gaps, s->gap_count + 1, sizeof(*s->gaps));
	s->gaps[s->gap_count++] = *g;
	for (uint32_t i = 0; i < s->unflushed_count; i++) {
		if (!series_hides(s, s->unflushed[i].ms, s->unflushed[i].lsn))
			s->unflushed[kept++] = s->unflushed[i];
	}
	series_shrink(s, kept);
}

/*
 * The array is sorted by time, not by LSN, so the loop looks at all profiles.
 */
void series_flushed(struct series *s, uint64_t lsn)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->unflushed_count; i++) {
		if (s->unflushed[i].lsn > lsn)
			s->unflushed[kept++] = s->unflushed[i];
	}
	series_shrink(s, kept);
	if (lsn > s->flushed_lsn)
		s->flushed_lsn = lsn;
}

uint64_t series_oldest(const struct series *s)
{
	uint64_t oldest = UINT64_MAX;

	for (uint32_t i = 0; i < s->unflushed_count; i++) {
		if (s->unflushed[i].lsn < oldest)
			oldest = s->unflushed[i].lsn;
	}
	return oldest;
}

/*
 * Unflushed profiles are sorted by time, so one is found by binary search;
 * chunks are not sorted.
 */
bool series_overlaps(const struct series *s, int64_t from, int64_t to)
{
	uint32_t at = lower_bound(s, from);

	if (at < s->unflushed_count && s->unflushed[at].ms <= to)
		return true;
	for (uint32_t i = 0; i < s->group_count; i++) {
		if (s->groups[i].first <= to && s->groups[i].last >= from)
			return true;
	}
	return false;
}
