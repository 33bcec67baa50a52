/* SPDX-License-Identifier: Apache-2.0 */
/* Looked time: by what the total of a merge has to be divided. */
#include "query/merge/query_merge.h"

#include "tests/query/store.h"

TestSuite(looked_time, .timeout = 60);

#define MEMORY ((int64_t)64 << 20)

/* Put a profile with a value, so many seconds after store_at(0). */
static void put(struct store *s, const char *labels, int second, int seconds,
		int value)
{
	char text[32];

	snprintf(text, sizeof(text), "f=%d", value);
	store_put(s, labels, "cpu",
		  &(struct made){ .ms = store_at(0) + second * 1000,
				  .stacks = text,
				  .duration_ns = seconds * 1000000000LL });
}

/* Put the heartbeats of a machine from one second to another. */
static void put_beats(struct store *s, const char *labels, int from, int to)
{
	for (int second = from; second < to; second += 10)
		put(s, labels, second, 10, 0);
}

/*
 * Merge the series of a job in the first ten minutes, and return the time in
 * seconds; 0: it is unknown; -1: no profile counts for a time. *sum is the time of
 * all series together.
 */
static double looked_sum(struct store *s, const char *job, enum aggregate how,
			 const char *type, double *sum)
{
	struct budget memory = { .name = "query.memory", .max = MEMORY };
	struct query_work work = { .memory = &memory,
				   .deadline_ns = INT64_MAX };
	struct matcher m = { .op = MATCH_EQ,
			     .name = str_of("job"),
			     .value = str_of(job) };
	const struct query_spec spec = {
		.selector = { .matchers = &m, .count = 1 },
		.merged = true,
		.from = store_at(0),
		.to = store_at(10),
	};
	const struct query_merge_options o = { .aggregate = how,
					       .sample_index = str_of(type),
					       .looked = true };
	struct query_merge g;
	struct err err = { .msg = "" };
	double seconds;

	query_merge_init(&g, s->db, &work, &o);
	cr_assert(!query_merge_run(&g, &spec, &err), "%s", err.msg);
	seconds = g.looked.has_flows ? (double)g.looked_ns / 1e9 : -1;
	*sum = g.looked_sum;
	query_merge_fini(&g);
	query_release(&work);
	cr_expect(!atomic_load(&memory.used));
	return seconds;
}

static double looked(struct store *s, const char *job, enum aggregate how,
		     const char *type)
{
	double sum;

	return looked_sum(s, job, how, type, &sum);
}

/* Whether two times are the same but for rounding. */
static bool is(double seconds, double want)
{
	return seconds > want - 1e-6 && seconds < want + 1e-6;
}

Test(looked_time, instances_that_are_profiled_at_once_have_the_time_of_one)
{
	struct store *s = store_open();
	double seconds;
	double sum;

	for (int i = 0; i < 10; i++) {
		put(s, "cpu job=a pod=1", i * 15, 10, 20);
		put(s, "cpu job=a pod=2", i * 15 + 7, 10, 40);
		put(s, "cpu job=a pod=3", i * 15 + 3, 10, 0);
	}
	seconds = looked_sum(s, "a", AGGREGATE_AUTO, "cpu", &sum);
	cr_expect(is(seconds, 100), "%g", seconds);
	cr_expect(is(sum, 300), "%g", sum);
	store_close(s);
}

/* The total divided by it is 2 + 1 in a second. */
Test(looked_time, series_are_divided_by_their_own_times)
{
	struct store *s = store_open();
	double seconds;

	put(s, "cpu job=a pod=1", 0, 100, 200);
	put(s, "cpu job=a pod=2", 0, 10, 10);
	seconds = looked(s, "a", AGGREGATE_AUTO, "cpu");
	cr_expect(is(210 / seconds, 3), "%g", seconds);
	store_close(s);
}

