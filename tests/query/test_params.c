/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a query, and which profiles they select. */
#include "base/clock.h"
#include "query/merge/report_request.h"
#include "query/select/params.h"
#include "query/select/query_spec.h"
#include "query/select/query_work.h"
#include "query/select/string_set.h"
#include "tests/check.h"

#define NOW_MS   1700000000000LL
#define MINUTE   60000LL
#define LIST_MAX 8

TestSuite(params, .timeout = 30);

/* A list of parameters, "name=value", ended by NULL. */
struct list {
	struct query_param v[LIST_MAX];
	struct params p;
};

static const struct params *list_of(struct list *l, const char *const *texts)
{
	*l = (struct list){ .p = { .v = l->v, .now_ms = NOW_MS } };
	for (; *texts; texts++) {
		struct query_param *p = &l->v[l->p.count++];

		p->name = str_cut(str_of(*texts), '=', &p->value);
	}
	return &l->p;
}

#define LIST(...) \
	list_of(&(struct list){ 0 }, (const char *const[]){ __VA_ARGS__, NULL })

Test(params, first_of_repeated_parameters_is_used)
{
	const struct params *p = LIST("a=1", "b=", "a=2");
	struct str s = { 0 };

	cr_assert(params_find(p, "a", &s));
	cr_expect(str_is(s, "1"));
	cr_assert(params_find(p, "b", &s));
	cr_expect(!s.len);
	cr_expect(!params_find(p, "c", &s));
}

Test(params, missing_or_empty_required_parameter_is_named)
{
	const struct params *p = LIST("query=", "other=x");
	struct str s;
	struct err err = { 0 };

	cr_expect(params_require(p, "query", &s, &err) == ERR_INVALID);
	cr_expect(check_str(str_of(err.msg), "parameter \"query\" is missing"));
	cr_expect(params_require(p, "none", &s, &err) == ERR_INVALID);
	cr_assert(!params_require(p, "other", &s, &err));
	cr_expect(str_is(s, "x"));
}

Test(params, times_are_milliseconds_seconds_or_relative)
{
	static const struct {
		const char *text;
		int64_t want; /* INT64_MIN: refused */
	} cases[] = {
		{ "t=1234", 1234 },
		{ "t=-5", -5 },
		{ "s=1234", 1234000 },
		{ "s=1.5", 1500 },
		{ "s=1e3", 1000000 },
		{ "t=now", NOW_MS },
		{ "s=now-1h", NOW_MS - 60 * MINUTE },
		{ "t=2023-11-14T22:13:20Z", NOW_MS },
		{ "x=", 77 },
		{ "t=", 77 },
		{ "t=12x", INT64_MIN },
		{ "s=1.5x", INT64_MIN },
		{ "s=1e300", INT64_MIN },
		{ "s=nan", INT64_MIN },
		{ "t=99999999999999999999", INT64_MIN },
	};
	const struct time_param t = { "t", "s", 77 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t ms = 0;
		struct err err = { 0 };
		int rc = params_time(LIST(cases[i].text), &t, &ms, &err);

		if (cases[i].want == INT64_MIN) {
			cr_expect(rc == ERR_INVALID, "%s", cases[i].text);
			cr_expect(strstr(err.msg, "parameter \""), "%s",
				  err.msg);
		} else {
			cr_assert(!rc, "%s: %lld %s", cases[i].text,
				  (long long)ms, err.msg);
			cr_expect(ms == cases[i].want, "%s: %lld %s",
				  cases[i].text, (long long)ms, err.msg);
		}
	}
}

Test(params, millisecond_parameter_overrides_seconds)
{
	const struct time_param t = { "t", "s", TIME_REQUIRED };
	int64_t ms = 0;
	struct err err = { 0 };

	cr_assert(!params_time(LIST("s=9", "t=5"), &t, &ms, &err));
	cr_expect(ms == 5);
	cr_expect(params_time(LIST("x=9"), &t, &ms, &err) == ERR_INVALID);
	cr_expect(check_str(str_of(err.msg), "parameter \"t\" is missing"));
}

