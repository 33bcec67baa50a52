/* SPDX-License-Identifier: Apache-2.0 */
/* Which series a profile type and a selector of Grafana select. */
#include "pyroscope/names/profile_query.h"

#include "tests/check.h"

#define CPU "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

/* Series, by a letter each; see labels_of(). */
static const struct {
	char letter;
	const char *labels;
} series[] = {
	{ 'a', "__name__=profile job=app pod=1" },
	{ 'b', "__name__=process_cpu job=shop service_name=shop pod=2" },
	{ 'c', "__name__=process_cpu job=ebpf exe=app" },
	{ 'd', "__name__=heap job=app pod=1" },
	{ 'e', "__name__=process_cpu job=ebpf systemd_unit=app.service" },
	{ 'f', "__name__=profile job=app service_name=other" },
};

static struct labels *labels_of(const char *text)
{
	struct labels_builder b = { 0 };
	struct str rest = str_of(text);
	struct labels *ls;

	while (rest.len) {
		struct str value = str_cut(rest, ' ', &rest);
		struct str name = str_cut(value, '=', &value);

		labels_set(&b, name, value);
	}
	cr_assert(!labels_build(&b, &ls, NULL));
	labels_builder_fini(&b);
	return ls;
}

/* Whether the database would find a series, and the predicate keep it. */
static bool selects(struct profile_query *q, const struct labels *ls)
{
	bool found = false;

	for (size_t i = 0; i < q->any_count; i++)
		found |= matchers_match(q->any[i].v, q->any[i].count, ls);
	return found && profile_query_keep(q, ls) && !q->is_empty;
}

/* Samples may have the labels "pod" and "span_id". */
static bool may_have(void *ctx UNUSED, struct str name)
{
	return str_is(name, "pod") || str_is(name, "span_id");
}

static const struct sample_label_test pods = { may_have, NULL };

/* Samples have no labels. */
static bool may_not_have(void *ctx UNUSED, struct str name UNUSED)
{
	return false;
}

static const struct sample_label_test no_labels = { may_not_have, NULL };

static void expect_by(const struct sample_label_test *samples, const char *id,
		      const char *selector, const char *want)
{
	struct profile_query q;
	struct err err = { .msg = "" };
	char got[ARRAY_SIZE(series) + 1];
	size_t n = 0;

	cr_assert(!profile_query_parse(&q, samples, str_of(id),
				       str_of(selector), &err),
		  "%s: %s", selector, err.msg);
	for (size_t i = 0; i < ARRAY_SIZE(series); i++) {
		struct labels *ls = labels_of(series[i].labels);

		if (selects(&q, ls))
			got[n++] = series[i].letter;
		labels_unref(ls);
	}
	got[n] = 0;
	cr_expect(!strcmp(got, want), "%s %s: %s, not %s", id, selector, got,
		  want);
	profile_query_fini(&q);
}

static void expect_selected(const char *id, const char *selector,
			    const char *want)
{
	expect_by(&no_labels, id, selector, want);
}

Test(profile_query, a_label_that_samples_may_have_selects_series_without_it)
{
	struct profile_query q;
	struct err err = { .msg = "" };

	expect_by(&pods, CPU, "{pod=\"1\"}", "acef");
	expect_by(&pods, CPU, "{pod=~\"1|2\",job=\"ebpf\"}", "ce");
	expect_by(&pods, CPU, "{pod!=\"1\"}", "bcef");
	expect_by(&pods, CPU, "{pod!=\"\"}", "abcef");
	expect_by(&no_labels, CPU, "{pod!=\"\"}", "ab");
	/* Ids are no labels of series, and services have their own rules. */
	expect_by(&pods, CPU, "{span_id=\"1\"}", "");
	expect_by(&pods, CPU, "{service_name=\"shop\"}", "b");
	cr_assert(!profile_query_parse(
		&q, &pods, str_of(CPU),
		str_of("{pod=\"1\",job=\"app\",span_id=\"\"}"), &err));
	cr_assert(q.sample_count == 1);
	cr_expect(str_is(q.sample_matchers[0].name, "pod"));
	cr_expect(!matcher_matches(&q.sample_matchers[0], str_of("")));
	profile_query_fini(&q);
}

