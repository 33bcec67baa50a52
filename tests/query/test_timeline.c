/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines: flows, states and counters in steps, by groups of series. */
#include <math.h>

#include "base/mem.h"
#include "model/types.h"
#include "query/history/timeline.h"
#include "tests/check.h"

#define SECOND    1000LL
#define SECOND_NS 1000000000LL

TestSuite(timeline, .timeout = 30);

/* A profile of a series with one sample type. */
struct point {
	int64_t ms;
	int64_t total;
	int64_t duration_ns;
};

static struct buf encode_type(const char *type, const char *unit)
{
	struct typeset *t = mem_new(struct typeset);
	struct buf out = { 0 };

	t->types[0] = (struct value_type){ str_of(type), str_of(unit) };
	t->count = 1;
	typeset_encode(t, &out);
	mem_free(t);
	return out;
}

static struct labels *make_labels(const char *job, const char *pod)
{
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;
	struct err err;

	labels_set(&b, str_of("__name__"), str_of("test"));
	labels_set(&b, str_of("job"), str_of(job));
	labels_set(&b, str_of("pod"), str_of(pod));
	cr_assert(!labels_build(&b, &ls, &err), "%s", err.msg);
	labels_builder_fini(&b);
	return ls;
}

static int add_looked(struct timeline *t, const char *pod, const char *type,
		      const struct point *v, size_t n,
		      const struct coverage_node *node, bool admit)
{
	struct totals_row rows[32];
	int64_t totals[32];
	struct buf types = encode_type(type, "unit");
	struct bytes sets[1] = { buf_bytes(&types) };
	struct labels *ls = make_labels("app", pod);
	struct totals_view view = { .rows = rows,
				    .count = n,
				    .totals = totals,
				    .typesets = sets,
				    .typeset_count = 1 };
	struct err err = { 0 };
	int rc;

	for (size_t i = 0; i < n; i++) {
		rows[i] = (struct totals_row){ .ms = v[i].ms,
					       .duration_ns = v[i].duration_ns,
					       .first = (uint32_t)i };
		totals[i] = v[i].total;
	}
	rc = timeline_add(t, ls, &view, node, admit, &err);
	labels_unref(ls);
	buf_fini(&types);
	return rc;
}

/* Add a series without heartbeats. */
static int add_series(struct timeline *t, const char *pod, const char *type,
		      const struct point *v, size_t n, bool admit)
{
	return add_looked(t, pod, type, v, n, NULL, admit);
}

/*
 * Expects one group with one line that has these values. NAN stands for a step
 * whose value is unknown.
 */
static void expect_values(const struct timeline *t, const double *want,
			  size_t n)
{
	const struct timeline_line *l;

	cr_assert(t->groups.count == 1);
	cr_assert(t->groups.v[0].lines.count == 1);
	cr_assert(t->steps.count == n, "%zu points", t->steps.count);
	l = &t->groups.v[0].lines.v[0];
	for (size_t i = 0; i < n; i++) {
		if (want[i] != want[i])
			cr_expect(!l->known[i], "step %zu", i);
		else {
			cr_assert(l->known[i], "step %zu: %g, want %g", i,
				  timeline_line_value(t, l, i), want[i]);
			cr_expect(fabs(timeline_line_value(t, l, i) - want[i]) <
					  1e-9,
				  "step %zu: %g, want %g", i,
				  timeline_line_value(t, l, i), want[i]);
		}
	}
}

#define UNKNOWN __builtin_nan("")

