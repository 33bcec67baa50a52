/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/compact/planner.h"

#include "tsdb/head/window.h"

#define HOUR_MS    (3600ll * 1000)
#define DAY_MS     (24 * HOUR_MS)
#define LEVEL_MAX  (31 * DAY_MS)
#define SERIES_MAX 1000000
/* Time to wait for late samples after a window ends. */
#define GRACE_MS HOUR_MS
/* A head without samples for this time is idle. */
#define IDLE_MS (10ll * 60000)

struct plan_levels plan_levels(int64_t retention_ms, uint64_t retention_bytes)
{
	int64_t max = retention_ms ? retention_ms / 10 : LEVEL_MAX;
	struct plan_levels l = { .count = 1,
				 .ms = { WINDOW_MS },
				 .bytes_max = retention_bytes / 10,
				 .series_max = SERIES_MAX };

	if (max > LEVEL_MAX)
		max = LEVEL_MAX;
	while (l.count < PLAN_LEVELS_MAX && l.ms[l.count - 1] * 3 <= max) {
		l.ms[l.count] = l.ms[l.count - 1] * 3;
		l.count++;
	}
	return l;
}

/*
 * Find the first group of consecutive blocks that overlap, which means that
 * each begins before an earlier block ends. Overlaps are the result of imports
 * and late samples.
 */
static size_t planner_find_overlapping(const struct plan_block *v, size_t count,
				       size_t *out)
{
	int64_t end = count ? v[0].max_ms : 0;
	size_t n = 0;

	for (size_t i = 1; i < count; i++) {
		if (v[i].min_ms < end) {
			if (!n)
				out[n++] = i - 1;
			out[n++] = i;
		} else if (n) {
			break;
		}
		if (v[i].max_ms > end)
			end = v[i].max_ms;
	}
	return n;
}

/* Round ms, which may be negative, down to a multiple of span. */
static int64_t span_start(int64_t ms, int64_t span)
{
	return ms >= 0 ? ms / span * span : (ms - span + 1) / span * span;
}

/*
 * Find the first block, at index *from or later, that lies within one span;
 * spans are aligned to multiples of `span`. Set *from to the index of that
 * block, and return how many consecutive blocks lie within the same span.
 * Returns 0 if there is no such block.
 */
static size_t span_blocks(const struct plan_block *v, size_t count,
			  int64_t span, size_t *from)
{
	size_t i = *from;
	int64_t end;
	size_t n = 0;

	/* Skip blocks that cross the border between two spans. */
	while (i < count && v[i].max_ms > span_start(v[i].min_ms, span) + span)
		i++;
	*from = i;
	if (i == count)
		return 0;
	end = span_start(v[i].min_ms, span) + span;
	while (i + n < count && v[i + n].max_ms <= end)
		n++;
	return n;
}

/*
 * Whether the compaction of any of these blocks failed before. Such blocks are
 * not compacted again, because the failure would repeat every minute.
 */
static bool any_failed(const struct plan_block *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (v[i].failed)
			return true;
	}
	return false;
}

/*
 * Whether the blocks, merged by fill_level(), would exceed the bounds on a
 * compacted block (docs/decisions.md, 29).
 */
static bool is_too_large(const struct plan_levels *levels,
			 const struct plan_block *v, size_t count)
{
	uint64_t bytes = 0;
	uint64_t series = 0;

	for (size_t i = 0; i < count; i++) {
		bytes += v[i].bytes;
		series += v[i].series;
	}
	return (levels->bytes_max && bytes > levels->bytes_max) ||
	       (levels->series_max && series > levels->series_max);
}

/*
 * Find blocks to merge: blocks that together fill an aligned span of some
 * level, or blocks in a span that will receive no more blocks, because a later
 * block begins after the end of the span.
 */
static size_t fill_level(const struct plan_levels *levels,
			 const struct plan_block *v, size_t count, size_t *out)
{
	int64_t newest = count ? v[count - 1].min_ms : 0;

	for (size_t level = 1; level < levels->count; level++) {
		int64_t span = levels->ms[level];
		size_t from = 0;
		size_t n;

		for (; (n = span_blocks(v, count, span, &from)); from += n) {
			int64_t first = v[from].min_ms;
			int64_t end = v[from + n - 1].max_ms;

			if (n < 2 || any_failed(v + from, n) ||
			    is_too_large(levels, v + from, n) ||
			    (end - first != span && end > newest))
				continue;
			for (size_t i = 0; i < n; i++)
				out[i] = from + i;
			return n;
		}
	}
	return 0;
}

/*
 * Find the newest block for which it is worth the effort to drop deleted
 * profiles. A small block will be merged soon anyway, so it is rewritten only
 * if all its series have tombstones. If the block is large, it is rewritten
 * when more than 5 % of its series have tombstones.
 */
static size_t with_tombstones(const struct plan_levels *levels,
			      const struct plan_block *v, size_t count,
			      size_t *out)
{
	int64_t large = levels->ms[levels->count / 2];

	for (size_t i = count; i--;) {
		out[0] = i;
		if (v[i].failed)
			continue;
		/*
		 * As in Prometheus, the search ends at the first small block.
		 */
		if (v[i].max_ms - v[i].min_ms < large)
			return v[i].tombstones &&
			       v[i].tombstones >= v[i].series;
		/* More than 5 % of the series. */
		if (v[i].tombstones * 20 > v[i].series + 1)
			return 1;
	}
	return 0;
}