Test(params, reversed_range_is_refused)
{
	int64_t from = 0;
	int64_t to = 0;
	struct err err = { 0 };

	cr_expect(
		!params_range(LIST("from=1", "to=1"), 0, 0, &from, &to, &err));
	cr_assert(from == 1);
	cr_expect(to == 1);
	cr_expect(!params_range(LIST("start=1", "end=2"), 0, 0, &from, &to,
				&err));
	cr_assert(from == 1000);
	cr_expect(to == 2000);
	cr_expect(params_range(LIST("from=2", "to=1"), 0, 0, &from, &to,
			       &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "before its start"));
	cr_expect(params_range(LIST("from=2"), 0, TIME_REQUIRED, &from, &to,
			       &err) == ERR_INVALID);
}

Test(params, counts_must_be_whole_and_not_negative)
{
	static const char *const bad[] = { "n=-1", "n=1.5", "n=x", "n=1 " };
	int64_t n = 0;
	struct err err = { 0 };

	cr_assert(!params_count(LIST("n=12"), "n", 3, &n, &err));
	cr_expect(n == 12);
	cr_assert(!params_count(LIST("n="), "n", 3, &n, &err));
	cr_expect(n == 3);
	cr_assert(!params_count(LIST("m=1"), "n", 3, &n, &err));
	cr_expect(n == 3);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		cr_expect(params_count(LIST(bad[i]), "n", 3, &n, &err) ==
				  ERR_INVALID,
			  "%s", bad[i]);
}

Test(params, switch_is_off_when_empty_zero_or_false)
{
	cr_expect(params_is_on(LIST("a=1"), "a"));
	cr_expect(params_is_on(LIST("a=true"), "a"));
	cr_expect(!params_is_on(LIST("a="), "a"));
	cr_expect(!params_is_on(LIST("a=0"), "a"));
	cr_expect(!params_is_on(LIST("a=false"), "a"));
	cr_expect(!params_is_on(LIST("b=1"), "a"));
}

/* Parses the parameters that select profiles, and returns the error code. */
static int parse_spec(const struct params *p, const char *suffix,
		      struct query_spec *s, struct err *err)
{
	int rc = query_spec_parse(s, p, suffix, err);

	query_spec_fini(s);
	return rc;
}

Test(params, from_and_to_without_time_select_mode_merge)
{
	struct query_spec s;
	struct err err = { 0 };

	cr_expect(!parse_spec(LIST("query=heap", "from=1", "to=9"), "", &s,
			      &err));
	cr_assert(s.merged);
	cr_assert(s.from == 1);
	cr_expect(s.to == 9);
	cr_expect(!parse_spec(
		LIST("query=heap", "mode=merge", "start=1", "end=9"), "", &s,
		&err));
	cr_assert(s.merged);
	cr_assert(s.from == 1000);
	cr_expect(s.to == 9000);
	cr_expect(
		parse_spec(LIST("query=heap", "mode=single", "from=1", "to=9"),
			   "", &s, &err) == ERR_INVALID);
	cr_expect(check_str(str_of(err.msg), "parameter \"time\" is missing"));
}