Test(timeline, flows_are_summed_in_each_step)
{
	const struct timeline_options o = { .from = 0,
					    .to = 30 * SECOND,
					    .step_ms = 10 * SECOND,
					    .group_by = str_of("job") };
	const struct point v[] = { { 1 * SECOND, 3, SECOND_NS },
				   { 2 * SECOND, 4, SECOND_NS },
				   { 25 * SECOND, 5, SECOND_NS } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", v, 3, true));
	expect_values(&t, (double[]){ 7, UNKNOWN, 5 }, 3);
	cr_expect(!add_series(&t, "b", "cpu", v, 2, true));
	expect_values(&t, (double[]){ 14, UNKNOWN, 5 }, 3);
	timeline_fini(&t);
}

Test(timeline, rate_of_a_flow_is_per_profiled_second)
{
	const struct timeline_options o = { .from = 0,
					    .to = 10 * SECOND,
					    .step_ms = 10 * SECOND,
					    .group_by = str_of("job"),
					    .rate = true };
	const struct point v[] = { { 1 * SECOND, 6, 2 * SECOND_NS },
				   { 5 * SECOND, 6, 2 * SECOND_NS } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", v, 2, true));
	expect_values(&t, (double[]){ 3 }, 1);
	/* A second instance with the same profiles doubles the rate. */
	cr_expect(!add_series(&t, "b", "cpu", v, 2, true));
	expect_values(&t, (double[]){ 6 }, 1);
	timeline_fini(&t);
}

/* Without its time, a value says nothing beside others that have theirs. */
Test(timeline, rates_leave_out_what_alone_lacks_a_duration)
{
	const struct point v[] = { { 1 * SECOND, 6, 2 * SECOND_NS },
				   { 5 * SECOND, 6, 0 },
				   { 15 * SECOND, 6, 0 } };
	const int64_t fills[] = { 0, 20 * SECOND };

	for (size_t i = 0; i < ARRAY_SIZE(fills); i++) {
		const struct timeline_options o = { .from = 0,
						    .to = 20 * SECOND,
						    .step_ms = 10 * SECOND,
						    .group_by = str_of("job"),
						    .rate = true,
						    .fill_ms = fills[i] };
		struct timeline t;
		struct err err;

		cr_assert(!timeline_init(&t, &o, &err));
		cr_expect(!add_series(&t, "a", "cpu", v, 3, true));
		expect_values(&t, (double[]){ 3, UNKNOWN }, 2);
		/* If no profile has one, all count for their steps. */
		if (!o.fill_ms) {
			cr_expect(!add_series(&t, "b", "cpu", v + 1, 2, true));
			expect_values(&t, (double[]){ 3.6, 0.6 }, 2);
		}
		timeline_fini(&t);
	}
}

Test(timeline, means_are_those_of_all_profiles_of_a_step)
{
	const struct timeline_options o = { .from = 0,
					    .to = 30 * SECOND,
					    .step_ms = 10 * SECOND,
					    .group_by = str_of("job"),
					    .mean = true };
	const struct point v[] = { { -1 * SECOND, 3, 0 },
				   { 2 * SECOND, 7, 0 },
				   { 4 * SECOND, 7, 0 },
				   { 25 * SECOND, 1, 0 } };
	static const struct {
		const char *type;
		double one[3];
		double two[3];
	} cases[] = {
		{ "cpu", { 7, UNKNOWN, 1 }, { 7, UNKNOWN, 1 } },
		{ "inuse_space", { 7, UNKNOWN, 1 }, { 7, UNKNOWN, 1 } },
		/* It grows by 4 and 0; the second series begins in the step. */
		{ "alloc_space", { 2, UNKNOWN, 1 }, { 4 / 3.0, UNKNOWN, 1 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t from;
		int64_t to;
		struct timeline t;
		struct err err;

		timeline_range(&o, &from, &to);
		cr_expect(from < -1 * SECOND);
		cr_assert(!timeline_init(&t, &o, &err));
		cr_expect(!add_series(&t, "a", cases[i].type, v, 4, true));
		expect_values(&t, cases[i].one, 3);
		cr_expect(!add_series(&t, "b", cases[i].type, v + 1, 3, true));
		expect_values(&t, cases[i].two, 3);
		timeline_fini(&t);
	}
}

Test(timeline, rates_hold_until_the_next_profile)
{
	const struct timeline_options o = { .from = 0,
					    .to = 60 * SECOND,
					    .step_ms = 10 * SECOND,
					    .group_by = str_of("job"),
					    .rate = true,
					    .fill_ms = 30 * SECOND };
	/* Every 20 s, in other steps than the next series. */
	const struct point a[] = { { 0, 2, SECOND_NS },
				   { 20 * SECOND, 4, SECOND_NS },
				   { 40 * SECOND, 6, SECOND_NS } };
	/* The first one is from before the range. */
	const struct point b[] = { { -9 * SECOND, 1, SECOND_NS },
				   { 11 * SECOND, 1, SECOND_NS },
				   { 31 * SECOND, 1, SECOND_NS },
				   { 51 * SECOND, 1, SECOND_NS } };
	/* Farther apart than 30 s: there was no program in between. */
	const struct point c[] = { { 0, 7, SECOND_NS },
				   { 40 * SECOND, 7, SECOND_NS } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", a, 3, true));
	expect_values(&t, (double[]){ 2, 2, 4, 4, 6, 6 }, 6);
	cr_expect(!add_series(&t, "b", "cpu", b, 4, true));
	/* The sum does not depend on the steps in which profiles are. */
	expect_values(&t, (double[]){ 3, 3, 5, 5, 7, 7 }, 6);
	timeline_fini(&t);
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "c", "cpu", c, 2, true));
	expect_values(
		&t, (double[]){ 7, UNKNOWN, UNKNOWN, UNKNOWN, 7, UNKNOWN }, 6);
	timeline_fini(&t);
}

/* One scrape in 15 s; then the target is down for two minutes. */
Test(timeline, typical_gaps_are_filled_and_longer_ones_are_not)
{
	struct timeline_options o = { .from = 0,
				      .to = 360 * SECOND,
				      .step_ms = 60 * SECOND,
				      .group_by = str_of("job"),
				      .rate = true,
				      .fill_ms = 300 * SECOND,
				      .fill_typical = true };
	struct point often[17];
	const struct point rare[] = { { 0, 20, 10 * SECOND_NS },
				      { 120 * SECOND, 20, 10 * SECOND_NS },
				      { 360 * SECOND, 20, 10 * SECOND_NS } };
	struct timeline t;
	struct err err;

	for (int i = 0; i < 17; i++)
		often[i] = (struct point){ (i < 9 ? i : i + 7) * 15 * SECOND,
					   20, 10 * SECOND_NS };
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", often, 17, true));
	expect_values(&t, (double[]){ 2, 2, 2, UNKNOWN, 2, 2 }, 6);
	timeline_fini(&t);
	/* A gap of two minutes is filled if the profiles are mostly so far apart. */
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "b", "cpu", rare, 3, true));
	expect_values(&t, (double[]){ 2, 2, 2, 2, 2, 2 }, 6);
	timeline_fini(&t);
	/* With a fixed fill, every gap below it is filled. */
	o.fill_typical = false;
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", often, 17, true));
	expect_values(&t, (double[]){ 2, 2, 2, 2, 2, 2 }, 6);
	timeline_fini(&t);
}

/* A profile appears when it is complete, which may be after the next is due. */
Test(timeline, rates_hold_to_the_end_while_the_next_profile_is_on_its_way)
{
	const struct timeline_options o = { .from = 0,
					    .to = 60 * SECOND,
					    .step_ms = 10 * SECOND,
					    .group_by = str_of("job"),
					    .rate = true,
					    .fill_ms = 30 * SECOND };
	const struct timeline_options coarse = { .from = 0,
						 .to = 60 * SECOND,
						 .step_ms = 20 * SECOND,
						 .group_by = str_of("job"),
						 .rate = true,
						 .fill_ms = 60 * SECOND };
	const struct point late[] = { { 0, 20, 10 * SECOND_NS },
				      { 10 * SECOND, 20, 10 * SECOND_NS },
				      { 20 * SECOND, 20, 10 * SECOND_NS },
				      { 30 * SECOND, 20, 10 * SECOND_NS } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", late, 4, true));
	expect_values(&t, (double[]){ 2, 2, 2, 2, 2, 2 }, 6);
	timeline_fini(&t);
	/* Also if the last step has fewer profiles than the others. */
	cr_assert(!timeline_init(&t, &coarse, &err));
	cr_expect(!add_series(&t, "a", "cpu", late, 4, true));
	expect_values(&t, (double[]){ 2, 2, 2 }, 3);
	timeline_fini(&t);
	/* Two more are missing: the program has ended. */
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", late, 2, true));
	expect_values(
		&t, (double[]){ 2, 2, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN }, 6);
	timeline_fini(&t);
}

/* A new version is another series, which begins in the middle of a step. */
Test(timeline, a_step_that_two_versions_share_is_not_twice_as_high)
{
	const struct timeline_options o = { .from = 0,
					    .to = 100 * SECOND,
					    .step_ms = 20 * SECOND,
					    .group_by = str_of("job"),
					    .rate = true,
					    .fill_ms = 60 * SECOND };
	struct point first[10];
	struct point second[10];
	struct timeline t;
	struct err err;

	/* Every 5 s; the second version begins at 50 s. */
	for (int i = 0; i < 10; i++) {
		first[i] = (struct point){ i * 5 * SECOND, 3, SECOND_NS };
		second[i] =
			(struct point){ (50 + i * 5) * SECOND, 3, SECOND_NS };
	}
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "v1", "cpu", first, 10, true));
	cr_expect(!add_series(&t, "v2", "cpu", second, 10, true));
	expect_values(&t, (double[]){ 3, 3, 3, 3, 3 }, 5);
	timeline_fini(&t);
}