size_t plan_compaction(const struct plan_levels *levels,
		       const struct plan_block *v, size_t count, size_t *out)
{
	size_t n = planner_find_overlapping(v, count, out);

	if (n && any_failed(v + out[0], n))
		n = 0;
	if (n || !count)
		return n;
	/*
	 * The newest block is left out, because more blocks may be added to its
	 * span.
	 */
	n = fill_level(levels, v, count - 1, out);
	return n ? n : with_tombstones(levels, v, count - 1, out);
}

/* Sealing. */

/* Whether the window of the head has ended. */
static bool is_over(const struct plan_bounds *b, const struct plan_head *r)
{
	return b->now_ms >= r->start + WINDOW_MS;
}

/*
 * Whether sealing this head, or an earlier generation of its window, failed
 * recently. Generations are sealed in order, so a failure blocks the later
 * generations. An explicit request to seal every head ignores earlier failures.
 */
static bool is_blocked(const struct plan_bounds *b, const struct plan_head *v,
		       size_t count, int at)
{
	for (size_t i = 0; i < count && !b->all; i++) {
		if (v[i].failed && v[i].start == v[at].start &&
		    v[i].lsn <= v[at].lsn)
			return true;
	}
	return false;
}

/* Whether a head is to be sealed even though no bound is exceeded. */
static bool is_due(const struct plan_bounds *b, const struct plan_head *r)
{
	return r->closed || b->all ||
	       (b->now_ms >= r->start + WINDOW_MS + GRACE_MS &&
		r->idle_ms >= IDLE_MS);
}

/*
 * Return the index of the oldest generation of the window of head number `at`.
 * A window has several generations if samples came after its first head was
 * closed; generations are sealed in order.
 */
static int oldest_generation(const struct plan_head *v, size_t count, int at)
{
	for (size_t i = 0; at != PLAN_NONE && i < count; i++) {
		if (v[i].start == v[at].start && v[i].lsn < v[at].lsn)
			at = (int)i;
	}
	return at;
}

static bool planner_is_before(const struct plan_head *a,
			      const struct plan_head *b)
{
	return a->start != b->start ? a->start < b->start : a->lsn < b->lsn;
}

/*
 * Choose a head to seal early because a bound is exceeded: the oldest head
 * whose window is over. If there is none, choose the head with the most bytes
 * of values (`by_bytes`) or the largest weight (otherwise).
 */
static int pick_early(const struct plan_bounds *b, const struct plan_head *v,
		      size_t count, bool by_bytes)
{
	int best = PLAN_NONE;
	bool over;

	for (int i = 0; i < (int)count; i++) {
		if (is_over(b, &v[i]) && !is_blocked(b, v, count, i) &&
		    (best == PLAN_NONE || planner_is_before(&v[i], &v[best])))
			best = i;
	}
	over = best != PLAN_NONE;
	for (int i = 0; !over && i < (int)count; i++) {
		if (is_blocked(b, v, count, i))
			continue;
		if (best == PLAN_NONE ||
		    (by_bytes ? v[i].bytes > v[best].bytes :
				v[i].weight > v[best].weight))
			best = i;
	}
	return best;
}

/*
 * Choose the head that received no sample for the longest time, which is the
 * least likely to be needed again soon.
 */
static int most_idle(const struct plan_bounds *b, const struct plan_head *v,
		     size_t count)
{
	int best = PLAN_NONE;

	for (int i = 0; i < (int)count; i++) {
		if (!is_blocked(b, v, count, i) &&
		    (best == PLAN_NONE || v[i].idle_ms > v[best].idle_ms))
			best = i;
	}
	return best;
}

int plan_seal(const struct plan_bounds *b, const struct plan_head *v,
	      size_t count)
{
	uint64_t weight = 0;
	uint64_t bytes = 0;
	int pick = PLAN_NONE;

	for (int i = 0; i < (int)count; i++) {
		weight += v[i].weight;
		bytes += v[i].bytes;
		if (is_due(b, &v[i]) && !is_blocked(b, v, count, i) &&
		    (pick == PLAN_NONE || planner_is_before(&v[i], &v[pick])))
			pick = i;
	}
	if (pick == PLAN_NONE && b->weight && weight > b->weight)
		pick = pick_early(b, v, count, false);
	if (pick == PLAN_NONE && b->bytes && bytes > b->bytes)
		pick = pick_early(b, v, count, true);
	if (pick == PLAN_NONE && b->heads && count > b->heads)
		pick = most_idle(b, v, count);
	return oldest_generation(v, count, pick);
}

/* Retention. */

/*
 * The index of the item whose time range ends first. The newest head is
 * skipped.
 */
static int oldest_item(const struct plan_item *v, size_t count)
{
	int best = PLAN_NONE;

	for (int i = 0; i < (int)count; i++) {
		if (!v[i].open &&
		    (best == PLAN_NONE || v[i].max_ms < v[best].max_ms))
			best = i;
	}
	return best;
}

int plan_removal(const struct plan_retention *p, const struct plan_item *v,
		 size_t count)
{
	int oldest = oldest_item(v, count);

	if (oldest == PLAN_NONE)
		return PLAN_NONE;
	/* Retention by size comes first: it does not depend on the clock. */
	if (p->bytes_max && p->bytes > p->bytes_max)
		return oldest;
	if (!p->retention_ms || v[oldest].max_ms > p->now_ms - p->retention_ms)
		return PLAN_NONE;
	return oldest;
}