Test(looked_time, idle_programs_were_looked_at_while_there_are_heartbeats)
{
	struct store *s = store_open();
	double seconds;

	put_beats(s, "node_cpu job=ebpf node=n", 0, 300);
	put(s, "process_cpu job=ebpf node=n exe=a", 0, 10, 5);
	put(s, "process_cpu job=ebpf node=n exe=b", 200, 10, 5);
	seconds = looked(s, "ebpf", AGGREGATE_AUTO, "cpu");
	cr_expect(is(seconds, 300), "%g", seconds);
	/* An interval without a heartbeat counts with its profiles. */
	put(s, "process_cpu job=ebpf node=n exe=a", 400, 10, 5);
	put(s, "process_cpu job=ebpf node=n exe=b", 400, 10, 5);
	seconds = looked(s, "ebpf", AGGREGATE_AUTO, "cpu");
	cr_expect(is(seconds, 310), "%g", seconds);
	store_close(s);
}

/* Their totals are known, but the report does not have them. */
Test(looked_time, it_is_unknown_if_a_profile_cannot_be_read)
{
	struct store *s = store_open();
	struct made bad = BAD(store_at(1), "f=1");

	bad.duration_ns = 10000000000;
	put(s, "cpu job=a pod=1", 0, 10, 20);
	cr_expect(is(looked(s, "a", AGGREGATE_AUTO, "cpu"), 10));
	store_put(s, "cpu job=a pod=2", "cpu", &bad);
	cr_expect(is(looked(s, "a", AGGREGATE_AUTO, "cpu"), 0));
	store_close(s);
}

Test(looked_time, it_is_unknown_if_a_series_does_not_tell_its_time)
{
	struct store *s = store_open();
	double sum;

	put(s, "cpu job=a pod=1", 0, 10, 20);
	put(s, "cpu job=a pod=2", 0, 0, 0);
	cr_expect(is(looked(s, "a", AGGREGATE_AUTO, "cpu"), 10));
	put(s, "cpu job=a pod=3", 0, 0, 5);
	cr_expect(is(looked_sum(s, "a", AGGREGATE_AUTO, "cpu", &sum), 0));
	cr_expect(is(sum, 0), "%g", sum);
	store_close(s);
}

/* Its value would count, and its time would not: a rate would be too high. */
Test(looked_time, it_is_unknown_if_a_profile_does_not_tell_its_time)
{
	struct store *s = store_open();
	double sum;

	put(s, "cpu job=a pod=1", 0, 10, 20);
	put(s, "cpu job=a pod=1", 20, 0, 0);
	cr_expect(is(looked(s, "a", AGGREGATE_AUTO, "cpu"), 10));
	put(s, "cpu job=a pod=1", 40, 0, 5);
	cr_expect(is(looked_sum(s, "a", AGGREGATE_AUTO, "cpu", &sum), 0));
	cr_expect(is(sum, 0), "%g", sum);
	store_close(s);
}

Test(looked_time, states_have_none)
{
	struct store *s = store_open();
	double sum;

	for (int minute = 1; minute < 4; minute++)
		store_put(s, "heap job=a", "inuse_space",
			  &(struct made)ROW(store_at(minute), "f=1"));
	cr_expect(looked_sum(s, "a", AGGREGATE_AUTO, "inuse_space", &sum) < 0);
	cr_expect(is(sum, 0), "%g", sum);
	store_close(s);
}

Test(looked_time, counters_count_from_the_first_profile_to_the_last_one)
{
	struct store *s = store_open();
	double sum;

	for (int minute = 1; minute < 4; minute++)
		store_put(s, "heap job=a pod=1", "alloc_space",
			  &(struct made)ROW(store_at(minute), "f=1"));
	store_put(s, "heap job=a pod=2", "alloc_space",
		  &(struct made)ROW(store_at(1), "f=1"));
	cr_expect(looked_sum(s, "a", AGGREGATE_AUTO, "alloc_space", &sum) < 0);
	cr_expect(is(sum, 120), "%g", sum);
	store_close(s);
}