Test(profile_query, a_type_selects_all_names_of_its_profiles)
{
	expect_selected(CPU, "", "abcef");
	expect_selected(CPU, "{}", "abcef");
	expect_selected("", "{__profile_type__=\"" CPU "\"}", "abcef");
	expect_selected("", CPU "{pod=\"1\"}", "a");
	expect_selected("", "{__name__=\"" CPU "\"}", "abcef");
	expect_selected("profile:cpu:nanoseconds:cpu:nanoseconds", "", "af");
	expect_selected("memory:inuse_space:bytes:space:bytes", "", "d");
	expect_selected("", "", "abcdef");
}

Test(profile_query, a_service_is_found_wherever_it_is)
{
	expect_selected(CPU, "{service_name=\"app\"}", "ace");
	expect_selected(CPU, "{service_name=\"shop\"}", "b");
	expect_selected(CPU, "{__service_name__=\"other\"}", "f");
	expect_selected(CPU, "{service_name=~\"a.*|o.*\"}", "acef");
	expect_selected(CPU, "{service_name!=\"app\"}", "bf");
	expect_selected(CPU, "{service_name!~\"app|shop\"}", "f");
	expect_selected(CPU, "{service_name=\"app\",pod=\"1\"}", "a");
	expect_selected(CPU, "{service_name=\"app\",service_name=\"shop\"}",
			"");
	expect_selected("", "{service_name=\"app\"}", "acde");
}

Test(profile_query, names_are_shown_or_stored_ones)
{
	expect_selected("", "{__name__=\"process_cpu\"}", "abcef");
	expect_selected("", "{__name__=\"profile\"}", "af");
	expect_selected("", "{__name__=~\"mem.*\"}", "d");
	expect_selected("", "{__name__!=\"memory\"}", "abcef");
	expect_selected("", "{__name__!=\"heap\"}", "abcef");
	expect_selected("", "{__name__!~\"process.*\"}", "d");
	expect_selected(CPU, "{__name__=\"memory\"}", "");
}

Test(profile_query, two_types_select_nothing)
{
	expect_selected(CPU,
			"{__profile_type__=\"memory:inuse_space:bytes:space:"
			"bytes\"}",
			"");
	expect_selected(CPU, "{__profile_type__=\"" CPU "\"}", "abcef");
}

Test(profile_query, parts_of_the_type_must_be_those_of_it)
{
	expect_selected(CPU, "{__type__=\"cpu\",__unit__=~\"nano.*\"}",
			"abcef");
	expect_selected(CPU, "{__type__=\"cpu\",__unit__=\"x\"}", "");
	expect_selected(CPU, "{__period_unit__!=\"nanoseconds\"}", "");
}

Test(profile_query, what_is_wrong_is_named)
{
	static const struct {
		const char *id;
		const char *selector;
		int code;
		const char *why;
	} cases[] = {
		{ "cpu", "", ERR_INVALID, "profile type \"cpu\"" },
		{ "", "{a=}", ERR_INVALID, "label selector: 1:" },
		{ "", "{a=~\"(\"}", ERR_INVALID, "label selector" },
		{ "", "{__profile_type__=~\"a.*\"}", ERR_UNSUPPORTED,
		  "__profile_type__" },
		{ "", "{__unit__=\"x\"}", ERR_UNSUPPORTED, "__unit__" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile_query q;
		struct err err = { .msg = "" };

		cr_expect(profile_query_parse(&q, &pods, str_of(cases[i].id),
					      str_of(cases[i].selector),
					      &err) == cases[i].code);
		cr_expect(strstr(err.msg, cases[i].why), "%s", err.msg);
		profile_query_fini(&q);
	}
}
