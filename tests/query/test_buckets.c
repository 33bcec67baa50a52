/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets: bounds between the smallest and the largest total, and counts. */
#include "query/history/buckets.h"

#include "base/buf.h"
#include "tests/check.h"

TestSuite(buckets, .timeout = 30);

static bool buckets_are(const struct buckets *b, const char *want)
{
	struct buf out = { 0 };
	struct json j = json_init(&out);
	bool same;

	buckets_json(b, &j);
	same = check_str(str_from(buf_bytes(&out)), want);
	buf_fini(&out);
	return same;
}

/* Note these totals, then count them all in the last of `steps` steps. */
static struct buckets filled(const int64_t *totals, size_t count, size_t n,
			     size_t steps)
{
	struct buckets b = { 0 };

	for (size_t i = 0; i < count; i++)
		buckets_note(&b, totals[i]);
	buckets_begin(&b, n, steps, false);
	for (size_t i = 0; i < count; i++)
		buckets_count(&b, steps - 1, totals[i]);
	return b;
}

Test(buckets, totals_are_counted_between_logarithmic_bounds)
{
	static const struct {
		int64_t totals[6];
		size_t count;
		size_t n;
		const char *want;
	} cases[] = {
		{ { 1, 9, 10, 99, 100, 1000 },
		  6,
		  3,
		  "{\"bounds\":[1,10,100,1000],\"counts\":[[2,2,2]]}" },
		{ { 7, 7 }, 2, 2, "{\"bounds\":[7,7,7],\"counts\":[[0,2]]}" },
		/* Idle profiles are in the first bucket, and give no bound. */
		{ { 0, -5, 10, 1000 },
		  4,
		  2,
		  "{\"bounds\":[10,100,1000],\"counts\":[[3,1]]}" },
		{ { 0, 0 }, 2, 2, "{\"bounds\":[],\"counts\":[]}" },
		{ { 0 }, 0, 2, "{\"bounds\":[],\"counts\":[]}" },
		{ { INT64_MAX, INT64_MAX - 1 },
		  2,
		  2,
		  "{\"bounds\":[9223372036854775806,9223372036854775807,"
		  "9223372036854775807],\"counts\":[[1,1]]}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buckets b =
			filled(cases[i].totals, cases[i].count, cases[i].n, 1);

		cr_expect(buckets_are(&b, cases[i].want), "%zu", i);
		buckets_fini(&b);
	}
}

Test(buckets, bounds_between_have_few_digits_in_their_unit)
{
	struct buckets b = { 0 };

	/* 12.3 ms to 789 ms: steps of 1.68. */
	buckets_note(&b, 12345678);
	buckets_note(&b, 789123456);
	buckets_begin(&b, 8, 1, false);
	cr_expect(buckets_are(&b, "{\"bounds\":[12345678,20000000,30000000,"
				  "60000000,100000000,170000000,300000000,"
				  "500000000,789123456],"
				  "\"counts\":[[0,0,0,0,0,0,0,0]]}"));
	buckets_fini(&b);
	/* 1.0001 to 4 MB; the bounds are near 1.4, 2 and 2.8 MB. */
	buckets_note(&b, 1048681);
	buckets_note(&b, 4 << 20);
	buckets_begin(&b, 4, 1, true);
	cr_expect(buckets_are(&b, "{\"bounds\":[1048681,1468006,2097152,"
				  "3145728,4194304],"
				  "\"counts\":[[0,0,0,0]]}"));
	buckets_fini(&b);
}

Test(buckets, each_step_has_its_own_counts)
{
	struct buckets b = filled((int64_t[]){ 2, 8 }, 2, 2, 3);

	buckets_count(&b, 0, 8);
	cr_expect(buckets_are(
		&b, "{\"bounds\":[2,4,8],\"counts\":[[0,1],[0,0],[1,1]]}"));
	buckets_fini(&b);
}

Test(buckets, bounds_ascend_and_have_all_totals_for_any_number)
{
	for (size_t n = BUCKETS_MIN; n <= BUCKETS_MAX; n++) {
		struct buckets b =
			filled((int64_t[]){ 3, 5, 1LL << 62 }, 3, n, 1);
		uint32_t sum = 0;

		for (size_t i = 0; i < n; i++) {
			cr_expect(b.bounds[i] <= b.bounds[i + 1], "%zu", n);
			sum += b.counts[i];
		}
		cr_assert(sum == 3, "%zu", n);
		cr_expect(b.counts[n - 1] == 1, "%zu", n);
		buckets_fini(&b);
	}
}
