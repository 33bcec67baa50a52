/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series of a head block in memory, the label sets that head blocks share, and
 * the windows that times belong to.
 */
#include "tsdb/head/series.h"

#include "base/mem.h"
#include "tests/check.h"
#include "tests/tsdb/sample.h"
#include "tsdb/head/interner.h"
#include "tsdb/head/window.h"

TestSuite(series, .timeout = 60);

static void add_at(struct series *s, int64_t ms, uint64_t lsn)
{
	series_add(s, &(struct unflushed){ .ms = ms, .lsn = lsn });
}

/* Whether the LSNs of the unflushed profiles are `want`, in this order. */
static bool has_lsns(const struct series *s, const char *want)
{
	struct buf b = { 0 };
	bool same;

	for (uint32_t i = 0; i < s->unflushed_count; i++) {
		if (i)
			cr_expect(s->unflushed[i - 1].ms <= s->unflushed[i].ms);
		buf_printf(&b, "%d ", (int)s->unflushed[i].lsn);
	}
	same = check_str(str_from(buf_bytes(&b)), want);
	buf_fini(&b);
	return same;
}

/*
 * Makes a series with profiles at 10, 50, 40, 20 and 30, appended in this
 * order.
 */
static struct series five_profiles(void)
{
	struct series s = { 0 };

	add_at(&s, 10, 1);
	add_at(&s, 50, 2);
	add_at(&s, 40, 3);
	add_at(&s, 20, 4);
	add_at(&s, 30, 5);
	return s;
}

Test(series, profiles_are_kept_in_order_of_time)
{
	struct series s = five_profiles();

	cr_expect(has_lsns(&s, "1 4 5 3 2 "));
	for (int64_t ms = 10; ms <= 50; ms += 10) {
		cr_assert(series_find(&s, ms));
		cr_expect(series_find(&s, ms)->ms == ms);
		cr_assert(!series_find(&s, ms + 1));
		cr_expect(!series_find(&s, ms - 1));
	}
	cr_assert(!series_find(&s, INT64_MIN));
	cr_expect(!series_find(&s, INT64_MAX));
	series_fini(&s);
	cr_assert(!s.unflushed);
	cr_assert(!s.unflushed_count);
	cr_expect(!series_find(&s, 10));
	for (int i = 0; i < 1000; i++)
		add_at(&s, (i * 617) % 1000, (uint64_t)i);
	for (int i = 0; i < 1000; i++)
		cr_expect(s.unflushed[i].ms == i);
	series_fini(&s);
}