/* The profile of 10 s is in the first step for 4 s, and in the second for 6. */
Test(timeline, a_profile_on_the_border_of_steps_is_split)
{
	const struct timeline_options o = { .from = 0,
					    .to = 30 * SECOND,
					    .step_ms = 10 * SECOND,
					    .group_by = str_of("job"),
					    .rate = true };
	const struct point v[] = { { -4 * SECOND, 10, 10 * SECOND_NS },
				   { 6 * SECOND, 30, 10 * SECOND_NS },
				   { 25 * SECOND, 50, 10 * SECOND_NS } };
	struct timeline t;
	int64_t from;
	int64_t to;
	struct err err;

	timeline_range(&o, &from, &to);
	cr_assert(from <= -10 * SECOND);
	cr_expect(to == o.to);
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", v, 3, true));
	expect_values(&t, (double[]){ (6 * 1 + 4 * 3) / 10.0, 3, 5 }, 3);
	timeline_fini(&t);
}

Test(timeline, a_range_that_is_shifted_has_the_same_mean)
{
	const struct point v[] = { { -5 * SECOND, 10, 10 * SECOND_NS },
				   { 10 * SECOND, 30, 10 * SECOND_NS },
				   { 25 * SECOND, 20, 10 * SECOND_NS },
				   { 40 * SECOND, 70, 10 * SECOND_NS },
				   { 55 * SECOND, 10, 10 * SECOND_NS },
				   { 70 * SECOND, 10, 10 * SECOND_NS } };
	double sums[2];

	for (int shift = 0; shift < 2; shift++) {
		const struct timeline_options o = { .from = shift * SECOND / 2,
						    .to = 60 * SECOND,
						    .step_ms = (10 + shift) *
							       SECOND,
						    .rate = true,
						    .fill_ms = 60 * SECOND };
		struct timeline t;
		struct err err;

		sums[shift] = 0;
		cr_assert(!timeline_init(&t, &o, &err));
		cr_expect(!add_series(&t, "a", "cpu", v, 6, true));
		for (size_t i = 0; i < t.steps.count; i++)
			sums[shift] +=
				timeline_line_value(
					&t, &t.groups.v[0].lines.v[0], i) *
				time_steps_seconds(&t.steps, i);
		timeline_fini(&t);
	}
	/* Half a second less, at the level 1. */
	cr_expect(fabs(sums[0] - sums[1] - 0.5) < 1e-9, "%g, %g", sums[0],
		  sums[1]);
}

