/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a comparison collects: values by bucket of time and by series, and what they
 * are divided by.
 */
#include "query/merge/bucket_plan.h"
#include "query/merge/query_compare.h"
#include "tests/query/store.h"

TestSuite(query_compare, .timeout = 60);

#define MEMORY ((int64_t)64 << 20)
#define MINUTE 60000

/* A comparison of two ranges of one selector, with buckets of a minute. */
struct asked {
	struct query_merge_options merge_options;
	struct query_compare_options o;
	struct budget memory;
	struct query_work work;
	struct query_merge merge;
	struct query_compare compare;
	struct query_spec specs[ESTIMATE_SIDES];
	struct pprof *p;
	struct err err;
	int rc;
};

static void ask(struct asked *x, struct store *s, const char *base,
		const char *new, const int64_t minutes[4])
{
	const char *const selectors[] = { base, new };

	x->merge_options.one_type = true;
	x->o.by_kind = x->o.by == COMPARE_SHARE;
	x->o.bucket_ms = x->o.bucket_ms ? x->o.bucket_ms : MINUTE;
	x->memory = (struct budget){ .name = "query.memory", .max = MEMORY };
	x->work = (struct query_work){ .memory = &x->memory,
				       .deadline_ns = INT64_MAX };
	for (int i = 0; i < ESTIMATE_SIDES; i++) {
		cr_assert(!selector_parse(str_of(selectors[i]),
					  &x->specs[i].selector, &x->err));
		x->specs[i].merged = true;
		x->specs[i].from = store_at(minutes[2 * i]);
		x->specs[i].to = store_at(minutes[2 * i + 1]) - 1;
	}
	query_merge_init(&x->merge, s->db, &x->work, &x->merge_options);
	query_compare_init(&x->compare, &x->merge, &x->o);
	x->rc = query_compare_run(&x->compare, &x->specs[0], &x->specs[1],
				  &x->p, &x->err);
}

static void asked_close(struct asked *x)
{
	query_compare_fini(&x->compare);
	query_merge_fini(&x->merge);
	for (int i = 0; i < ESTIMATE_SIDES; i++)
		query_spec_fini(&x->specs[i]);
	query_release(&x->work);
	cr_expect(!atomic_load(&x->memory.used), "%lld bytes are kept",
		  (long long)atomic_load(&x->memory.used));
	*x = (struct asked){ 0 };
}

/* The values of all samples in a column, as "side:column=value/divisor …". */
static char *told(const struct cells *c,
		  const struct compare_divisors divisors[ESTIMATE_SIDES],
		  bool instance)
{
	struct buf out = { 0 };

	for (uint32_t side = 0; side < ESTIMATE_SIDES; side++) {
		const struct compare_divisors *d = &divisors[side];
		size_t n = instance ? d->instances.count : d->buckets.count;

		for (uint32_t i = 0; i < n; i++) {
			int64_t sum = 0;

			for (size_t k = 0; k < c->v.count; k++)
				sum += c->v.v[k].column == i * 2 + side ?
					       c->v.v[k].value :
					       0;
			buf_printf(&out, "%s%s%u=%lld/%g", out.len ? " " : "",
				   side ? "b" : "a", i, (long long)sum,
				   instance ? d->instances.v[i] :
					      d->buckets.v[i]);
		}
	}
	(void)buf_cstr(&out);
	return (char *)out.ptr;
}

static void expect_told(const struct asked *x, bool instance, const char *want)
{
	const struct compare *c = &x->compare.compare;
	char *got = told(instance ? &c->instances : &c->buckets, c->divisors,
			 instance);

	cr_expect(!strcmp(got, want), "\"%s\", want \"%s\"", got, want);
	mem_free(got);
}

static void flush(struct store *s)
{
	cr_assert(!tsdb_flush(s->db, NULL));
}

/* Ask the same of profiles in the WAL, which are decoded, and of columns. */
#define ask_twice(s) for (int again_ = 0; again_ < 2; again_++, flush(s))

static void put(struct store *s, const char *series, const char *types,
		int64_t minute, const char *stacks, int64_t duration_ns)
{
	store_put(s, series, types,
		  &(struct made){ .ms = store_at(minute) + 10000,
				  .stacks = stacks,
				  .duration_ns = duration_ns });
}

