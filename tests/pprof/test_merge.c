/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles are merged as by profile.Merge of google/pprof: which objects of two
 * profiles are equal, and what becomes of headers, units, labels and
 * differences. Also tests the operations on one profile that merging relies on.
 */
#include "pprof/merge/aggregate.h"
#include "tests/pprof/sketch.h"

TestSuite(merge_units, .timeout = 30);
TestSuite(profile, .timeout = 30);

static int add_raw(struct merge *m, struct pprof raw, const enum merge_op *ops,
		   struct err *err)
{
	int rc = merge_add(m, &raw, ops, err);

	pprof_fini(&raw);
	return rc;
}

static int add(struct merge *m, const char *types, const char *lines,
	       struct err *err)
{
	return add_raw(m, sketch_raw(types, lines), NULL, err);
}

Test(merge_units, equal_samples_are_one_in_the_order_of_their_first)
{
	struct merge *m = merge_new();
	struct pprof *p;

	cr_assert(!add(m, "n/count", "a;b 1\nc 2\na;b 4\n", NULL));
	cr_assert(!add(m, "n/count", "d 8\nc 16\na;b 32 x=y\n", NULL));
	p = merge_finish(m);
	cr_expect(sketch_is(p, "merged", "a;b 5\nc 18\nd 8\na;b 32 x=y\n"));
	cr_assert(p->stacks.count == 3);
	cr_expect(p->label_sets.count == 2);
	cr_assert(p->locations.count == 4);
	cr_expect(p->functions.count == 4);
	cr_expect(merge_count(m) == 2);
	merge_free(m);
}

Test(merge_units, the_order_of_labels_does_not_matter)
{
	struct merge *m = merge_new();

	cr_assert(!add(
		m, "n/count",
		"a 1 z=1 b=2 k#3ms\na 2 k#3ms b=2 z=1\n"
		/* Labels of one key keep the order of values. */
		"a 4 b=2 b=1\na 8 b=1 b=2\n"
		/* Labels differ by unit or number, and texts from numbers. */
		"a 16 k#3us\na 32 k#4ms\na 64 k=3ms\na 128 k#3ms\n",
		NULL));
	cr_expect(sketch_is(merge_finish(m), "labels",
			    "a 3 b=2 z=1 k#3ms\na 4 b=2 b=1\na 8 b=1 b=2\n"
			    "a 16 k#3us\na 32 k#4ms\na 64 k=3ms\n"
			    "a 128 k#3ms\n"));
	merge_free(m);
}

Test(merge_units, samples_without_values_are_left_out)
{
	static const enum merge_op second[] = { MERGE_SKIP, MERGE_ADD };
	struct merge *m = merge_new();
	struct pprof *p;

	cr_assert(!add_raw(m,
			   sketch_raw("n/count t/ns", "a 0 0\nb 0 1\nc 1 0\n"),
			   NULL, NULL));
	cr_expect(sketch_is(merge_finish(m), "zeros", "b 0 1\nc 1 0\n"));
	merge_free(m);
	/* A value of a type that is skipped does not keep a sample. */
	m = merge_new();
	cr_assert(!add_raw(m, sketch_raw("n/count t/ns", "a 5 0\nb 5 1\n"),
			   second, NULL));
	p = merge_finish(m);
	cr_expect(sketch_is(p, "skipped", "b 0 1\n"));
	cr_expect(p->locations.count == 1);
	merge_free(m);
}

Test(merge_units, a_sum_keeps_the_order_of_what_cancelled_out)
{
	struct merge *m = merge_new();
	struct pprof raw = sketch_raw("n/count", "a 0\nb 1\n");

	cr_assert(!merge_add_sum(m, &raw, NULL, NULL));
	pprof_fini(&raw);
	cr_assert(!add(m, "n/count", "c 1\na 2\n", NULL));
	cr_expect(sketch_is(merge_finish(m), "sums", "a 2\nb 1\nc 1\n"));
	merge_free(m);
	/* A sample that is still without a value at the end is removed. */
	m = merge_new();
	raw = sketch_raw("n/count", "a 0\nb 1\n");
	cr_assert(!merge_add_sum(m, &raw, NULL, NULL));
	pprof_fini(&raw);
	cr_expect(sketch_is(merge_finish(m), "sums", "b 1\n"));
	merge_free(m);
}