/* A step that is known in part must not look as if the load had changed. */
Test(timeline, the_edges_of_what_is_known_are_as_high_as_the_rest)
{
	const struct timeline_options o = { .from = 0,
					    .to = 200 * SECOND,
					    .step_ms = 20 * SECOND,
					    .group_by = str_of("job"),
					    .rate = true,
					    .fill_ms = 30 * SECOND };
	struct point v[12];
	struct timeline t;
	struct err err;

	/* From 25 s to 75 s, and from 125 s to 185 s. */
	for (int i = 0; i < 11; i++)
		v[i] = (struct point){ (25 + i * 10 + (i > 4) * 50) * SECOND, 3,
				       SECOND_NS };
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", v, 11, true));
	expect_values(
		&t,
		(double[]){ UNKNOWN, 3, 3, 3, UNKNOWN, UNKNOWN, 3, 3, 3, 3 },
		10);
	cr_expect(!add_series(&t, "b", "cpu", v, 11, true));
	expect_values(
		&t,
		(double[]){ UNKNOWN, 6, 6, 6, UNKNOWN, UNKNOWN, 6, 6, 6, 6 },
		10);
	timeline_fini(&t);
}

Test(timeline, an_outage_within_a_step_leaves_the_mean_of_the_rest)
{
	const struct timeline_options o = { .from = 0,
					    .to = 400 * SECOND,
					    .step_ms = 400 * SECOND,
					    .group_by = str_of("job"),
					    .rate = true,
					    .fill_ms = 30 * SECOND };
	struct point v[20];
	struct timeline t;
	struct err err;

	/* From 0 s to 100 s, and from 300 s on. */
	for (int i = 0; i < 20; i++)
		v[i] = (struct point){ (i * 10 + (i > 9) * 200) * SECOND, 3,
				       SECOND_NS };
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", v, 20, true));
	expect_values(&t, (double[]){ 3 }, 1);
	cr_expect(t.groups.v[0].lines.v[0].covered[0] == 0.5);
	timeline_fini(&t);
}

/* Each of them stands for the step, and none for more of it than the others. */
Test(timeline, profiles_that_are_far_apart_have_their_mean_in_a_step)
{
	const struct timeline_options o = { .from = 0,
					    .to = 1800 * SECOND,
					    .step_ms = 1200 * SECOND,
					    .group_by = str_of("job"),
					    .rate = true,
					    .fill_ms = 60 * SECOND };
	const struct point states[] = { { 10 * SECOND, 100, 0 },
					{ 610 * SECOND, 300, 0 },
					{ 1210 * SECOND, 500, 0 } };
	const struct point flows[] = { { 10 * SECOND, 10, 10 * SECOND_NS },
				       { 610 * SECOND, 30, 10 * SECOND_NS },
				       { 1210 * SECOND, 50, 10 * SECOND_NS } };
	/* 6 and then 12 in a second. */
	const struct point counters[] = { { 10 * SECOND, 100, 0 },
					  { 610 * SECOND, 3700, 0 },
					  { 1210 * SECOND, 10900, 0 } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "inuse_space", states, 3, true));
	expect_values(&t, (double[]){ 200, 500 }, 2);
	timeline_fini(&t);
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", flows, 3, true));
	expect_values(&t, (double[]){ 2, 5 }, 2);
	timeline_fini(&t);
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "alloc_space", counters, 3, true));
	expect_values(&t, (double[]){ 6, 12 }, 2);
	timeline_fini(&t);
}

/* The profile before it must not go on at the same time. */
Test(timeline, the_increase_to_a_profile_at_the_end_counts_once)
{
	const struct timeline_options o = { .from = 0,
					    .to = 40 * SECOND,
					    .step_ms = 10 * SECOND,
					    .group_by = str_of("job"),
					    .rate = true,
					    .fill_ms = 60 * SECOND };
	const struct point v[] = { { 0, 100, 0 },
				   { 20 * SECOND, 140, 0 },
				   { 40 * SECOND, 180, 0 } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "alloc_space", v, 3, true));
	expect_values(&t, (double[]){ 2, 2, 2, 2 }, 4);
	timeline_fini(&t);
}