Test(series, what_was_flushed_is_dropped)
{
	static const struct {
		uint64_t lsn;
		const char *left;
		uint64_t oldest;
	} cases[] = {
		{ 0, "1 4 5 3 2 ", 1 },
		{ 2, "4 5 3 ", 3 },
		{ 4, "5 ", 5 },
		{ 5, "", UINT64_MAX },
		{ UINT64_MAX, "", UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct series s = five_profiles();

		series_flushed(&s, cases[i].lsn);
		cr_expect(has_lsns(&s, cases[i].left), "case %zu", i);
		cr_expect(series_oldest(&s) == cases[i].oldest);
		cr_expect(s.flushed_lsn == cases[i].lsn);
		series_flushed(&s, 0);
		cr_expect(s.flushed_lsn == cases[i].lsn, "never back");
		add_at(&s, 25, 9);
		cr_expect(series_find(&s, 25) != NULL, "and it goes on");
		series_fini(&s);
	}
}

Test(series, a_deletion_drops_what_was_before_it)
{
	struct series s = five_profiles();

	series_add_gap(&s, &(struct tombstone_interval){
				   .from = 20, .to = 40, .lsn = 4 });
	cr_expect(has_lsns(&s, "1 5 2 "));
	cr_assert(series_hides(&s, 20, 4));
	cr_expect(series_hides(&s, 40, 0));
	cr_expect(!series_hides(&s, 20, 5), "it came later");
	cr_assert(!series_hides(&s, 19, 1));
	cr_expect(!series_hides(&s, 41, 1));
	series_add_gap(&s, &(struct tombstone_interval){ .from = INT64_MIN,
							 .to = INT64_MAX,
							 .lsn = 9 });
	cr_assert(has_lsns(&s, ""));
	cr_expect(s.gap_count == 2);
	add_at(&s, 30, 10);
	cr_expect(has_lsns(&s, "10 "), "what comes later stays");
	series_fini(&s);
	cr_assert(!s.gaps);
	cr_expect(!s.gap_count);
}

Test(series, a_series_overlaps_where_it_may_have_profiles)
{
	static const struct {
		int64_t from;
		int64_t to;
		bool want;
	} cases[] = {
		{ INT64_MIN, 9, false }, { INT64_MIN, 10, true },
		{ 10, 10, true },        { 11, 19, false },
		{ 50, 50, true },        { 51, 99, false },
		{ 51, 100, true },       { 150, 160, true },
		{ 200, 300, true },      { 201, INT64_MAX, false },
		{ 30, 20, false },
	};
	struct series s = five_profiles();
	struct series none = { 0 };

	series_add_group(&s, &(struct chunk){ .first = 100, .last = 200 });
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		cr_expect(series_overlaps(&s, cases[i].from, cases[i].to) ==
				  cases[i].want,
			  "%d to %d", (int)cases[i].from, (int)cases[i].to);
	cr_expect(!series_overlaps(&none, INT64_MIN, INT64_MAX));
	series_fini(&s);
}

Test(series, equal_label_sets_are_shared)
{
	struct interner *in = interner_new();
	struct labels *first = sample_labels(1);
	struct labels *same = sample_labels(1);
	struct labels *other = sample_labels(2);

	cr_expect(interner_count(in) == 0);
	cr_expect(interner_get(in, first) == first);
	cr_assert(interner_get(in, same) == first);
	cr_expect(same != first);
	cr_expect(interner_get(in, other) == other);
	cr_expect(interner_count(in) == 2);
	labels_unref(first); /* the interner has its own reference */
	interner_put(in, same);
	cr_expect(interner_get(in, same) == first, "one user is left");
	interner_put(in, first);
	interner_put(in, other);
	cr_expect(interner_count(in) == 1);
	interner_put(in, other); /* no effect, as nobody uses it */
	interner_put(in, same);
	cr_expect(interner_count(in) == 0);
	cr_expect(interner_get(in, same) == same, "the first again");
	interner_put(in, same);
	labels_unref(same);
	labels_unref(other);
	interner_free(in);
	interner_free(NULL);
}

Test(series, places_of_label_sets_are_used_again)
{
	struct interner *in = interner_new();
	struct labels *v[50];

	for (int i = 0; i < 50; i++)
		v[i] = sample_labels(i);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 50; i++)
			cr_expect(interner_get(in, v[i]) == v[i]);
		cr_expect(interner_count(in) == 50);
		for (int i = round; i < 50; i += 2)
			interner_put(in, v[i]);
		for (int i = round; i < 50; i += 2)
			cr_expect(interner_get(in, v[i]) == v[i]);
		for (int i = 0; i < 50; i++)
			interner_put(in, v[i]);
		cr_expect(interner_count(in) == 0);
	}
	for (int i = 0; i < 50; i++)
		labels_unref(v[i]);
	interner_free(in);
}

Test(series, windows_are_two_hours_since_1970)
{
	cr_expect(window_start(0) == 0);
	cr_expect(window_start(WINDOW_MS - 1) == 0);
	cr_expect(window_start(WINDOW_MS) == WINDOW_MS);
	cr_expect(window_start(1700000000000) == 1699999200000);
	cr_expect(window_start(INT64_MAX) > INT64_MAX - WINDOW_MS);
}

Test(series, times_are_accepted_by_the_clock_and_the_retention)
{
	static const struct trusted_time clock = {
		.earliest_ms = 1700000000000,
		.latest_ms = 1700000000000,
		.decides = true,
	};
	static const struct {
		const char *name;
		int64_t ms;
		int64_t retention;
		int want;
		const char *told;
	} cases[] = {
		{ "now", 1700000000000, 1000, 0, NULL },
		{ "as far ahead as may be", 1700000600000, 0, 0, NULL },
		{ "further", 1700000600001, 0, ERR_INVALID, "10 minutes" },
		{ "as old as may be", 1699999999000, 1000, 0, NULL },
		{ "older", 1699999998999, 1000, ERR_INVALID, "retention" },
		{ "1970, without a limit", 0, 0, 0, NULL },
		{ "before 1970", -1, 0, ERR_INVALID, "1970" },
		{ "long before", INT64_MIN, 0, ERR_INVALID, "1970" },
		{ "never", INT64_MAX, 0, ERR_INVALID, "10 minutes" },
		{ "an endless retention", 0, INT64_MAX, 0, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = { .msg = "" };

		cr_expect(window_check(cases[i].ms, &clock, cases[i].retention,
				       &err) == cases[i].want,
			  "%s", cases[i].name);
		if (cases[i].told)
			cr_expect(strstr(err.msg, cases[i].told) != NULL,
				  "%s: %s", cases[i].name, err.msg);
	}
}