Test(query_compare, flows_are_added_up_by_bucket_and_by_series)
{
	static const int64_t ranges[] = { 0, 3, 3, 6 };
	struct store *s = store_open();
	struct asked x = { 0 };

	put(s, "cpu pod=x", "cpu", 0, "f=1 main>g=1", 2000000000);
	put(s, "cpu pod=x", "cpu", 2, "f=2", 2000000000);
	put(s, "cpu pod=y", "cpu", 2, "f=4", 4000000000);
	put(s, "cpu pod=x", "cpu", 3, "f=8", 2000000000);
	put(s, "cpu pod=x", "cpu", 4, "f=16", 2000000000);
	put(s, "cpu pod=y", "cpu", 4, "f=32", 2000000000);
	ask_twice(s)
	{
		x.o.by = COMPARE_RATE;
		ask(&x, s, "cpu", "cpu", ranges);
		cr_assert(!x.rc, "%s", x.err.msg);
		expect_told(&x, false, "a0=2/2 a1=0/0 a2=6/6 b0=8/2 b1=48/4");
		expect_told(&x, true, "a0=4/4 a1=4/4 b0=24/4 b1=32/2");
		cr_expect(!x.compare.compare.paired);
		cr_expect(x.compare.profiles[0] == 3);
		cr_expect(x.compare.profiles[1] == 3);
		cr_expect(x.p->types.count == 1);
		for (size_t i = 0; i < x.p->samples.count; i++)
			cr_expect(pprof_values(x.p, i)[0] == (int64_t)i + 1);
		asked_close(&x);
	}
	store_close(s);
}

/* A step over a border belongs to the later bucket; a restart begins at 0. */
Test(query_compare, counters_count_their_increase)
{
	static const int64_t ranges[] = { 0, 3, 3, 6 };
	static const char *const values[] = { "f=10",  "f=13", "f=20",
					      "f=100", "f=2",  "f=5" };
	struct store *s = store_open();
	struct asked x = { 0 };

	for (int i = 0; i < 6; i++)
		put(s, "heap pod=x", "alloc_space", i, values[i], 0);
	ask_twice(s)
	{
		ask(&x, s, "heap", "heap", ranges);
		cr_assert(!x.rc, "%s", x.err.msg);
		cr_expect(x.compare.compare.by == COMPARE_LEVEL);
		expect_told(&x, false,
			    "a0=0/0 a1=3/60 a2=7/60 b0=0/0 b1=2/60 b2=3/60");
		cr_expect(!x.compare.compare.is_state);
		asked_close(&x);
	}
	store_close(s);
}

Test(query_compare, states_are_averaged_in_a_bucket_and_added_over_series)
{
	static const int64_t ranges[] = { 0, 4, 4, 8 };
	struct store *s = store_open();
	struct asked x = { .o = { .bucket_ms = 4 * MINUTE } };
	int64_t first = store_at(0) / (4 * MINUTE);

	for (int i = 0; i < 8; i++)
		put(s, "heap pod=x", "inuse_space", i, i < 4 ? "f=10" : "f=30",
		    0);
	put(s, "heap pod=y", "inuse_space", 5, "f=7", 0);
	ask_twice(s)
	{
		int64_t sum = 0;

		x.o.bucket_ms = 4 * MINUTE;
		ask(&x, s, "heap", "heap", ranges);
		cr_assert(!x.rc, "%s", x.err.msg);
		cr_expect(x.compare.compare.first[0] == first);
		cr_expect(x.compare.compare.is_state);
		for (size_t i = 0; i < x.compare.compare.buckets.v.count; i++)
			sum += x.compare.compare.buckets.v.v[i].value;
		/* Borders of buckets are multiples of their length. */
		cr_expect(sum == (store_at(0) % (4 * MINUTE) ? 20 + 60 + 7 :
							       10 + 30 + 7),
			  "%lld", (long long)sum);
		asked_close(&x);
	}
	store_close(s);
}

Test(query_compare, sides_with_other_series_have_other_instances)
{
	static const int64_t ranges[] = { 0, 3, 0, 3 };
	struct store *s = store_open();
	struct asked x = { 0 };

	put(s, "cpu pod=a version=1", "cpu", 0, "f=1", 1000000000);
	put(s, "cpu pod=b version=2", "cpu", 1, "f=2", 1000000000);
	put(s, "cpu pod=c version=2", "cpu", 1, "f=4", 1000000000);
	ask(&x, s, "cpu{version=\"1\"}", "cpu{version=\"2\"}", ranges);
	cr_assert(!x.rc, "%s", x.err.msg);
	expect_told(&x, true, "a0=1/1 b0=0/0 b1=2/1 b2=4/1");
	/* Buckets are paired, so both sides have the same ones. */
	cr_expect(x.compare.compare.paired);
	expect_told(&x, false, "a0=1/1 a1=0/0 b0=0/0 b1=6/2");
	cr_expect(x.compare.compare.first[0] == x.compare.compare.first[1]);
	asked_close(&x);
	store_close(s);
}