Test(timeline, a_moment_has_the_rate_of_its_profile)
{
	const struct timeline_options o = { .from = 5 * SECOND,
					    .to = 5 * SECOND,
					    .step_ms = 10 * SECOND,
					    .rate = true };
	const struct point v[] = { { 5 * SECOND, 20, 10 * SECOND_NS } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", v, 1, true));
	expect_values(&t, (double[]){ 2 }, 1);
	timeline_fini(&t);
}

/* Anybody may push such profiles. */
Test(timeline, times_that_cannot_be_do_no_harm)
{
	const struct timeline_options o = { .from = -10 * SECOND,
					    .to = INT64_MAX,
					    .step_ms = INT64_MAX,
					    .rate = true,
					    .fill_ms = 60 * SECOND };
	const struct point v[] = { { INT64_MIN, 5, SECOND_NS },
				   { 0, 5, -10 * SECOND_NS },
				   { 10 * SECOND, 5, INT64_MAX },
				   { INT64_MAX - 9, 5, INT64_MAX },
				   { INT64_MAX, 5, SECOND_NS } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", v, ARRAY_SIZE(v), true));
	cr_expect(!add_series(&t, "b", "inuse_space", v, ARRAY_SIZE(v), true));
	cr_expect(t.groups.count == 2);
	timeline_fini(&t);
}

/* Groups count for the limit of groups. */
Test(timeline, a_series_without_a_value_makes_no_group)
{
	const struct timeline_options o = { .from = 0,
					    .to = 60 * SECOND,
					    .step_ms = 10 * SECOND,
					    .fill_ms = 60 * SECOND };
	/* A sum is not filled, so it does not reach into the range. */
	const struct point v[] = { { -20 * SECOND, 5, SECOND_NS },
				   { -10 * SECOND, 5, SECOND_NS } };
	const struct point in[] = { { 10 * SECOND, 5, SECOND_NS } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", v, 2, true));
	cr_expect(!t.groups.count);
	cr_expect(!add_series(&t, "a", "cpu", in, 1, true));
	cr_expect(t.groups.count == 1);
	timeline_fini(&t);
}

/* The intervals of a machine that was sampled from 0 s to 30 s, and to 60 s. */
static struct coverage_node make_node(void)
{
	struct coverage_node n = { .last_from = 50 * SECOND,
				   .last_to = 60 * SECOND,
				   .interval = 10 * SECOND };

	*vec_add(&n.spans) = (struct time_span){ 0, 30 * SECOND, 30 * SECOND };
	*vec_add(&n.spans) =
		(struct time_span){ 40 * SECOND, 60 * SECOND, 60 * SECOND };
	return n;
}

/* It runs for one second in 30, and only then it has a profile. */
Test(timeline, a_program_that_is_idle_uses_no_cpu_time)
{
	const struct timeline_options o = { .from = 0,
					    .to = 30 * SECOND,
					    .step_ms = 30 * SECOND,
					    .rate = true };
	const struct timeline_options fine = { .from = 0,
					       .to = 60 * SECOND,
					       .step_ms = 10 * SECOND,
					       .rate = true,
					       .fill_ms = 60 * SECOND };
	const struct point v[] = { { 10 * SECOND, 1, 10 * SECOND_NS } };
	struct coverage_node n = make_node();
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_looked(&t, "a", "cpu", v, 1, &n, true));
	expect_values(&t, (double[]){ 1 / 30.0 }, 1);
	timeline_fini(&t);
	/* From 30 s to 40 s, nobody has looked. */
	cr_assert(!timeline_init(&t, &fine, &err));
	cr_expect(!add_looked(&t, "a", "cpu", v, 1, &n, true));
	expect_values(&t, (double[]){ 0, 0.1, 0, UNKNOWN, 0, 0 }, 6);
	cr_assert(t.groups.v[0].lines.v[0].covered[2] == 1);
	cr_expect(t.groups.v[0].lines.v[0].covered[3] == 0);
	timeline_fini(&t);
	vec_fini(&n.spans);
}

/* They are from before an upgrade. */
Test(timeline, data_without_heartbeats_are_shown_as_those_of_other_series)
{
	const struct timeline_options o = { .from = -60 * SECOND,
					    .to = 20 * SECOND,
					    .step_ms = 20 * SECOND,
					    .rate = true };
	struct timeline_options filled = o;
	const struct point v[] = { { -50 * SECOND, 10, 5 * SECOND_NS },
				   { -10 * SECOND, 10, 5 * SECOND_NS },
				   { 10 * SECOND, 20, 10 * SECOND_NS } };
	struct coverage_node n = make_node();
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_looked(&t, "a", "cpu", v, 3, &n, true));
	expect_values(&t, (double[]){ 2, UNKNOWN, 2, 1 }, 4);
	timeline_fini(&t);
	/* They hold until the first heartbeat, and no longer. */
	filled.fill_ms = 60 * SECOND;
	cr_assert(!timeline_init(&t, &filled, &err));
	cr_expect(!add_looked(&t, "a", "cpu", v, 3, &n, true));
	expect_values(&t, (double[]){ 2, 2, 2, 1 }, 4);
	timeline_fini(&t);
	vec_fini(&n.spans);
}

Test(timeline, profiles_of_intervals_without_a_heartbeat_do_not_count)
{
	const struct timeline_options o = { .from = -20 * SECOND,
					    .to = 60 * SECOND,
					    .step_ms = 20 * SECOND,
					    .rate = true };
	/* The second one is older than all heartbeats. */
	const struct point v[] = { { -20 * SECOND, 40, 10 * SECOND_NS },
				   { 0, 20, 10 * SECOND_NS },
				   { 30 * SECOND, 90, 10 * SECOND_NS },
				   { 40 * SECOND, 10, 10 * SECOND_NS } };
	struct coverage_node n = make_node();
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_looked(&t, "a", "cpu", v, 4, &n, true));
	expect_values(&t, (double[]){ 4, 1, 0, 0.5 }, 4);
	/* Half of the third step is known, and half of the first one. */
	cr_assert(t.groups.v[0].lines.v[0].covered[2] == 0.5);
	cr_expect(t.groups.v[0].lines.v[0].covered[0] == 0.5);
	timeline_fini(&t);
	vec_fini(&n.spans);
}

