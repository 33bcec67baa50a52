/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/compact/planner.h"

#include "tsdb/head/window.h"

#define HOUR_MS    (3600ll * 1000)
#define DAY_MS     (24 * HOUR_MS)
#define LEVEL_MAX  (31 * DAY_MS)
#define SERIES_MAX 1000000
#define GRACE_MS   HOUR_MS        /* after the end of a window */
#define IDLE_MS    (10ll * 60000) /* without a sample */
#define DOUBT_MAX  (7 * DAY_MS)   /* then a clock that jumped is believed */

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

/* Blocks that overlap, one with the next. */
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

/* The aligned span of that length that holds ms, which may be negative. */
static int64_t span_start(int64_t ms, int64_t span)
{
	return ms >= 0 ? ms / span * span : (ms - span + 1) / span * span;
}

/* The blocks from *from on that lie in one span. *from is set behind them. */
static size_t span_blocks(const struct plan_block *v, size_t count,
			  int64_t span, size_t *from)
{
	size_t i = *from;
	int64_t end;
	size_t n = 0;

	/* Not those that lie across spans, or are larger. */
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

static bool any_failed(const struct plan_block *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (v[i].failed)
			return true;
	}
	return false;
}

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
 * Blocks that fill a span, or that nothing can be added to any more because
 * a later one (newest_ms) has begun.
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

/* The newest block that is worth writing anew for what was deleted in it. */
static size_t with_tombstones(const struct plan_levels *levels,
			      const struct plan_block *v, size_t count,
			      size_t *out)
{
	int64_t large = levels->ms[levels->count / 2];

	for (size_t i = count; i--;) {
		out[0] = i;
		if (v[i].failed)
			continue;
		if (v[i].max_ms - v[i].min_ms < large)
			return v[i].tombstones &&
			       v[i].tombstones >= v[i].series;
		if (v[i].tombstones * 20 > v[i].series + 1) /* 5 % */
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
	/* Not the newest: more may come beside it. */
	n = fill_level(levels, v, count - 1, out);
	return n ? n : with_tombstones(levels, v, count - 1, out);
}

/* Sealing. */

static bool is_over(const struct plan_bounds *b, const struct plan_head *r)
{
	return b->now_ms >= r->start + WINDOW_MS;
}

/* Whether it, or an earlier generation of its window, cannot be sealed. */
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

static bool is_due(const struct plan_bounds *b, const struct plan_head *r)
{
	return r->closed || b->all ||
	       (b->now_ms >= r->start + WINDOW_MS + GRACE_MS &&
		r->idle_ms >= IDLE_MS);
}

/* Generations of a window are sealed in order. */
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

/* Over a bound: the oldest that is over, else the one that frees most. */
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
				v[i].series > v[best].series))
			best = i;
	}
	return best;
}

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
	uint64_t series = 0;
	uint64_t bytes = 0;
	int pick = PLAN_NONE;

	for (int i = 0; i < (int)count; i++) {
		series += v[i].series;
		bytes += v[i].bytes;
		if (is_due(b, &v[i]) && !is_blocked(b, v, count, i) &&
		    (pick == PLAN_NONE || planner_is_before(&v[i], &v[pick])))
			pick = i;
	}
	if (pick == PLAN_NONE && b->series && series > b->series)
		pick = pick_early(b, v, count, false);
	if (pick == PLAN_NONE && b->bytes && bytes > b->bytes)
		pick = pick_early(b, v, count, true);
	if (pick == PLAN_NONE && b->heads && count > b->heads)
		pick = most_idle(b, v, count);
	return oldest_generation(v, count, pick);
}

/* Retention. */

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
	if (p->bytes_max && p->bytes > p->bytes_max)
		return oldest;
	if (!p->retention_ms || v[oldest].max_ms > p->now_ms - p->retention_ms)
		return PLAN_NONE;
	return oldest;
}

int64_t plan_clock(struct plan_clock *c, int64_t now_ms, int64_t elapsed_ms)
{
	int64_t expected = c->trusted_ms + elapsed_ms;
	int64_t off = now_ms > expected ? now_ms - expected : expected - now_ms;

	c->trusted_ms = expected;
	/* At least one: it is in doubt from the first look on. */
	c->doubt_ms = off > DAY_MS ? c->doubt_ms + elapsed_ms + 1 : 0;
	if (!c->doubt_ms || c->doubt_ms >= DOUBT_MAX) {
		c->trusted_ms = now_ms;
		c->doubt_ms = 0;
	}
	return c->trusted_ms < now_ms ? c->trusted_ms : now_ms;
}