Test(merge_units, sums_wrap_as_in_go)
{
	struct merge *m = merge_new();

	cr_assert(!add(m, "n/count", "a 9223372036854775807\n", NULL));
	cr_assert(!add(m, "n/count", "a 2\n", NULL));
	cr_expect(sketch_is(merge_finish(m), "wrapped",
			    "a -9223372036854775807\n"));
	merge_free(m);
}

Test(merge_units, a_binary_is_one_wherever_it_was_loaded)
{
	static const struct {
		const char *name;
		struct pprof_mapping second; /* the first is 0x1000-0x3000 */
		const char *file;
		const char *build_id; /* of both mappings */
		bool same;
	} table[] = {
		{ "at another address",
		  { .start = 0x9000, .limit = 0xb000 },
		  "/bin/app",
		  "",
		  true },
		{ "the same number of pages",
		  { .start = 0x9000, .limit = 0xa001 },
		  "/bin/app",
		  "",
		  true },
		{ "a page more",
		  { .start = 0x9000, .limit = 0xb001 },
		  "/bin/app",
		  "",
		  false },
		{ "another offset",
		  { .start = 0x9000, .limit = 0xb000, .offset = 0x1000 },
		  "/bin/app",
		  "",
		  false },
		{ "another file",
		  { .start = 0x9000, .limit = 0xb000 },
		  "/bin/app2",
		  "",
		  false },
		{ "another file of one build",
		  { .start = 0x9000, .limit = 0xb000 },
		  "/bin/app2",
		  "id",
		  true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct merge *m = merge_new();
		struct pprof_mapping to = table[i].second;
		struct pprof a = sketch_raw("n/count", "[/bin/app]0x1010|f 1");
		struct pprof b = sketch_raw("n/count", "[/bin/app]0x0|f 1");
		struct pprof *p;

		a.mappings.v[0].start = 0x1000;
		a.mappings.v[0].limit = 0x3000;
		a.mappings.v[0].build_id =
			strtab_intern(&a.strings, str_of(table[i].build_id));
		to.file = strtab_intern(&b.strings, str_of(table[i].file));
		to.build_id =
			strtab_intern(&b.strings, str_of(table[i].build_id));
		b.mappings.v[0] = to;
		b.locations.v[0].address = to.start + 0x10;
		cr_assert(!add_raw(m, a, NULL, NULL));
		cr_assert(!add_raw(m, b, NULL, NULL));
		p = merge_finish(m);
		cr_expect(p->mappings.count == (table[i].same ? 1 : 2), "%s",
			  table[i].name);
		cr_expect(p->locations.count == p->mappings.count, "%s",
			  table[i].name);
		/* Addresses are those in the mapping of the first profile. */
		cr_expect(p->locations.v[0].address == 0x1010);
		cr_expect(table[i].same || p->locations.v[1].address == 0x9010);
		merge_free(m);
	}
}

Test(merge_units, the_first_mapping_is_the_program_even_if_unused)
{
	struct merge *m = merge_new();
	struct pprof raw = sketch_raw("n/count", "[/bin/app]0x1|f 0\n"
						 "[/lib/x]0x1|g 0\n"
						 "[/lib/c]0x1|h 1\n");
	struct pprof *p;

	cr_assert(!add_raw(m, raw, NULL, NULL));
	p = merge_finish(m);
	cr_assert(p->mappings.count == 2);
	cr_expect(check_str(pprof_str(p, p->mappings.v[0].file), "/bin/app"));
	cr_expect(check_str(pprof_str(p, p->mappings.v[1].file), "/lib/c"));
	merge_free(m);
}

Test(merge_units, frames_differ_by_all_that_a_profile_says_of_them)
{
	static const char *const lines[] = {
		"f@a.go:1:1",
		"f@a.go:2:1",
		"f@a.go:1:2",
		"f@b.go:1:1",
		"g@a.go:1:1",
		"0x10|f@a.go:1:1",
		"0x20|f@a.go:1:1",
		"f@a.go:1:1>f@a.go:1:1",
		"0x10",
	};
	struct merge *m = merge_new();
	struct buf all = { 0 };
	struct pprof *p;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		buf_printf(&all, "%s 1\n", lines[i]);
	cr_assert(!add(m, "n/count", buf_cstr(&all), NULL));
	cr_assert(!add(m, "n/count", buf_cstr(&all), NULL));
	p = merge_finish(m);
	cr_expect(p->locations.count == ARRAY_SIZE(lines));
	cr_expect(p->samples.count == ARRAY_SIZE(lines));
	/*
	 * The functions are f@a.go, the same with another start line, f@b.go,
	 * and g@a.go.
	 */
	cr_expect(p->functions.count == 4);
	buf_fini(&all);
	merge_free(m);
}

static struct pprof with_header(int64_t time, int64_t duration, int64_t period,
				const char *unit, const char *comment)
{
	struct pprof p = sketch_raw("n/count t/ns", "a 1 1\n");

	p.time_ns = time;
	p.duration_ns = duration;
	p.period = period;
	p.period_type.type = strtab_intern(&p.strings, str_of("cpu"));
	p.period_type.unit = strtab_intern(&p.strings, str_of(unit));
	*vec_add(&p.comments) = strtab_intern(&p.strings, str_of(comment));
	return p;
}

Test(merge_units, headers_are_combined_as_by_pprof)
{
	struct merge *m = merge_new();
	struct pprof a = with_header(500, 7, 10, "ms", "one");
	struct pprof b = with_header(300, 5, 20000, "us", "two");
	struct pprof c = with_header(400, 3, 1, "ms", "one");
	struct pprof *p;

	a.drop_frames = strtab_intern(&a.strings, str_of("drop"));
	b.keep_frames = strtab_intern(&b.strings, str_of("keep"));
	b.default_type = strtab_intern(&b.strings, str_of("t"));
	c.default_type = strtab_intern(&c.strings, str_of("n"));
	b.doc_url = strtab_intern(&b.strings, str_of("https://b"));
	c.doc_url = strtab_intern(&c.strings, str_of("https://c"));
	cr_assert(!add_raw(m, a, NULL, NULL));
	cr_assert(!add_raw(m, b, NULL, NULL));
	cr_assert(!add_raw(m, c, NULL, NULL));
	p = merge_finish(m);
	/*
	 * A merge has the earliest time, the sum of durations and the longest
	 * period.
	 */
	cr_assert(p->time_ns == 300);
	cr_expect(p->duration_ns == 15);
	cr_expect(p->period == 20000);
	cr_expect(check_str(pprof_str(p, p->period_type.unit), "us"));
	/*
	 * The frame expressions are those of the first profile, even if empty.
	 * Other texts are the first that is set.
	 */
	cr_expect(check_str(pprof_str(p, p->drop_frames), "drop"));
	cr_expect(check_str(pprof_str(p, p->keep_frames), ""));
	cr_expect(check_str(pprof_str(p, p->default_type), "t"));
	cr_expect(check_str(pprof_str(p, p->doc_url), "https://b"));
	cr_assert(p->comments.count == 2);
	cr_expect(check_str(pprof_str(p, p->comments.v[1]), "two"));
	merge_free(m);
}

Test(merge_units, what_does_not_agree_is_refused_and_nothing_added)
{
	static const struct {
		const char *types;
		const char *why;
	} table[] = {
		{ "n/count", "n/count" },
		{ "n/count t/ns x/y", "x/y" },
		{ "t/ns n/count", "t/ns n/count" },
		{ "n/count t/bytes", "t/bytes" },
		{ "n/count T/ns", "T/ns" },
		{ "n/sample t/ns", "n/sample" },
	};
	struct merge *m = merge_new();
	struct err err;

	cr_assert(!add(m, "n/count t/ns", "a 1 10\n", NULL));
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		cr_expect(add(m, table[i].types, "b 1 1 1\n", &err) ==
			  ERR_INVALID);
		cr_assert(strstr(err.msg, table[i].why), "%s", err.msg);
		cr_expect(strstr(err.msg, "n/count t/ns"), "%s", err.msg);
	}
	cr_expect(add_raw(m, with_header(1, 1, 1, "ms", ""), NULL, &err) ==
		  ERR_INVALID);
	cr_expect(strstr(err.msg, "cpu/ms"), "%s", err.msg);
	cr_expect(merge_count(m) == 1);
	cr_expect(sketch_is(merge_finish(m), "unchanged", "a 1 10\n"));
	merge_free(m);
}

