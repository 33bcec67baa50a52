/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pure functions of the planner, tested with tables of cases. The cases of
 * compaction are those of Prometheus (tsdb/compact_test.go,
 * TestLeveledCompactor_plan).
 */
#include "tests/check.h"
#include "tsdb/compact/planner.h"
#include "tsdb/head/window.h"

TestSuite(planner, .timeout = 60);

#define END                  \
	{                    \
		.min_ms = -1 \
	}
#define B(from, to, ...)                                    \
	{                                                   \
		.min_ms = from, .max_ms = to, ##__VA_ARGS__ \
	}
#define BLOCKS 16

struct plan_case {
	const char *name;
	struct plan_block v[BLOCKS]; /* up to END */
	int want[BLOCKS];            /* indices, up to -1 */
};

static const struct plan_levels levels = { .ms = { 20, 60, 180, 540, 1620 },
					   .count = 5 };

static const struct plan_case plans[] = {
	{ "one block is nothing to do", { B(0, 20), END }, { -1 } },
	{ "should wait for four equal blocks of 20 ranges before compacting",
	  { B(0, 20), B(20, 40), END },
	  { -1 } },
	{ "the fourth starts a new range: the first three are compacted",
	  { B(0, 20), B(20, 40), B(40, 60), END },
	  { -1 } },
	{ "blocks to fill the entire 2nd parent range",
	  { B(0, 20), B(20, 40), B(40, 60), B(60, 80), END },
	  { 0, 1, 2, -1 } },
	{ "blocks to fill the entire 2nd parent range after another one",
	  { B(0, 60), B(60, 80), B(80, 100), B(100, 120), END },
	  { -1 } },
	{ "the same, with one more behind",
	  { B(0, 60), B(60, 80), B(80, 100), B(100, 120), B(120, 140), END },
	  { 1, 2, 3, -1 } },
	{ "a gap, and the range is over: what there is is compacted",
	  { B(60, 80), B(80, 100), B(120, 140), END },
	  { -1 } },
	{ "a gap, and a newer block behind",
	  { B(60, 80), B(80, 100), B(120, 140), B(140, 160), END },
	  { 0, 1, -1 } },
	{ "a gap in the parent range",
	  { B(0, 20), B(40, 60), B(60, 80), END },
	  { 0, 1, -1 } },
	{ "a large gap, and lots of blocks",
	  { B(0, 20), B(20, 40), B(60, 80), B(80, 100), B(120, 140),
	    B(140, 160), END },
	  { 0, 1, -1 } },
	{ "blocks that fill the third level",
	  { B(0, 60), B(60, 120), B(120, 180), B(180, 200), END },
	  { 0, 1, 2, -1 } },
	{ "not yet at the third level",
	  { B(0, 60), B(60, 120), B(120, 180), END },
	  { -1 } },
	{ "a failed block keeps its range",
	  { B(0, 20, .failed = true), B(20, 40), B(40, 60), B(60, 80), END },
	  { -1 } },
	{ "a failed block keeps not the other ranges",
	  { B(0, 20, .failed = true), B(20, 40), B(60, 80), B(80, 100),
	    B(100, 120), B(120, 140), END },
	  { 2, 3, 4, -1 } },
	{ "few tombstones in a large block",
	  { B(0, 540, .series = 100, .tombstones = 3), B(540, 560), END },
	  { -1 } },
	{ "more than 5 % of tombstones in a large block",
	  { B(0, 540, .series = 10, .tombstones = 3), B(540, 560), END },
	  { 0, -1 } },
	{ "many tombstones in a small block wait for its compaction",
	  { B(0, 60, .series = 10, .tombstones = 3), B(60, 80), END },
	  { -1 } },
	{ "a small block that is deleted whole",
	  { B(0, 60, .series = 10, .tombstones = 10), B(60, 80), END },
	  { 0, -1 } },
	{ "the newest block is left alone, tombstones or not",
	  { B(0, 540, .series = 10, .tombstones = 10), END },
	  { -1 } },
	{ "overlaps come first, the newest block among them",
	  { B(0, 20), B(19, 40), B(40, 60), END },
	  { 0, 1, -1 } },
	{ "a newest block that overlaps",
	  { B(0, 20), B(20, 40), B(30, 50), END },
	  { 1, 2, -1 } },
	{ "several that overlap one with the next",
	  { B(0, 20), B(10, 40), B(30, 60), B(60, 80), END },
	  { 0, 1, 2, -1 } },
	{ "one that holds others",
	  { B(0, 360), B(340, 560), B(360, 420), B(560, 600), END },
	  { 0, 1, 2, -1 } },
	{ "the first of two groups that overlap",
	  { B(0, 20), B(10, 30), B(40, 60), B(50, 70), END },
	  { 0, 1, -1 } },
	{ "blocks that touch do not overlap",
	  { B(0, 20), B(20, 40), END },
	  { -1 } },
	{ "a block across two ranges is passed over",
	  { B(0, 20), B(20, 40), B(50, 70), B(80, 100), B(100, 120),
	    B(120, 140), END },
	  { 0, 1, -1 } },
};

