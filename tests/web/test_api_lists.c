/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the lists of what is stored: series, labels, types, times, totals,
 * timelines.
 */
#include "tests/web/site.h"
#include "web/api/api.h"

TestSuite(api_lists, .timeout = 60);

#define DATA(json)            "{\"status\":\"success\",\"data\":" json "}"
#define WARNED(json, warning) DATA(json ",\"warnings\":[\"" warning "\"]")
#define CUT                   "results truncated due to limit"
#define SERIES(name, job, pod) \
	"{\"__name__\":\"" name "\",\"job\":\"" job "\",\"pod\":\"" pod "\"}"
#define COUNT(value, series) "{\"value\":\"" value "\",\"series\":" series "}"
#define CPU1                 SERIES("cpu", "app", "p1")
#define CPU2                 SERIES("cpu", "app", "p2")
#define HEAP                 SERIES("heap", "db", "p1")

/* A request and the body of its answer. */
struct list_case {
	const char *query;
	const char *want;
};

static void check_lists(handler_fn fn, const struct list_case *v, size_t count)
{
	struct site *f = site_start();

	site_fill(f);
	for (size_t i = 0; i < count; i++)
		call_check(f, fn, v[i].query, 200, v[i].want);
	site_stop(f);
}

Test(api_lists, series_are_those_of_any_selector_once)
{
	static const struct list_case cases[] = {
		{ "match[]=cpu", DATA("[" CPU1 "," CPU2 "]") },
		{ "match[]={pod=\"p1\"}", DATA("[" CPU1 "," HEAP "]") },
		{ "match[]=heap&match[]=cpu",
		  DATA("[" HEAP "," CPU1 "," CPU2 "]") },
		{ "match[]=cpu&match[]={pod=\"p1\"}&match[]=cpu",
		  DATA("[" CPU1 "," CPU2 "," HEAP "]") },
		{ "match[]=none", DATA("[]") },
		{ "match[]=cpu&limit=2", DATA("[" CPU1 "," CPU2 "]") },
		{ "match[]=cpu&limit=1", WARNED("[" CPU1 "]", CUT) },
		{ "match[]=cpu&match[]=heap&limit=2",
		  WARNED("[" CPU1 "," CPU2 "]", CUT) },
		{ "match[]=cpu&limit=0", DATA("[" CPU1 "," CPU2 "]") },
	};

	check_lists(api_series, cases, ARRAY_SIZE(cases));
}

Test(api_lists, names_and_values_are_sorted)
{
	static const struct list_case names[] = {
		{ "counts=1", DATA("[" COUNT("__name__", "3") "," COUNT(
				      "job", "3") "," COUNT("pod", "3") "]") },
		{ "counts=1&match[]=cpu&match[]={job=\"app\"}&contains=O",
		  DATA("[" COUNT("job", "2") "," COUNT("pod", "2") "]") },
		{ "contains=NAME", DATA("[\"__name__\"]") },
		{ "", DATA("[\"__name__\",\"job\",\"pod\"]") },
		{ "match[]=heap", DATA("[\"__name__\",\"job\",\"pod\"]") },
		{ "match[]=none", DATA("[]") },
		{ "limit=3", DATA("[\"__name__\",\"job\",\"pod\"]") },
		{ "limit=2", WARNED("[\"__name__\",\"job\"]", CUT) },
		{ "match[]=cpu&limit=1", WARNED("[\"__name__\"]", CUT) },
	};

	check_lists(api_labels, names, ARRAY_SIZE(names));
}

/* The part of a request's path that names the label. */
static const char *segment;

static void call_values(void *ctx, struct request *r, struct answer *a)
{
	r->segment = str_of(segment);
	api_label_values(ctx, r, a);
}