Test(merge_units, values_are_converted_to_the_finest_unit)
{
	struct merge *m = merge_new();
	struct pprof *p;

	cr_assert(!add(m, "n/count t/seconds", "a 1 2\n", NULL));
	cr_assert(!add(m, "n/count t/ms", "a 1 5\nb 0 1\n", NULL));
	cr_assert(!add(m, "n/count t/s", "b 1 1\n", NULL));
	p = merge_finish(m);
	cr_expect(sketch_is(p, "units", "a 2 2005\nb 1 1001\n"));
	cr_expect(check_str(pprof_str(p, p->types.v[1].unit), "ms"));
	merge_free(m);
	/* Numbers beyond 2^53 are not passed through a double. */
	m = merge_new();
	cr_assert(!add(m, "t/ns", "a 9007199254740993\n", NULL));
	cr_assert(!add(m, "t/ns", "a 2\n", NULL));
	cr_expect(sketch_is(merge_finish(m), "large", "a 9007199254740995\n"));
	merge_free(m);
}

Test(merge_units, averages_are_rounded_half_away_from_zero)
{
	static const enum merge_op mixed[] = { MERGE_AVERAGE, MERGE_ADD };
	struct merge *m = merge_new();

	cr_assert(!add_raw(m,
			   sketch_raw("n/count t/ns", "a 1 1\nb -3 1\nc 3 1"),
			   mixed, NULL));
	cr_assert(!add_raw(m,
			   sketch_raw("n/count t/ns", "a 2 1\nb -2 1\nd 1 1"),
			   mixed, NULL));
	merge_average(m, 2);
	/*
	 * A second series. Its first mean, over no profiles, changes nothing,
	 * and neither does its last mean, as nothing is left to divide.
	 */
	cr_assert(!add_raw(m, sketch_raw("n/count t/ns", "a 7 1\ne 0 1"), mixed,
			   NULL));
	merge_average(m, 0);
	merge_average(m, 1);
	merge_average(m, 1);
	cr_expect(sketch_is(merge_finish(m), "averages",
			    "a 9 3\nb -3 2\nc 2 1\nd 1 1\ne 0 1\n"));
	merge_free(m);
}