Test(params, single_profile_is_searched_around_its_time)
{
	static const struct {
		const char *match;
		int64_t from;
		int64_t to;
	} cases[] = {
		{ "match=", -5 * MINUTE, 5 * MINUTE },
		{ "match=nearest", -5 * MINUTE, 5 * MINUTE },
		{ "match=before", -5 * MINUTE, 0 },
		{ "match=after", 0, 5 * MINUTE },
		{ "match=exact", 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct query_spec s;
		struct err err = { 0 };
		int rc = parse_spec(
			LIST("query=heap", "time=1000000", cases[i].match), "",
			&s, &err);

		cr_assert(!rc, "%s: %s", cases[i].match, err.msg);
		cr_expect(!s.merged, "%s: %s", cases[i].match, err.msg);
		cr_expect(s.from == 1000000 + cases[i].from, "%s",
			  cases[i].match);
		cr_expect(s.to == 1000000 + cases[i].to, "%s", cases[i].match);
	}
}

Test(params, extreme_times_do_not_overflow)
{
	struct query_spec s;
	struct err err = { 0 };

	cr_expect(!parse_spec(LIST("query=heap", "time=9223372036854775807"),
			      "", &s, &err));
	cr_expect(s.to == INT64_MAX);
	cr_expect(!parse_spec(LIST("query=heap", "time=-9223372036854775803"),
			      "", &s, &err),
		  "%s", err.msg);
	cr_assert(s.from == INT64_MIN);
	cr_expect(s.match == MATCH_NEAREST);
}

Test(params, suffix_of_a_diff_side_is_in_parameter_names_and_errors)
{
	const struct params *p =
		LIST("query_a=heap", "time_a=5", "query=cpu", "query_b=heap");
	struct query_spec s;
	struct err err = { 0 };

	cr_assert(!parse_spec(p, "_a", &s, &err));
	cr_expect(s.time == 5);
	cr_expect(parse_spec(p, "_b", &s, &err) == ERR_INVALID);
	cr_expect(
		check_str(str_of(err.msg), "parameter \"time_b\" is missing"));
	cr_expect(parse_spec(LIST("query_a=heap", "mode_a=x"), "_a", &s,
			     &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "\"mode_a\""), "%s", err.msg);
	cr_expect(parse_spec(LIST("query=heap", "time=1", "match=last"), "", &s,
			     &err) == ERR_INVALID);
	cr_expect(strstr(err.msg, "\"match\""), "%s", err.msg);
	cr_expect(parse_spec(LIST("query=heap{"), "", &s, &err) == ERR_INVALID);
}

Test(params, reports_are_found_by_name)
{
	struct report_request q;
	struct err err = { 0 };

	cr_expect(!report_request_parse(&q, LIST("x=1"), &err));
	cr_assert(str_is(q.name, "proto"));
	cr_assert(!q.type);
	cr_expect(q.stored);
	cr_expect(!report_request_parse(&q, LIST("report=top"), &err));
	cr_assert(q.type);
	cr_assert(q.one_type);
	cr_assert(!q.stored);
	cr_expect(!q.single);
	cr_expect(!report_request_parse(&q, LIST("report=raw"), &err));
	cr_assert(q.single);
	cr_expect(q.stored);
	cr_expect(!report_request_parse(&q, LIST("report=proto", "focus=a"),
					&err));
	cr_assert(q.filtered);
	cr_expect(!q.stored);
	cr_expect(!report_request_parse(&q, LIST("report=traces"), &err));
	cr_expect(!q.one_type);
	cr_expect(report_request_parse(&q, LIST("report=none"), &err) ==
		  ERR_INVALID);
	cr_assert(strstr(err.msg, "flamegraph"), "%s", err.msg);
	cr_expect(strstr(err.msg, "meta"), "%s", err.msg);
}

Test(params, flame_graph_diff_labels_its_base_by_default)
{
	struct report_request q;
	struct err err = { 0 };

	cr_expect(!report_request_parse(&q, LIST("report=flamegraph"), &err));
	cr_expect(q.label_base);
	cr_expect(!report_request_parse(&q, LIST("report=top"), &err));
	cr_assert(q.label_base);
	cr_expect(q.options.net_total);
	cr_expect(!report_request_parse(
		&q, LIST("report=top", "diff=diff_base"), &err));
	cr_assert(q.label_base);
	cr_expect(!q.options.net_total);
	cr_expect(!report_request_parse(&q, LIST("report=top", "format=text"),
					&err));
	cr_assert(!q.label_base);
	cr_expect(!q.options.net_total);
	cr_expect(!report_request_parse(
		&q, LIST("report=flamegraph", "diff=base", "normalize=1"),
		&err));
	cr_assert(!q.label_base);
	cr_expect(q.normalize == NORMALIZE_TOTAL);
	cr_expect(report_request_parse(&q, LIST("diff=other"), &err) ==
		  ERR_INVALID);
	cr_expect(strstr(err.msg, "\"diff\""), "%s", err.msg);
}

Test(params, query_memory_is_returned_to_the_budget)
{
	struct budget all = { .name = "query.memory", .max = 1000 };
	struct buf out = { 0 };
	struct query_work w = { .memory = &all, .output = &out };
	struct err err = { 0 };

	cr_assert(!query_take(&w, 600, &err));
	cr_expect(atomic_load(&all.used) == 600);
	cr_expect(query_take(&w, 600, &err) == ERR_LIMIT);
	cr_expect(strstr(err.msg, "query.memory"), "%s", err.msg);
	query_give(&w, 100);
	cr_assert(w.taken == 500);
	cr_expect(atomic_load(&all.used) == 500);
	query_release(&w);
	cr_assert(!w.taken);
	cr_expect(!atomic_load(&all.used));
}

Test(params, settling_keeps_only_the_memory_of_the_output)
{
	struct budget all = { .name = "query.memory", .max = 1 << 20 };
	struct buf out = { 0 };
	struct query_work w = { .memory = &all, .output = &out };
	struct err err = { 0 };

	cr_expect(!query_take(&w, 5000, &err));
	for (int i = 0; i < 1000; i++)
		buf_str(&out, "x");
	cr_expect(!query_take_output(&w, &err));
	cr_expect(atomic_load(&all.used) == 5000 + (int64_t)out.cap);
	query_settle(&w);
	cr_expect(atomic_load(&all.used) == (int64_t)out.cap);
	cr_expect(!query_take_output(&w, &err)); /* nothing is counted twice */
	cr_expect(atomic_load(&all.used) == (int64_t)out.cap);
	query_release(&w);
	cr_expect(!atomic_load(&all.used));
	buf_fini(&out);
}

Test(params, settling_counts_an_uncounted_output)
{
	struct budget all = { .name = "query.memory", .max = 1 << 20 };
	struct buf out = { 0 };
	struct query_work w = { .memory = &all, .output = &out };
	struct err err = { 0 };

	cr_expect(!query_take(&w, 1 << 16, &err));
	buf_str(&out, "more than nothing");
	query_settle(&w);
	cr_expect(atomic_load(&all.used) == (int64_t)out.cap);
	cr_expect(!query_take_output(&w, &err)); /* nothing is counted twice */
	cr_expect(atomic_load(&all.used) == (int64_t)out.cap);
	query_release(&w);
	buf_fini(&out);
}

Test(params, deadline_and_shutdown_end_a_query)
{
	_Atomic int64_t stop = INT64_MAX;
	struct query_work w = { .deadline_ns = INT64_MAX, .stop_ns = &stop };
	struct err err = { 0 };

	cr_expect(!query_check_deadline(&w, &err));
	w.deadline_ns = clock_mono_ns() - 1;
	cr_expect(query_check_deadline(&w, &err) == ERR_TIMEOUT);
	cr_expect(strstr(err.msg, "--query.timeout"));
	atomic_store(&stop, 0);
	cr_expect(query_check_deadline(&w, &err) == ERR_CLOSED);
}

Test(params, string_set_counts_what_is_added)
{
	static const char *const texts[] = { "b", "a", "c", "b", "c", "d" };
	struct string_set s = { 0 };
	struct buf got = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		string_set_add(&s, str_of(texts[i]));
	string_set_sort_by_count(&s);
	for (size_t i = 0; i < s.count; i++)
		buf_printf(&got, "%.*s%d ", STR_ARG(s.v[i].text),
			   (int)s.v[i].added);
	cr_expect(check_str(str_of(buf_cstr(&got)), "b2 c2 a1 d1 "));
	buf_fini(&got);
	string_set_fini(&s);
}

Test(params, string_set_removes_duplicates_and_sorts_by_bytes)
{
	static const char *const texts[] = {
		"b", "a", "b", "", "\xc3\xa9", "a"
	};
	struct string_set s = { 0 };
	size_t added = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		added += string_set_add(&s, str_of(texts[i]));
	cr_assert(added == 4);
	cr_assert(s.count == 4);
	string_set_sort(&s);
	cr_assert(check_str(s.v[0].text, ""));
	cr_expect(check_str(s.v[1].text, "a"));
	cr_assert(check_str(s.v[2].text, "b"));
	cr_expect(check_str(s.v[3].text, "\xc3\xa9"));
	cr_expect(string_set_memory(&s) > 0);
	string_set_fini(&s);
}