Test(api_lists, values_are_those_of_one_label)
{
	static const struct {
		const char *name;
		struct list_case c;
	} cases[] = {
		{ "job", { "", DATA("[\"app\",\"db\"]") } },
		{ "__name__", { "", DATA("[\"cpu\",\"heap\"]") } },
		{ "pod", { "", DATA("[\"p1\",\"p2\"]") } },
		{ "pod", { "match[]=heap", DATA("[\"p1\"]") } },
		{ "job",
		  { "counts=1",
		    DATA("[" COUNT("app", "2") "," COUNT("db", "1") "]") } },
		{ "pod",
		  { "counts=1",
		    DATA("[" COUNT("p1", "2") "," COUNT("p2", "1") "]") } },
		/* A series counts once, however many selectors match it. */
		{ "pod",
		  { "counts=1&match[]=cpu&match[]={pod=\"p2\"}",
		    DATA("[" COUNT("p1", "1") "," COUNT("p2", "1") "]") } },
		{ "pod",
		  { "counts=1&contains=2", DATA("[" COUNT("p2", "1") "]") } },
		{ "pod",
		  { "counts=1&limit=1",
		    WARNED("[" COUNT("p1", "2") "]", CUT) } },
		{ "pod", { "contains=P2", DATA("[\"p2\"]") } },
		{ "pod",
		  { "match[]=heap&match[]={pod=\"p2\"}",
		    DATA("[\"p1\",\"p2\"]") } },
		{ "pod", { "limit=1", WARNED("[\"p1\"]", CUT) } },
		{ "none", { "", DATA("[]") } },
		{ "none", { "match[]=cpu", DATA("[]") } },
		{ "po", { "", DATA("[]") } },
	};
	struct site *f = site_start();

	site_fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		segment = cases[i].name;
		call_check(f, call_values, cases[i].c.query, 200,
			   cases[i].c.want);
	}
	site_stop(f);
}

Test(api_lists, types_have_the_sample_types_of_all_their_series)
{
	static const char want[] =
		DATA("[{\"name\":\"cpu\",\"sampleTypes\":["
		     "{\"type\":\"cpu\",\"unit\":\"nanoseconds\"},"
		     "{\"type\":\"samples\",\"unit\":\"count\"}],"
		     "\"defaultSampleType\":\"cpu\"},"
		     "{\"name\":\"heap\",\"sampleTypes\":["
		     "{\"type\":\"inuse_space\",\"unit\":\"bytes\"}],"
		     "\"defaultSampleType\":\"inuse_space\"}]");
	const struct site_profile other = { "cpu",     "app",   "p9",   1,
					    "samples", "count", "work", 5 };
	struct site *f = site_start();

	call_check(f, api_profile_types, "", 200, DATA("[]"));
	site_fill(f);
	site_put(f, &other);
	call_check(f, api_profile_types, "", 200, want);
	call_check(f, api_profile_types, "match[]=heap", 200,
		   DATA("[{\"name\":\"heap\",\"sampleTypes\":["
			"{\"type\":\"inuse_space\",\"unit\":\"bytes\"}],"
			"\"defaultSampleType\":\"inuse_space\"}]"));
	site_stop(f);
}

Test(api_lists, mistakes_in_lists_are_named)
{
	static const struct call_mistake series[] = {
		{ "", 400, "match[]" },
		{ "match=cpu", 400, "match[]" },
		{ "match[]=", 400, "bad_data" },
		{ "match[]=cpu&match[]=cpu{", 400, "bad_data" },
		{ "match[]={pod=~\"(\"}", 400, "bad_data" },
		{ "match[]={pod=~\".*\"}", 400, "bad_data" },
		{ "match[]=cpu&limit=-1", 400, "limit" },
		{ "match[]=cpu&limit=x", 400, "limit" },
		{ "match[]=cpu&from=2&to=1", 400, "bad_data" },
		{ "match[]=cpu&start=x", 400, "start" },
	};
	static const struct call_mistake labels[] = {
		{ "match[]=", 400, "bad_data" },
		{ "limit=1.5", 400, "limit" },
		{ "from=x", 400, "from" },
	};
	struct site *f = site_start();

	site_fill(f);
	call_check_mistakes(f, api_series, series, ARRAY_SIZE(series));
	call_check_mistakes(f, api_labels, labels, ARRAY_SIZE(labels));
	call_check_mistakes(f, call_values, labels, ARRAY_SIZE(labels));
	call_check_mistakes(f, api_profile_types, labels, ARRAY_SIZE(labels));
	site_stop(f);
}

#define RANGE "&from=1700000000000&to=1700000060000"
#define TIMES(labels, times) \
	"{\"labels\":" labels ",\"timestamps\":[" times "]}"
#define CPU1_TIMES TIMES(CPU1, "1700000000000,1700000015000,1700000045000")
#define CPU2_TIMES TIMES(CPU2, "1700000015000")