static size_t count_blocks(const struct plan_case *c)
{
	size_t n = 0;

	while (n < BLOCKS && c->v[n].min_ms != -1)
		n++;
	return n;
}

Test(planner, compaction_is_planned_as_in_prometheus)
{
	for (size_t i = 0; i < ARRAY_SIZE(plans); i++) {
		const struct plan_case *c = &plans[i];
		size_t got[BLOCKS];
		size_t n = plan_compaction(&levels, c->v, count_blocks(c), got);
		size_t want = 0;
		bool same;

		while (c->want[want] != -1)
			want++;
		same = n == want;
		for (size_t k = 0; k < n && same; k++)
			same = (int)got[k] == c->want[k];
		cr_expect(same, "%s: %zu blocks, from %zu", c->name, n,
			  n ? got[0] : 0);
	}
}

Test(planner, largest_level_is_a_tenth_of_the_retention)
{
	int64_t day = 24 * 3600000LL;

	cr_expect(plan_levels(15 * day, 0).count == 3); /* 2h 6h 18h */
	cr_expect(plan_levels(90 * day, 0).count == 5); /* … 54h 162h */
	cr_expect(plan_levels(20 * 3600000LL, 0).count == 1);
	cr_expect(plan_levels(0, 0).count == 6, "31 days at most");
	cr_expect(plan_levels(0, 1000).bytes_max == 100);
}

Test(planner, blocks_above_the_size_limit_are_not_compacted)
{
	struct plan_block v[] = { B(0, 20, .bytes = 40), B(20, 40, .bytes = 40),
				  B(40, 60, .bytes = 40),
				  B(60, 80, .bytes = 1) };
	struct plan_levels l = levels;
	size_t out[4];

	l.bytes_max = 120;
	cr_expect(plan_compaction(&l, v, 4, out) == 3);
	l.bytes_max = 119;
	cr_expect(plan_compaction(&l, v, 4, out) == 0);
	l.bytes_max = 0;
	l.series_max = 2;
	v[0].series = 3;
	cr_expect(plan_compaction(&l, v, 4, out) == 0);
}

Test(planner, picks_the_head_to_seal)
{
	int64_t hour = 3600000;
	struct plan_head v[] = {
		{ .start = 0, .lsn = 1, .idle_ms = 700000, .weight = 10 },
		{ .start = 2 * hour, .lsn = 5, .idle_ms = 0, .weight = 90 },
		{ .start = 2 * hour, .lsn = 9, .idle_ms = 0, .weight = 95 },
	};
	struct plan_bounds b = { .now_ms = 3 * hour - 1 };

	cr_expect(plan_seal(&b, v, 3) == PLAN_NONE, "within the grace");
	b.now_ms = 3 * hour;
	cr_expect(plan_seal(&b, v, 3) == 0);
	v[0].idle_ms = 599999;
	cr_expect(plan_seal(&b, v, 3) == PLAN_NONE, "not idle");
	v[2].closed = true;
	cr_expect(plan_seal(&b, v, 3) == 1, "generations in order");
	v[2].closed = false;
	b.weight = 194;
	cr_expect(plan_seal(&b, v, 3) == 0, "the oldest that is over");
	cr_expect(plan_seal(&b, v + 1, 2) == PLAN_NONE, "below the bound");
	b.weight = 100;
	cr_expect(plan_seal(&b, v + 1, 2) == 0, "the fullest, in order");
	b.weight = 0;
	b.heads = 2;
	cr_expect(plan_seal(&b, v, 3) == 0, "too many: the most idle");
	b.heads = 0;
	b.all = true;
	cr_expect(plan_seal(&b, v + 1, 2) == 0);
	cr_expect(plan_seal(&b, v, 0) == PLAN_NONE);
}

Test(planner, picks_the_part_to_remove)
{
	int64_t hour = 3600000;
	struct plan_item v[] = {
		{ .max_ms = 50 * hour, .bytes = 10 },
		{ .max_ms = 10 * hour, .bytes = 10 },
		{ .max_ms = 60 * hour, .bytes = 10, .open = true },
	};
	struct plan_retention p = { .now_ms = 60 * hour,
				    .retention_ms = 51 * hour,
				    .bytes = 30 };

	cr_expect(plan_removal(&p, v, 3) == PLAN_NONE);
	p.retention_ms = 50 * hour;
	cr_expect(plan_removal(&p, v, 3) == 1);
	p.retention_ms = 0;
	p.bytes_max = 30;
	cr_expect(plan_removal(&p, v, 3) == PLAN_NONE);
	p.bytes_max = 29;
	cr_expect(plan_removal(&p, v, 3) == 1, "the oldest");
	cr_expect(plan_removal(&p, v + 2, 1) == PLAN_NONE,
		  "what takes samples stays");
}