Test(merge_units, averages_survive_a_finer_unit)
{
	static const enum merge_op mean[] = { MERGE_AVERAGE };
	struct merge *m = merge_new();

	cr_assert(!add_raw(m, sketch_raw("t/s", "a 3"), mean, NULL));
	cr_assert(!add_raw(m, sketch_raw("t/ms", "a 1000"), mean, NULL));
	merge_average(m, 2);
	cr_expect(sketch_is(merge_finish(m), "mean", "a 2000\n"));
	merge_free(m);
}

Test(merge_units, labels_of_a_series_are_put_on_its_samples)
{
	struct merge *m = merge_new();

	merge_label(m, str_of("pod"), str_of("a"));
	merge_label(m, str_of("zone"), str_of("eu"));
	/*
	 * A sample's own text label wins over the label of the series. A number
	 * label does not.
	 */
	cr_assert(!add(m, "n/count", "f 1\ng 2 pod=x\nh 4 pod#7\n", NULL));
	merge_no_labels(m);
	cr_assert(!add(m, "n/count", "f 8\n", NULL));
	merge_label(m, str_of("pod"), str_of("b"));
	cr_assert(!add(m, "n/count", "f 16\n", NULL));
	cr_expect(sketch_is(merge_finish(m), "labels",
			    "f 1 pod=a zone=eu\ng 2 pod=x zone=eu\n"
			    "h 4 pod=a zone=eu pod#7\nf 8\nf 16 pod=b\n"));
	merge_free(m);
}

/* A matcher of the label k. */
static struct matcher k_matcher(enum matcher_op op, const char *value)
{
	return (struct matcher){ .op = op,
				 .name = str_of("k"),
				 .value = str_of(value) };
}