Test(api_lists, times_are_listed_by_series)
{
	static const struct list_case cases[] = {
		{ "query=cpu" RANGE, DATA("[" CPU1_TIMES "," CPU2_TIMES "]") },
		{ "query=cpu&from=1700000000000&to=1700000000000",
		  DATA("[" TIMES(CPU1, "1700000000000") "]") },
		{ "query=cpu&from=1700000000001&to=1700000045000",
		  DATA("[" TIMES(CPU1,
				 "1700000015000,1700000045000") "," CPU2_TIMES
								"]") },
		{ "query=cpu&from=1700000015001&to=1700000044999", DATA("[]") },
		{ "query=cpu&start=1700000045&end=1700000045",
		  DATA("[" TIMES(CPU1, "1700000045000") "]") },
		{ "query=none" RANGE, DATA("[]") },
		{ "query=cpu&limit=2" RANGE,
		  DATA("[" CPU1_TIMES "," CPU2_TIMES "]") },
		{ "query=cpu&max_profiles=4" RANGE,
		  DATA("[" CPU1_TIMES "," CPU2_TIMES "]") },
		{ "query=cpu&limit=1" RANGE,
		  WARNED("[" CPU1_TIMES "]",
			 "retrieved 1 series, more available") },
		/*
		 * Series without profiles in the range do not count towards the
		 * limit.
		 */
		{ "query={job=~\".%2B\"}&limit=1&from=1700000030000"
		  "&to=1700000030000",
		  DATA("[" TIMES(HEAP, "1700000030000") "]") },
	};

	check_lists(api_query_range, cases, ARRAY_SIZE(cases));
}

Test(api_lists, totals_stand_beside_the_times)
{
	static const struct list_case cases[] = {
		{ "query=heap&totals=1" RANGE,
		  DATA("[{\"labels\":" HEAP ",\"timestamps\":[1700000030000],"
		       "\"totals\":{\"inuse_space/bytes\":[4106]}}]") },
		{ "query=cpu{pod=\"p1\"}&totals=1" RANGE,
		  DATA("[{\"labels\":" CPU1 ",\"timestamps\":[1700000000000,"
		       "1700000015000,1700000045000],\"totals\":"
		       "{\"cpu/nanoseconds\":[110,210,310]}}]") },
		{ "query=cpu&totals=1&limit=1&from=1700000000000"
		  "&to=1700000000000",
		  DATA("[{\"labels\":" CPU1 ",\"timestamps\":[1700000000000],"
		       "\"totals\":{\"cpu/nanoseconds\":[110]}}]") },
		{ "query=heap&totals=0" RANGE,
		  DATA("[" TIMES(HEAP, "1700000030000") "]") },
	};

	check_lists(api_query_range, cases, ARRAY_SIZE(cases));
}

Test(api_lists, a_total_that_a_profile_does_not_have_is_null)
{
	const struct site_profile other = { "cpu",     "app",   "p1",   2,
					    "samples", "count", "work", 5 };
	struct site *f = site_start();

	site_fill(f);
	site_put(f, &other);
	call_check(f, api_query_range,
		   "query=cpu{pod=\"p1\"}&totals=1&from=1700000015000"
		   "&to=1700000045000",
		   200,
		   DATA("[{\"labels\":" CPU1
			",\"timestamps\":[1700000015000,1700000030000,"
			"1700000045000],\"totals\":{\"cpu/nanoseconds\":"
			"[210,null,310],\"samples/count\":[null,15,null]}}]"));
	site_stop(f);
}

/* Each profile of the series has a type set of its own, which takes 8 kB. */
Test(api_lists, memory_for_totals_is_taken_before_it_is_used)
{
	struct site *f = site_start();
	struct call c = { 0 };

	for (int k = -60; k < 40; k++) {
		char type[16];
		const struct site_profile p = { "cpu", "app",   "p1",   k,
						type,  "count", "work", 5 };

		snprintf(type, sizeof(type), "type%d", k + 60);
		site_put(f, &p);
	}
	call_begin(f, &c, api_query_range,
		   "query=cpu&totals=1&from=0&to=1800000000000");
	cr_expect(c.a.status == 200);
	cr_expect(call_has(&c, "\"type0/count\":[15,null,"), "%s",
		  buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "\"type99/count\":[null,"));
	call_end(&c);
	f->web.memory.max = 512 * KIB;
	call_begin(f, &c, api_query_range,
		   "query=cpu&totals=1&from=0&to=1800000000000");
	cr_expect(c.a.status == 429, "%d %s", c.a.status, buf_cstr(&c.a.body));
	call_end(&c);
	site_stop(f);
}