Test(timeline, the_last_interval_holds_while_the_next_one_is_on_its_way)
{
	struct timeline_options o = { .from = 40 * SECOND,
				      .to = 80 * SECOND,
				      .step_ms = 10 * SECOND,
				      .rate = true,
				      .fill_ms = 60 * SECOND };
	const struct point v[] = { { 40 * SECOND, 10, 10 * SECOND_NS },
				   { 50 * SECOND, 20, 10 * SECOND_NS } };
	struct coverage_node n = make_node();
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_looked(&t, "a", "cpu", v, 2, &n, true));
	expect_values(&t, (double[]){ 1, 2, 2, 2 }, 4);
	timeline_fini(&t);
	/* A program that was idle in the last interval is so still. */
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_looked(&t, "a", "cpu", v, 1, &n, true));
	expect_values(&t, (double[]){ 1, 0, 0, 0 }, 4);
	timeline_fini(&t);
	/* Two intervals are missing. */
	o.to = 90 * SECOND;
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_looked(&t, "a", "cpu", v, 2, &n, true));
	expect_values(&t, (double[]){ 1, 2, UNKNOWN, UNKNOWN, UNKNOWN }, 5);
	timeline_fini(&t);
	vec_fini(&n.spans);
}

/* Sums do not ask how long somebody has looked. */
Test(timeline, heartbeats_change_rates_alone)
{
	const struct timeline_options o = { .from = 0,
					    .to = 60 * SECOND,
					    .step_ms = 30 * SECOND };
	const struct point v[] = { { 10 * SECOND, 1, 10 * SECOND_NS },
				   { 30 * SECOND, 5, 10 * SECOND_NS } };
	struct coverage_node n = make_node();
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_looked(&t, "a", "cpu", v, 2, &n, true));
	expect_values(&t, (double[]){ 1, 5 }, 2);
	timeline_fini(&t);
	vec_fini(&n.spans);
}

Test(timeline, series_that_end_before_the_range_are_left_out)
{
	const struct timeline_options o = { .from = 100 * SECOND,
					    .to = 160 * SECOND,
					    .step_ms = 10 * SECOND,
					    .rate = true,
					    .fill_ms = 60 * SECOND };
	/* It ended at 60 s, well within `fill` before the range. */
	const struct point v[] = { { 40 * SECOND, 10, 10 * SECOND_NS },
				   { 50 * SECOND, 20, 10 * SECOND_NS } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", v, 2, true));
	cr_expect(!t.groups.count);
	timeline_fini(&t);
}

Test(timeline, the_increase_of_a_counter_belongs_to_all_steps_of_its_time)
{
	const struct timeline_options o = { .from = 0,
					    .to = 50 * SECOND,
					    .step_ms = 10 * SECOND,
					    .group_by = str_of("job"),
					    .rate = true,
					    .fill_ms = 60 * SECOND };
	const struct point v[] = { { 0, 100, 0 },
				   { 20 * SECOND, 140, 0 },
				   { 40 * SECOND, 180, 0 } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "alloc_space", v, 3, true));
	expect_values(&t, (double[]){ 2, 2, 2, 2, 2 }, 5);
	timeline_fini(&t);
}

Test(timeline, states_are_averaged_in_a_step_and_summed_over_series)
{
	const struct timeline_options o = { .from = 0,
					    .to = 20 * SECOND,
					    .step_ms = 10 * SECOND,
					    .group_by = str_of("job") };
	const struct point v[] = { { 1 * SECOND, 10, 0 },
				   { 2 * SECOND, 30, 0 },
				   { 11 * SECOND, 5, 0 } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "inuse_space", v, 3, true));
	expect_values(&t, (double[]){ 20, 5 }, 2);
	cr_expect(!add_series(&t, "b", "inuse_space", v, 3, true));
	expect_values(&t, (double[]){ 40, 10 }, 2);
	cr_expect(t.groups.v[0].lines.v[0].kind == KIND_STATE);
	timeline_fini(&t);
}