Test(merge_units, matchers_of_labels_leave_samples_out)
{
	const struct matcher is_a[] = { k_matcher(MATCH_EQ, "a") };
	const struct matcher no_a[] = { k_matcher(MATCH_NE, "a") };
	const char *lines =
		"f 1 k=a\ng 2 k=b\nh 4\n"
		/* The first label of a key counts, and numbers do not. */
		"i 8 k=a k=b\nj 16 k=b k=a\nl 32 k#7\n";
	const struct limits limits = { 0 };
	struct merge *m = merge_new();

	merge_match(m, is_a, 1, &limits);
	cr_assert(!add(m, "n/count", lines, NULL));
	merge_match(m, no_a, 1, &limits);
	cr_assert(!add(m, "n/count", lines, NULL));
	merge_match(m, NULL, 0, &limits);
	cr_assert(!add(m, "n/count", "g 64 k=b\nf 128 k=a\n", NULL));
	cr_expect(sketch_is(merge_finish(m), "matched",
			    "f 129 k=a\ni 8 k=a k=b\ng 66 k=b\nh 4\n"
			    "j 16 k=b k=a\nl 32 k#7\n"));
	merge_free(m);
}

static int no_time(void *ctx UNUSED, size_t bytes UNUSED, struct err *err)
{
	return err_set(err, ERR_TIMEOUT, "no time");
}

Test(merge_units, matching_labels_asks_the_limits_and_adds_nothing_then)
{
	const struct matcher m1[] = { k_matcher(MATCH_EQ, "x") };
	const struct limits limits = { .spend = no_time };
	struct merge *m = merge_new();
	struct buf lines = { 0 };
	struct err err;

	for (int i = 0; i < 10000; i++)
		buf_printf(&lines, "f 1 k=%d\n", i);
	merge_match(m, m1, 1, &limits);
	cr_expect(add(m, "n/count", buf_cstr(&lines), &err) == ERR_TIMEOUT);
	cr_expect(merge_count(m) == 0);
	merge_free(m);
	buf_fini(&lines);
}

static void expect_diff(struct merge_diff_options o, const char *source,
			const char *base, const char *want)
{
	struct sketch s = sketch_init("n/count t/ns", source);
	struct sketch b = sketch_init("n/count t/ns", base);
	struct merge *m = merge_new();
	struct pprof *p;

	cr_assert(!merge_diff(m, s.p, b.p, &o, &p, NULL));
	cr_expect(sketch_is(p, "diff", want));
	merge_free(m);
	sketch_fini(&s);
	sketch_fini(&b);
}

Test(merge_units, a_difference_is_source_minus_base)
{
	struct merge_diff_options plain = { 0 };
	struct merge_diff_options label = { .label_base = true };
	struct merge_diff_options scale = { .normalize = true };
	struct merge_diff_options both = { .label_base = true,
					   .normalize = true };
	struct merge_diff_options factor = { .scale = 0.5 };

	expect_diff(plain, "a 5 50\nb 1 10\n", "a 2 20\nb 1 10\nc 3 30\n",
		    "a 3 30\nc -3 -30\n");
	expect_diff(label, "a 5 50\n", "a 5 50 x=y\n",
		    "a 5 50\na -5 -50 pprof::base=true x=y\n");
	/*
	 * The totals of the source, 8 and 80, become those of the base, 4 and
	 * 160. The factors are a half and two.
	 */
	expect_diff(scale, "a 5 50\nb 3 30\n", "a 4 160\n",
		    "a -1 -60\nb 2 60\n");
	expect_diff(both, "a 5 50\nb 3 30\n", "a 4 160\n",
		    "a 3 100\nb 2 60\na -4 -160 pprof::base=true\n");
	/* Each value is rounded. */
	expect_diff(factor, "a 4 50\nb 3 30\n", "a 1 20\n", "a 1 5\nb 2 15\n");
	/* A source without any weight cannot be scaled. */
	expect_diff(scale, "", "a 4 160\n", "a -4 -160\n");
}

Test(merge_units, profiles_of_different_types_have_no_difference)
{
	struct sketch s = sketch_init("n/count", "a 1\n");
	struct sketch b = sketch_init("n/count t/ns", "a 1 1\n");
	struct merge_diff_options o = { .normalize = true };
	struct merge *m = merge_new();
	struct pprof *p;
	struct err err;

	cr_expect(merge_diff(m, s.p, b.p, &o, &p, &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "t/ns") != NULL);
	merge_free(m);
	sketch_fini(&s);
	sketch_fini(&b);
}

Test(merge_units, an_empty_merge_has_an_empty_result)
{
	struct merge *m = merge_new();
	struct pprof *p = merge_finish(m);

	cr_assert(!p->samples.count);
	cr_assert(!p->types.count);
	cr_expect(!merge_count(m));
	merge_free(m);
	merge_free(NULL);
}