Test(api_lists, profiles_are_found_by_function)
{
	static const struct list_case cases[] = {
		{ "query=cpu&function=spin" RANGE, DATA("[" CPU2_TIMES "]") },
		{ "query=cpu&function=wor" RANGE, DATA("[" CPU1_TIMES "]") },
		{ "query=cpu&function=^main$" RANGE,
		  DATA("[" CPU1_TIMES "," CPU2_TIMES "]") },
		{ "query=cpu&function=main&limit=1" RANGE,
		  WARNED("[" CPU1_TIMES "]",
			 "retrieved 1 series, more available") },
		{ "query=cpu&function=none" RANGE, DATA("[]") },
		{ "query=cpu&function=" RANGE,
		  DATA("[" CPU1_TIMES "," CPU2_TIMES "]") },
	};

	check_lists(api_query_range, cases, ARRAY_SIZE(cases));
}

Test(api_lists, a_timeline_adds_up_totals_by_groups)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, api_query_range,
		   "query=cpu&step=30s&group_by=job"
		   "&from=1700000000000&to=1700000060000");
	cr_expect(c.a.status == 200);
	/* 110 + 210 + 1010 in the first step, 310 in the second. */
	cr_expect(call_has(&c, "{\"job\":\"app\"}"), "%s", buf_cstr(&c.a.body));
	cr_assert(call_has(&c, "1330"), "%s", buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "310"), "%s", buf_cstr(&c.a.body));
	cr_expect(!call_has(&c, "warnings"));
	call_end(&c);
	call_check(f, api_query_range, "query=cpu&step=999999999999" RANGE, 200,
		   NULL);
	/* A step without a unit is in seconds, as in Prometheus. */
	call_begin(f, &c, api_query_range,
		   "query=cpu&step=30&group_by=pod&limit=1"
		   "&from=1700000000000&to=1700000060000");
	cr_assert(call_has(&c, "{\"pod\":\"p1\"}"), "%s", buf_cstr(&c.a.body));
	cr_expect(!call_has(&c, "{\"pod\":\"p2\"}"), "%s", buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "retrieved 1 series, more available"));
	call_end(&c);
	/* All series are in the one group that the limit admits. */
	call_begin(f, &c, api_query_range,
		   "query=cpu&step=30&group_by=job&limit=1"
		   "&from=1700000000000&to=1700000060000");
	cr_assert(call_has(&c, "{\"job\":\"app\"}"), "%s", buf_cstr(&c.a.body));
	cr_expect(!call_has(&c, "more available"), "%s", buf_cstr(&c.a.body));
	call_end(&c);
	site_stop(f);
}

Test(api_lists, profiles_are_selected_by_their_total)
{
	static const struct list_case cases[] = {
		{ "query=cpu&total_min=210" RANGE,
		  DATA("[" TIMES(CPU1,
				 "1700000015000,1700000045000") "," CPU2_TIMES
								"]") },
		{ "query=cpu&total_max=210" RANGE,
		  DATA("[" TIMES(CPU1, "1700000000000,1700000015000") "]") },
		{ "query=cpu&total_max=210&total_outside=1" RANGE,
		  DATA("[" TIMES(CPU1, "1700000045000") "," CPU2_TIMES "]") },
		{ "query=cpu&total_min=300&totals=1" RANGE,
		  DATA("[{\"labels\":" CPU1 ",\"timestamps\":[1700000045000],"
		       "\"totals\":{\"cpu/nanoseconds\":[310]}},{\"labels\":" CPU2
		       ",\"timestamps\":[1700000015000],"
		       "\"totals\":{\"cpu/nanoseconds\":[1010]}}]") },
		{ "query=cpu&total_min=300&function=work" RANGE,
		  DATA("[" TIMES(CPU1, "1700000045000") "]") },
		{ "query=cpu&total_max=1" RANGE, DATA("[]") },
	};

	check_lists(api_query_range, cases, ARRAY_SIZE(cases));
}

