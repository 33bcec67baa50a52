/* SPDX-License-Identifier: Apache-2.0 */
/* Which profile of a step stands for it, and what the value of a profile is. */
#include "pyroscope/answer/point_exemplars.h"

#include "tests/pyroscope/series_view.h"

TestSuite(point_exemplars, .timeout = 30);

static int spend(void *ctx, size_t bytes, struct err *err)
{
	size_t *most = ctx;

	return bytes <= *most ? 0 : err_set(err, ERR_LIMIT, "no memory");
}

/* The exemplars of one series, as "step:time=value …". */
static char *told(const char *type, const struct series_profile *v,
		  const bool *restarts)
{
	const struct time_steps steps = time_steps_of(1000, 3999, 1000);
	size_t most = SIZE_MAX;
	const struct limits limits = { .spend = spend, .ctx = &most };
	struct labels *ls = series_view_labels("a");
	struct point_exemplars e;
	struct series_view s;
	struct buf out = { 0 };

	series_view_init(&s, type, v);
	s.view.restarts = restarts;
	point_exemplars_init(&e, &limits, &steps);
	cr_assert(!point_exemplars_add(&e, ls, ls, &s.view, &s.type, NULL));
	for (size_t i = 0; i < steps.count; i++) {
		const struct point_exemplar *x =
			point_exemplars_find(&e, ls, i);

		if (x)
			buf_printf(&out, "%s%zu:%lld=%lld", out.len ? " " : "",
				   i, (long long)x->profile.ms,
				   (long long)x->profile.value);
	}
	point_exemplars_fini(&e);
	series_view_fini(&s);
	labels_unref(ls);
	(void)buf_cstr(&out);
	return (char *)out.ptr;
}

Test(point_exemplars, the_largest_profile_of_a_step_is_it)
{
	static const bool restarts[] = { false, false, false, true, false };
	static const struct {
		const char *name;
		const char *type;
		struct series_profile v[SERIES_VIEW_MAX];
		const bool *restarts;
		const char *want;
	} cases[] = {
		{ "flows",
		  "cpu",
		  { { 1000, 3, 10 },
		    { 1500, 7, 10 },
		    { 1600, 5, 10 },
		    { 3999, 1, 10 } },
		  NULL,
		  "0:1500=7 2:3999=1" },
		{ "the first of equal ones",
		  "cpu",
		  { { 1000, 3, 10 }, { 1500, 3, 10 } },
		  NULL,
		  "0:1000=3" },
		{ "outside of the range, and nothing at all",
		  "cpu",
		  { { 999, 3, 10 }, { 1500, 0, 10 }, { 4000, 9, 10 } },
		  NULL,
		  "" },
		{ "states",
		  "inuse_space",
		  { { 1000, 9, 0 }, { 1500, 4, 0 }, { 2500, 4, 0 } },
		  NULL,
		  "0:1000=9 1:2500=4" },
		{ "the growth of a counter, also since before the range",
		  "alloc_space",
		  { { 900, 10, 0 },
		    { 1100, 14, 0 },
		    { 1200, 16, 0 },
		    { 2100, 5, 0 },
		    { 3100, 5, 0 } },
		  NULL,
		  "0:1100=4 1:2100=5" },
		{ "the first of a counter is not known",
		  "alloc_space",
		  { { 1100, 14, 0 }, { 2100, 15, 0 } },
		  NULL,
		  "1:2100=1" },
		{ "restarts that are told",
		  "alloc_space",
		  { { 900, 10, 0 },
		    { 1100, 14, 0 },
		    { 2100, 16, 0 },
		    { 3100, 20, 0 },
		    { 3200, 21, 0 } },
		  restarts,
		  "0:1100=4 1:2100=2 2:3100=20" },
		{ "increments",
		  "alloc_space",
		  { { 1100, 14, 50 } },
		  NULL,
		  "0:1100=14" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *got = told(cases[i].type, cases[i].v, cases[i].restarts);

		cr_expect(!strcmp(got ? got : "", cases[i].want),
			  "%s: \"%s\", want \"%s\"", cases[i].name, got,
			  cases[i].want);
		mem_free(got);
	}
}

Test(point_exemplars, groups_have_their_own_and_know_the_series)
{
	const struct time_steps steps = time_steps_of(1000, 1999, 1000);
	const struct series_profile small[] = { { 1000, 3, 10 }, { 0 } };
	const struct series_profile large[] = { { 1100, 4, 10 }, { 0 } };
	size_t most = SIZE_MAX;
	const struct limits limits = { .spend = spend, .ctx = &most };
	struct labels *group = series_view_labels("both");
	struct labels *other = series_view_labels("other");
	struct labels *series[] = { series_view_labels("a"),
				    series_view_labels("b") };
	struct point_exemplars e;
	struct series_view s[2];

	series_view_init(&s[0], "cpu", small);
	series_view_init(&s[1], "cpu", large);
	point_exemplars_init(&e, &limits, &steps);
	for (int i = 0; i < 2; i++)
		cr_assert(!point_exemplars_add(&e, group, series[i], &s[i].view,
					       &s[i].type, NULL));
	cr_assert(!point_exemplars_add(&e, other, series[0], &s[0].view,
				       &s[0].type, NULL));
	cr_expect(point_exemplars_find(&e, group, 0)->series == series[1]);
	cr_expect(point_exemplars_find(&e, other, 0)->series == series[0]);
	/* Of another sample type, the series has none. */
	s[0].type.type = str_of("wall");
	cr_assert(!point_exemplars_add(&e, series[0], series[0], &s[0].view,
				       &s[0].type, NULL));
	cr_expect(!point_exemplars_find(&e, series[0], 0));
	point_exemplars_fini(&e);
	for (int i = 0; i < 2; i++) {
		series_view_fini(&s[i]);
		labels_unref(series[i]);
	}
	labels_unref(group);
	labels_unref(other);
}

Test(point_exemplars, memory_is_asked_for)
{
	const struct time_steps steps = time_steps_of(1, 100000, 1);
	size_t most = 1000;
	const struct limits limits = { .spend = spend, .ctx = &most };
	struct labels *ls = series_view_labels("a");
	struct point_exemplars e;
	int rc = 0;

	point_exemplars_init(&e, &limits, &steps);
	for (int64_t ms = 1; ms <= 100000 && !rc; ms++) {
		const struct series_profile v[] = { { ms, 1, 1 }, { 0 } };
		struct series_view s;

		series_view_init(&s, "cpu", v);
		rc = point_exemplars_add(&e, ls, ls, &s.view, &s.type, NULL);
		series_view_fini(&s);
	}
	cr_expect(rc == ERR_LIMIT);
	point_exemplars_fini(&e);
	labels_unref(ls);
}