Test(query_compare, values_of_different_kinds_are_refused)
{
	static const int64_t ranges[] = { 0, 3, 3, 6 };
	struct store *s = store_open();
	struct asked x = { 0 };

	for (int i = 0; i < 6; i++) {
		put(s, "mutex pod=x", "delay", i, "f=1", 0);
		put(s, "mutex pod=y", "delay", i, "f=1", 1000000000);
	}
	ask(&x, s, "mutex", "mutex", ranges);
	cr_expect(x.rc == ERR_INVALID);
	cr_expect(strstr(x.err.msg, "different kinds") != NULL, "%s",
		  x.err.msg);
	asked_close(&x);
	store_close(s);
}

/* A counter with one profile is planned, and not added: its types are not asked for. */
Test(query_compare, sample_types_are_those_of_the_merge)
{
	static const int64_t ranges[] = { 0, 3, 3, 6 };
	struct store *s = store_open();
	struct asked x = { 0 };

	put(s, "allocs v=1", "a b alloc_objects", 1, "f=1,2,3", 0);
	for (int i = 0; i < 6; i++)
		put(s, "allocs v=2", "alloc_objects", i, i < 3 ? "f=5" : "f=9",
		    0);
	ask_twice(s)
	{
		x.merge_options.sample_index = str_of("alloc_objects");
		ask(&x, s, "allocs", "allocs", ranges);
		cr_assert(!x.rc, "%s", x.err.msg);
		cr_expect(x.compare.type == 0);
		asked_close(&x);
	}
	store_close(s);
}

Test(query_compare, what_makes_no_sense_is_refused)
{
	static const struct {
		const char *base;
		const char *selector;
		enum compare_by by;
		int64_t bucket_ms;
		int rc;
		const char *message;
	} cases[] = {
		{ "cpu{pod=\"z\"}", "cpu", COMPARE_SHARE, 0, ERR_NOTFOUND,
		  "side a (the base)" },
		{ "cpu", "cpu{pod=\"z\"}", COMPARE_SHARE, 0, ERR_NOTFOUND,
		  "side b (compared with the base)" },
		{ "heap", "heap", COMPARE_RATE, 0, ERR_INVALID, "by=level" },
		{ "cpu", "cpu", COMPARE_LEVEL, 0, ERR_INVALID, "by=rate" },
		{ "cpu", "cpu", COMPARE_SHARE, 1, ERR_INVALID,
		  "a shorter time range" },
	};
	static const int64_t ranges[] = { 0, 3, 0, 3 };
	struct store *s = store_open();
	struct asked x = { 0 };

	for (int i = 0; i < 3; i++) {
		put(s, "cpu pod=x", "cpu", i, "f=1", 1000000000);
		put(s, "heap pod=x", "inuse_space", i, "f=1", 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		x.o.by = cases[i].by;
		x.o.bucket_ms = cases[i].bucket_ms;
		ask(&x, s, cases[i].base, cases[i].selector, ranges);
		cr_expect(x.rc == cases[i].rc, "case %zu: %d", i, x.rc);
		cr_expect(strstr(x.err.msg, cases[i].message) != NULL,
			  "case %zu: %s", i, x.err.msg);
		asked_close(&x);
	}
	store_close(s);
}

Test(query_compare, rates_need_the_time_of_each_profile)
{
	static const int64_t ranges[] = { 0, 3, 3, 6 };
	struct store *s = store_open();
	struct asked x = { 0 };

	put(s, "cpu pod=x", "cpu", 0, "f=1", 2000000000);
	put(s, "cpu pod=x", "cpu", 3, "f=2", 2000000000);
	put(s, "cpu pod=x", "cpu", 4, "f=4", 0);
	x.o.by = COMPARE_RATE;
	ask(&x, s, "cpu", "cpu", ranges);
	cr_expect(x.rc == ERR_INVALID);
	cr_expect(strstr(x.err.msg, "side b") && strstr(x.err.msg, "by=share"),
		  "%s", x.err.msg);
	asked_close(&x);
	x.o.by = COMPARE_SHARE;
	ask(&x, s, "cpu", "cpu", ranges);
	cr_expect(!x.rc, "%s", x.err.msg);
	asked_close(&x);
	store_close(s);
}

Test(query_compare, buckets_have_two_profiles_and_are_not_too_many)
{
	int64_t spacings[] = { 15000, 15001, 14999, 400000, 15000 };

	cr_expect(bucket_plan_spacing(spacings, 5) == 15000);
	cr_expect(bucket_plan_spacing(NULL, 0) == 0);
	cr_expect(bucket_plan_width(600000, KIND_FLOW, 15000) == 30000);
	cr_expect(bucket_plan_width(64 * 60000, KIND_FLOW, 15000) == 61000);
	cr_expect(bucket_plan_width(32 * 60000, KIND_COUNTER, 15000) == 61000);
	cr_expect(bucket_plan_width(0, KIND_STATE, 0) == 10000);
	cr_expect(bucket_plan_at(-1, 10) == -1);
	cr_expect(bucket_plan_at(9, 10) == 0);
	cr_expect(bucket_plan_at(10, 10) == 1);
}