Test(api_lists, a_timeline_has_the_distribution_of_totals)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	call_begin(f, &c, api_query_range,
		   "query=cpu&step=30s&group_by=job&buckets=2"
		   "&from=1700000000000&to=1700000060000");
	/* The bounds are 110, 300, which is near sqrt(110 * 1010), and 1010. */
	cr_expect(call_has(&c, "\"buckets\":{\"cpu/nanoseconds\":{\"bounds\":"
			       "[110,300,1010],\"counts\":[[2,1],[0,1]]}}"),
		  "%s", buf_cstr(&c.a.body));
	call_end(&c);
	/* Each group has its own bounds; those of the filter's profiles. */
	call_begin(f, &c, api_query_range,
		   "query=cpu&step=60s&group_by=pod&buckets=2&total_min=200"
		   "&from=1700000000000&to=1700000060000");
	cr_assert(call_has(&c, "[210,260,310],\"counts\":[[1,1]]"), "%s",
		  buf_cstr(&c.a.body));
	cr_expect(call_has(&c, "[1010,1010,1010],\"counts\":[[0,1]]"), "%s",
		  buf_cstr(&c.a.body));
	call_end(&c);
	site_stop(f);
}

/* Each selection takes about 1 kB, which is given back before the next one. */
Test(api_lists, many_selectors_take_the_memory_of_one)
{
	struct site *f = site_start();
	struct call c = { 0 };
	struct buf query = { 0 };

	site_fill(f);
	for (int i = 0; i < 400; i++)
		buf_printf(&query, "%smatch[]=cpu", i ? "&" : "");
	f->web.memory.max = 16 * KIB;
	call_begin(f, &c, api_labels, buf_cstr(&query));
	cr_expect(c.a.status == 200, "%d %s", c.a.status, buf_cstr(&c.a.body));
	call_end(&c);
	buf_fini(&query);
	site_stop(f);
}

/* The texts take 400 kB, and the answer as much again. */
Test(api_lists, memory_for_lists_of_labels_is_taken_as_they_grow)
{
	static const char *const queries[] = { "", "match[]=cpu", "counts=1" };
	struct site *f = site_start();
	static char pod[4000];

	memset(pod, 'x', sizeof(pod) - 1);
	for (int i = 0; i < 100; i++) {
		const struct site_profile p = { "cpu", "app",   pod,    1,
						"cpu", "count", "work", 5 };

		snprintf(pod, 4, "%03d", i);
		pod[3] = 'x';
		site_put(f, &p);
	}
	f->web.memory.max = 640 * KIB;
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct call c = { .r = { .segment = str_of("pod") } };

		call_begin(f, &c, api_label_values, queries[i]);
		cr_expect(c.a.status == 429, "%s: %d", queries[i], c.a.status);
		call_end(&c);
	}
	site_stop(f);
}

Test(api_lists, memory_for_buckets_is_taken_before_it_is_used)
{
	struct site *f = site_start();
	struct call c = { 0 };

	site_fill(f);
	f->web.memory.max = MIB;
	call_begin(f, &c, api_query_range,
		   "query=cpu&step=10ms&group_by=job&buckets=64"
		   "&from=1700000000000&to=1700000060000");
	cr_expect(c.a.status == 429, "%d %s", c.a.status, buf_cstr(&c.a.body));
	call_end(&c);
	site_stop(f);
}