Test(merge_units, aggregates_have_names)
{
	static const char *const names[] = { "auto", "sum", "delta", "mean",
					     "last" };
	enum aggregate a = AGGREGATE_LAST;
	struct err err;

	cr_assert(!aggregate_parse(str_of(""), &a, NULL));
	cr_expect(a == AGGREGATE_AUTO);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		cr_assert(!aggregate_parse(str_of(names[i]), &a, NULL));
		cr_expect((size_t)a == i);
	}
	cr_expect(aggregate_parse(str_of("Sum"), &a, &err) == ERR_INVALID);
	cr_assert(strstr(err.msg, "\"Sum\""));
	cr_expect(strstr(err.msg, "delta"));
	cr_expect(!strcmp(value_kind_name(KIND_FLOW), "flow"));
	cr_expect(!strcmp(value_kind_name(KIND_COUNTER), "counter"));
	cr_expect(!strcmp(value_kind_name(KIND_STATE), "state"));
}

/* Operations on one profile. */

Test(profile, base_names_are_those_of_paths)
{
	static const struct {
		const char *path;
		const char *want;
	} table[] = {
		{ "/usr/bin/app", "app" },
		{ "app", "app" },
		{ "/usr/bin/", "bin" },
		{ "/usr/bin//", "bin" },
		{ "/", "/" },
		{ "//", "/" },
		{ "", "" },
		{ "a/", "a" },
		{ "/a", "a" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		cr_expect(check_str(pprof_base_name(str_of(table[i].path)),
				    table[i].want));
}

Test(profile, a_sample_type_is_found_by_name_or_number)
{
	static const struct {
		const char *name;
		const char *default_type;
		int want; /* -1: there is none */
	} table[] = {
		{ "", "", 2 },        { "", "b", 1 },
		{ "", "nothing", 2 }, { "a", "b", 0 },
		{ "2", "", 2 },       { "0", "b", 0 },
		{ "3", "", -1 },      { "-1", "", -1 },
		{ "A", "", -1 },      { "a/count", "", -1 },
		{ "inuse_a", "", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct pprof raw = sketch_raw("a/count b/count c/count", "");
		struct sketch s;
		struct err err;
		size_t index = 99;
		int rc;

		raw.default_type = strtab_intern(&raw.strings,
						 str_of(table[i].default_type));
		s = sketch_merged(raw);
		rc = pprof_type_index(s.p, str_of(table[i].name), &index, &err);
		cr_expect(rc == (table[i].want < 0 ? ERR_INVALID : 0), "%s",
			  table[i].name);
		cr_expect(rc || index == (size_t)table[i].want, "%s: %zu",
			  table[i].name, index);
		if (rc)
			cr_expect(strstr(err.msg, table[i].name) != NULL, "%s",
				  err.msg);
		sketch_fini(&s);
	}
}

Test(profile, values_are_scaled_and_rounded)
{
	static const struct {
		double ratios[2];
		const char *want;
	} table[] = {
		{ { 1, 1 }, "a 1 3\nb 0 5\nc -3 0\n" },
		{ { 0.5, 0.5 }, "a 1 2\nb 0 3\nc -2 0\n" },
		/* A value that is not scaled keeps its sample. */
		{ { 1, 0.1 }, "a 1 0\nb 0 1\nc -3 0\n" },
		{ { 1, 0 }, "a 1 0\nc -3 0\n" },
		{ { 0, 0 }, "" },
		{ { -1, -1 }, "a -1 -3\nb 0 -5\nc 3 0\n" },
		{ { 0.4, 1 }, "a 0 3\nb 0 5\nc -1 0\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct sketch s =
			sketch_init("n/count t/ns", "a 1 3\nb 0 5\nc -3 0\n");

		pprof_scale(s.p, table[i].ratios);
		cr_expect(sketch_is(s.p, "scaled", table[i].want));
		cr_expect(s.p->values.count == 2 * s.p->samples.count);
		sketch_fini(&s);
	}
}

Test(profile, samples_are_kept_by_stack_and_by_labels)
{
	static const bool stacks[] = { true, false, true };
	static const bool sets[] = { false, true };
	static const struct {
		const bool *stacks;
		const bool *sets;
		const char *want;
	} table[] = {
		{ NULL, NULL, "a 1\nb 2\nc 4 x=y\na 8 x=y\n" },
		{ stacks, NULL, "a 1\nc 4 x=y\na 8 x=y\n" },
		{ NULL, sets, "c 4 x=y\na 8 x=y\n" },
		{ stacks, sets, "c 4 x=y\na 8 x=y\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct sketch s =
			sketch_init("n/count", "a 1\nb 2\nc 4 x=y\na 8 x=y\n");

		pprof_keep(s.p, table[i].stacks, table[i].sets);
		cr_expect(sketch_is(s.p, "kept", table[i].want));
		sketch_fini(&s);
	}
}

Test(profile, a_label_is_set_on_every_sample)
{
	struct sketch s = sketch_init("n/count",
				      "a 1\nb 2 a=1 z=2 n#3\nc 4 m=x m=y\n"
				      "d 8 m#5\n");

	pprof_set_label(s.p, str_of("m"), str_of("v"));
	cr_expect(sketch_is(s.p, "set",
			    "a 1 m=v\nb 2 a=1 m=v z=2 n#3\nc 4 m=v\n"
			    "d 8 m=v m#5\n"));
	pprof_set_label(s.p, str_of("m"), str_of("w"));
	cr_expect(sketch_is(s.p, "set again",
			    "a 1 m=w\nb 2 a=1 m=w z=2 n#3\nc 4 m=w\n"
			    "d 8 m=w m#5\n"));
	sketch_fini(&s);
}

/* Two types of a profile, one of another, and a period of a third kind. */
Test(merge_units, one_type_of_profiles_with_different_types_is_merged)
{
	static const struct value_type cpu = { { "cpu", 3 },
					       { "nanoseconds", 11 } };
	static const struct value_type period = { { "", 0 }, { "", 0 } };
	struct merge *m = merge_new();
	struct pprof *p;

	merge_project(m, &cpu, &period);
	cr_assert(!add(m, "samples/count cpu/nanoseconds",
		       "a;b 1 10\nc 1 0\nd 0 5\n", NULL));
	cr_assert(!add(m, "cpu/nanoseconds", "a;b 30\ne 2\n", NULL));
	cr_assert(!add(m, "samples/count", "a;b 7\n", NULL));
	cr_assert(!add(m, "cpu/seconds", "a;b 7\n", NULL));
	cr_expect(merge_count(m) == 2, "%zu", merge_count(m));
	p = merge_finish(m);
	cr_expect(p->types.count == 1);
	cr_expect(sketch_is(p, "one type", "a;b 40\nd 5\ne 2\n"));
	merge_free(m);
}

Test(merge_units, one_type_is_found_by_its_name)
{
	struct merge *m = merge_new();
	struct err err;
	struct pprof *p;

	merge_project_name(m, str_of("cpu"));
	cr_assert(!add(m, "samples/count cpu/nanoseconds", "a;b 1 10\n", NULL));
	cr_assert(!add(m, "cpu/microseconds", "a;b 3\n", NULL));
	cr_assert(!add(m, "samples/count", "a;b 7\n", NULL));
	cr_expect(add(m, "cpu/bytes", "a;b 7\n", &err) == ERR_INVALID);
	cr_expect(merge_count(m) == 2, "%zu", merge_count(m));
	p = merge_finish(m);
	cr_expect(p->types.count == 1);
	cr_expect(sketch_is(p, "by name", "a;b 3010\n"));
	merge_free(m);
}

Test(merge_units, operations_are_those_of_the_type_that_is_merged)
{
	static const struct value_type cpu = { { "cpu", 3 },
					       { "nanoseconds", 11 } };
	static const struct value_type period = { { "", 0 }, { "", 0 } };
	static const enum merge_op ops[] = { MERGE_SKIP, MERGE_SUBTRACT };
	struct merge *m = merge_new();

	merge_project(m, &cpu, &period);
	cr_assert(!add_raw(
		m,
		sketch_raw("samples/count cpu/nanoseconds", "a 1 10\nb 1 3\n"),
		ops, NULL));
	cr_expect(sketch_is(merge_finish(m), "subtracted", "a -10\nb -3\n"));
	merge_free(m);
}