Test(timeline, counters_increase_from_first_profile_and_each_restart)
{
	const struct timeline_options o = { .from = 0,
					    .to = 40 * SECOND,
					    .step_ms = 10 * SECOND,
					    .group_by = str_of("job") };
	/*
	 * The 100 may be from before the first step, so that they do not count.
	 * The counter restarted before it was 5.
	 */
	const struct point v[] = { { 1 * SECOND, 100, 0 },
				   { 11 * SECOND, 130, 0 },
				   { 21 * SECOND, 5, 0 },
				   { 31 * SECOND, 9, 0 } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "alloc_space", v, 4, true));
	expect_values(&t, (double[]){ 0, 30, 5, 4 }, 4);
	cr_expect(t.groups.v[0].lines.v[0].kind == KIND_COUNTER);
	timeline_fini(&t);
}

Test(timeline, profile_at_the_end_belongs_to_the_last_step)
{
	const struct timeline_options o = { .from = 0,
					    .to = 20 * SECOND,
					    .step_ms = 10 * SECOND,
					    .group_by = str_of("job") };
	const struct point v[] = { { 0, 1, SECOND_NS },
				   { 20 * SECOND, 2, SECOND_NS } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", v, 2, true));
	expect_values(&t, (double[]){ 1, 2 }, 2);
	timeline_fini(&t);
}

Test(timeline, series_are_grouped_by_the_given_labels)
{
	static const char *const by[] = { "", "pod", "job", "job,pod", "none" };
	static const size_t want[] = { 2, 2, 1, 2, 1 };
	const struct point v[] = { { 1 * SECOND, 1, SECOND_NS } };

	for (size_t i = 0; i < ARRAY_SIZE(by); i++) {
		const struct timeline_options o = { .to = 10 * SECOND,
						    .step_ms = SECOND,
						    .group_by = str_of(by[i]) };
		struct timeline t;
		struct err err;

		cr_assert(!timeline_init(&t, &o, &err));
		cr_expect(!add_series(&t, "a", "cpu", v, 1, true));
		cr_expect(!add_series(&t, "b", "cpu", v, 1, true));
		cr_expect(t.groups.count == want[i], "by \"%s\": %zu", by[i],
			  t.groups.count);
		timeline_fini(&t);
	}
}

Test(timeline, refused_memory_prevents_new_groups)
{
	const struct timeline_options o = { .to = 10 * SECOND,
					    .step_ms = 10 * SECOND };
	const struct point v[] = { { 1 * SECOND, 1, SECOND_NS } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", v, 1, true));
	cr_expect(!add_series(&t, "b", "cpu", v, 1, false));
	cr_expect(!add_series(&t, "a", "cpu", v, 1, false));
	expect_values(&t, (double[]){ 2 }, 1);
	timeline_fini(&t);
}

Test(timeline, step_and_number_of_points_are_limited)
{
	static const struct {
		int64_t from;
		int64_t to;
		int64_t step_ms;
		bool good;
	} cases[] = {
		{ 0, 10, 0, false },
		{ 0, 10, -1, false },
		{ 0, 10999, 1, true },
		{ 0, 11000, 1, false },
		{ INT64_MIN, INT64_MAX, 1, false },
		{ INT64_MIN, INT64_MAX, INT64_MAX, true },
		{ 5, 5, 1, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct timeline_options o = {
			.from = cases[i].from,
			.to = cases[i].to,
			.step_ms = cases[i].step_ms,
		};
		struct timeline t = { 0 };
		struct err err = { 0 };
		int rc = timeline_init(&t, &o, &err);

		cr_expect(rc == (cases[i].good ? 0 : ERR_INVALID), "case %zu",
			  i);
		cr_expect(rc || t.steps.count > 0);
		timeline_fini(&t);
	}
}

Test(timeline, a_damaged_type_set_is_an_error)
{
	const struct timeline_options o = { .to = 10 * SECOND,
					    .step_ms = SECOND };
	const struct totals_row row = { .ms = 1 };
	const int64_t total = 1;
	const struct bytes bad = { (const uint8_t *)"\xff\xff\xff", 3 };
	const struct totals_view view = { .rows = &row,
					  .count = 1,
					  .totals = &total,
					  .typesets = &bad,
					  .typeset_count = 1 };
	struct labels *ls = make_labels("app", "a");
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(timeline_add(&t, ls, &view, NULL, true, &err) == ERR_CORRUPT);
	labels_unref(ls);
	timeline_fini(&t);
}

/* Limits that grant some memory, and some questions without memory. */
struct allowance {
	size_t bytes;
	size_t asked;     /* number of questions */
	size_t questions; /* number of questions that are granted */
};

static int allow(void *ctx, size_t bytes, struct err *err)
{
	struct allowance *a = ctx;

	a->asked++;
	if (a->asked > a->questions)
		return err_set(err, ERR_TIMEOUT, "late");
	if (bytes > a->bytes)
		return err_set(err, ERR_LIMIT, "no memory");
	a->bytes -= bytes;
	return 0;
}

/*
 * Adds a series of n profiles, each of which has `types` sample types. Profile
 * i has the names of the profile i % sets.
 */
static int add_many_types(struct timeline *t, size_t n, size_t types,
			  size_t sets)
{
	struct totals_row *rows = mem_zalloc(n, sizeof(*rows));
	int64_t *totals = mem_zalloc(n * types, sizeof(*totals));
	struct buf *encoded = mem_zalloc(sets, sizeof(*encoded));
	struct bytes *views = mem_zalloc(sets, sizeof(*views));
	struct typeset *set = mem_new(struct typeset);
	struct arena names = { 0 };
	struct labels *ls = make_labels("app", "a");
	struct totals_view view = { .rows = rows,
				    .count = n,
				    .totals = totals,
				    .typesets = views,
				    .typeset_count = sets };
	struct err err = { 0 };
	int rc;

	set->count = types;
	for (size_t s = 0; s < sets; s++) {
		for (size_t k = 0; k < types; k++)
			set->types[k] = (struct value_type){
				str_of(arena_printf(&names, "%zu", s)),
				str_of(arena_printf(&names, "%zu", k))
			};
		typeset_encode(set, &encoded[s]);
		views[s] = buf_bytes(&encoded[s]);
	}
	for (size_t i = 0; i < n; i++)
		rows[i] = (struct totals_row){
			.ms = (int64_t)i,
			.first = (uint32_t)(i * types),
			.typeset = (uint32_t)(i % sets),
		};
	rc = timeline_add(t, ls, &view, NULL, true, &err);
	for (size_t s = 0; s < sets; s++)
		buf_fini(&encoded[s]);
	labels_unref(ls);
	arena_fini(&names);
	mem_free(set);
	mem_free(views);
	mem_free(encoded);
	mem_free(totals);
	mem_free(rows);
	return rc;
}

/* Linear searches through these lines would take minutes. */
Test(timeline, many_sample_types_are_found_quickly)
{
	const struct timeline_options o = { .to = 10 * SECOND,
					    .step_ms = 10 * SECOND };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_many_types(&t, 3000, 256, 1000));
	cr_assert(t.groups.count == 1);
	cr_expect(t.groups.v[0].lines.count == 256 * 1000);
	timeline_fini(&t);
}

Test(timeline, memory_is_asked_for_before_each_line)
{
	struct allowance a = { .bytes = 4 << 20, .questions = SIZE_MAX };
	const struct timeline_options o = { .to = 10 * SECOND,
					    .step_ms = 1,
					    .limits = { allow, &a } };
	struct timeline t;
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(add_many_types(&t, 1, 256, 1) == ERR_LIMIT);
	/* Each line takes 290 kB. */
	cr_assert(t.groups.count == 1);
	cr_expect(t.groups.v[0].lines.count <= 15, "%zu",
		  t.groups.v[0].lines.count);
	timeline_fini(&t);
}

Test(timeline, the_deadline_is_checked_within_a_series_and_in_the_result)
{
	struct allowance a = { .questions = 2 };
	const struct timeline_options o = { .to = 10 * SECOND,
					    .step_ms = 1,
					    .limits = { allow, &a } };
	const struct point one = { 1, 1, SECOND_NS };
	struct timeline t;
	struct buf out = { 0 };
	struct json j = json_init(&out);
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	a.bytes = SIZE_MAX;
	cr_expect(add_many_types(&t, 3 * LIMITS_WORK, 1, 1) == ERR_TIMEOUT);
	timeline_fini(&t);
	a = (struct allowance){ .bytes = SIZE_MAX, .questions = SIZE_MAX };
	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "a", "cpu", &one, 1, true));
	a.questions = a.asked;
	cr_expect(timeline_json(&t, &j, &err) == ERR_TIMEOUT);
	buf_fini(&out);
	timeline_fini(&t);
}

Test(timeline, result_is_sorted_by_labels)
{
	const struct timeline_options o = { .to = 10 * SECOND,
					    .step_ms = 10 * SECOND,
					    .group_by = str_of("pod") };
	const struct point v[] = { { 1 * SECOND, 1, SECOND_NS } };
	struct timeline t;
	struct buf out = { 0 };
	struct json j = json_init(&out);
	struct err err;

	cr_assert(!timeline_init(&t, &o, &err));
	cr_expect(!add_series(&t, "b", "cpu", v, 1, true));
	cr_expect(!add_series(&t, "a", "cpu", v, 1, true));
	cr_expect(!timeline_json(&t, &j, &err));
	cr_expect(check_str(
		str_from(buf_bytes(&out)),
		"[{\"labels\":{\"pod\":\"a\"},\"timestamps\":[0],"
		"\"totals\":{\"cpu/unit\":[1]},\"kinds\":{\"cpu/unit\":\"flow\"}},"
		"{\"labels\":{\"pod\":\"b\"},\"timestamps\":[0],"
		"\"totals\":{\"cpu/unit\":[1]},\"kinds\":{\"cpu/unit\":\"flow\"}}]"));
	buf_fini(&out);
	timeline_fini(&t);
}