Test(api_lists, mistakes_in_ranges_are_named)
{
	static const struct call_mistake cases[] = {
		{ "from=1&to=2", 400, "query" },
		{ "query=cpu&to=2", 400, "from" },
		{ "query=cpu&from=1", 400, "to" },
		{ "query=cpu&from=2&to=1", 400, "bad_data" },
		{ "query=cpu{" RANGE, 400, "bad_data" },
		{ "query=cpu&limit=-1" RANGE, 400, "limit" },
		{ "query=cpu&max_profiles=x" RANGE, 400, "max_profiles" },
		{ "query=cpu&max_profiles=3" RANGE, 400, "more than 3" },
		{ "query=cpu&totals=1&max_profiles=1" RANGE, 400,
		  "more than 1" },
		{ "query=cpu&step=x" RANGE, 400, "step" },
		{ "query=cpu&step=0" RANGE, 400, "step" },
		{ "query=cpu&step=-5" RANGE, 400, "step" },
		{ "query=cpu&step=nan" RANGE, 400, "step" },
		{ "query=cpu&step=inf" RANGE, 400, "step" },
		{ "query=cpu&step=1e300" RANGE, 400, "step" },
		{ "query=cpu&step=1e12" RANGE, 400, "step" },
		{ "query=cpu&step=0.0001" RANGE, 400, "step" },
		{ "query=cpu&step=1ms" RANGE, 400, "11" }, /* 60 001 steps */
		{ "query=cpu&rate=1" RANGE, 400, "step" },
		{ "query=cpu&fill=5m" RANGE, 400, "step" },
		{ "query=cpu&step=10s&fill=x" RANGE, 400, "fill" },
		{ "query=cpu&group_by=job" RANGE, 400, "step" },
		{ "query=cpu&step=&rate=1" RANGE, 400, "step" },
		{ "query=cpu&function=a&totals=1" RANGE, 400, "function" },
		{ "query=cpu&function=a&step=30s" RANGE, 400, "function" },
		{ "query=cpu&function=(" RANGE, 400, "bad_data" },
		{ "query=cpu&buckets=4" RANGE, 400, "step" },
		{ "query=cpu&step=30s&buckets=1" RANGE, 400, "buckets" },
		{ "query=cpu&step=30s&buckets=65" RANGE, 400, "buckets" },
		{ "query=cpu&total_min=x" RANGE, 400, "total_min" },
		{ "query=cpu&total_min=1&sample_index=no" RANGE, 400, "no" },
	};
	struct site *f = site_start();

	site_fill(f);
	call_check_mistakes(f, api_query_range, cases, ARRAY_SIZE(cases));
	site_stop(f);
}

Test(api_lists, limits_of_memory_and_time_end_a_listing)
{
	static const struct {
		handler_fn fn;
		const char *query;
	} cases[] = {
		{ api_series, "match[]=cpu" },
		{ api_labels, "match[]=cpu" },
		{ api_query_range, "query=cpu" RANGE },
		{ api_query_range, "query=cpu&totals=1" RANGE },
		{ api_query_range, "query=cpu&step=30s" RANGE },
		{ api_query_range, "query=cpu&function=main" RANGE },
	};
	struct site *f = site_start();

	site_fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call c = { 0 };

		f->web.memory.max = 100;
		call_begin(f, &c, cases[i].fn, cases[i].query);
		cr_expect(c.a.status == 429, "%s: %u", cases[i].query,
			  c.a.status);
		call_end(&c);
		f->web.memory.max = SITE_MEMORY;
		c.patience_ns = -1;
		call_begin(f, &c, cases[i].fn, cases[i].query);
		cr_expect(c.a.status == 503, "%s: %u", cases[i].query,
			  c.a.status);
		cr_expect(call_has(&c, "{\"status\":\"error\",\"errorType\":"
				       "\"timeout\""),
			  "%s", cases[i].query);
		call_end(&c);
	}
	site_stop(f);
}

Test(api_lists, no_selection_goes_on_after_the_deadline)
{
	/* Selectors that match no series: no list would notice the deadline. */
	static const struct {
		handler_fn fn;
		const char *query;
	} cases[] = {
		{ api_series, "match[]={pod=~\"x.*x\"}" },
		{ api_series, "match[]={pod!~\".*\",job=\"none\"}" },
		{ api_labels, "match[]={pod=~\"x.*x\"}" },
		{ api_label_values, "match[]={pod=~\"x.*x\"}" },
		{ api_profile_types, "match[]={pod=~\"x.*x\"}" },
		{ api_profile_types, "" },
		{ api_query_range, "from=0&to=now&query={pod=~\"x.*x\"}" },
		{ api_export, "from=0&to=now&query={pod=~\"x.*x\"}" },
	};
	struct site *f = site_start();

	site_fill(f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call c = { .patience_ns = -1 };

		c.r.segment = str_of("pod");
		call_begin(f, &c, cases[i].fn, cases[i].query);
		cr_expect(c.a.status == 503, "%zu: %u", i, c.a.status);
		cr_expect(call_has(&c, "--query.timeout"), "%zu", i);
		call_end(&c);
	}
	site_stop(f);
}
