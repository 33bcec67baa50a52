/* SPDX-License-Identifier: Apache-2.0 */
/* Coverage: which heartbeats a series has, and what they tell. */
#include "query/select/coverage.h"
#include "query/select/time_steps.h"

#include "tests/query/store.h"

TestSuite(coverage, .timeout = 60);

#define MEMORY ((int64_t)64 << 20)

/* Put a profile of ten seconds, so many seconds after store_at(0). */
static void put(struct store *s, const char *labels, int second)
{
	store_put(s, labels, "cpu",
		  &(struct made){ .ms = store_at(0) + second * 1000,
				  .stacks = "f=1",
				  .duration_ns = 10000000000 });
}

/* What a query knows of heartbeats from minute 0 to 10. */
struct asked {
	struct budget memory;
	struct query_work work;
	struct coverage c;
};

static void ask_begin(struct asked *a, struct store *s)
{
	*a = (struct asked){ .memory = { .name = "query.memory",
					 .max = MEMORY },
			     .work = { .deadline_ns = INT64_MAX } };
	a->work.memory = &a->memory;
	coverage_init(&a->c, s->db, &a->work, store_at(0), store_at(10));
}

static void ask_end(struct asked *a)
{
	coverage_fini(&a->c);
	query_release(&a->work);
	cr_expect(!atomic_load(&a->memory.used));
}

static const struct coverage_node *ask(struct asked *a, const char *series)
{
	struct labels *ls = store_labels(series);
	const struct coverage_node *n;
	struct err err = { .msg = "" };

	cr_assert(!coverage_find(&a->c, ls, &n, &err), "%s", err.msg);
	labels_unref(ls);
	return n;
}

/* Whether a series has heartbeats with the label site=VALUE; NULL: none. */
static bool has_beats(struct asked *a, const char *series, const char *site)
{
	const struct coverage_node *n = ask(a, series);

	if (!n || !site)
		return !n && !site;
	return check_str(labels_get(n->labels, str_of("site")), site);
}

Test(coverage, a_series_has_the_heartbeats_of_its_machine)
{
	struct store *s = store_open();
	struct asked a;

	put(s, "node_cpu job=ebpf node=n1", 0);
	put(s, "node_cpu job=ebpf node=n1 site=x", 0);
	put(s, "node_off_cpu job=ebpf node=n2 site=y", 0);
	put(s, "node_cpu job=other node=n3", 0);
	put(s, "node_cpu job=ebpf node=n4 site=x", 0);
	put(s, "node_cpu job=ebpf node=n5", 660);
	ask_begin(&a, s);
	cr_expect(has_beats(&a, "process_cpu exe=a job=ebpf node=n1", ""));
	cr_expect(has_beats(&a, "process_cpu exe=b job=ebpf node=n1", ""));
	/* A sender has added labels to some: those with most labels fit best. */
	cr_expect(has_beats(&a, "process_cpu exe=a job=ebpf node=n1 site=x",
			    "x"));
	cr_expect(
		has_beats(&a, "process_cpu exe=a job=ebpf node=n1 site=z", ""));
	cr_expect(has_beats(&a, "process_off_cpu exe=a job=ebpf node=n2 site=y",
			    "y"));
	/* Of another kind, job, site or name; or after the range. */
	cr_expect(has_beats(&a, "process_cpu exe=a job=ebpf node=n2 site=y",
			    NULL));
	cr_expect(has_beats(&a, "process_cpu exe=a job=other node=n3", NULL));
	cr_expect(has_beats(&a, "process_cpu exe=a job=ebpf node=n4", NULL));
	cr_expect(has_beats(&a, "cpu exe=a job=ebpf node=n1", NULL));
	cr_expect(has_beats(&a, "process_cpu exe=a job=ebpf", NULL));
	cr_expect(has_beats(&a, "process_cpu exe=a job=ebpf node=n5", NULL));
	ask_end(&a);
	store_close(s);
}

Test(coverage, intervals_that_follow_each_other_are_one_span)
{
	struct store *s = store_open();
	const int seconds[] = { 0, 10, 20, 40, 50, 120 };
	int64_t t = store_at(0);
	const struct coverage_node *n;
	struct asked a;

	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++)
		put(s, "node_cpu job=ebpf node=n", seconds[i]);
	ask_begin(&a, s);
	n = ask(&a, "process_cpu exe=a job=ebpf node=n");
	cr_assert(n);
	cr_assert(n->spans.count == 3);
	cr_expect(coverage_overlap(n, t, t + 60000) == 50000);
	cr_expect(coverage_overlap(n, t + 25000, t + 45000) == 10000);
	cr_expect(coverage_overlap(n, t + 30000, t + 40000) == 0);
	cr_expect(coverage_overlap(n, t - 60000, t + 600000) == 60000);
	cr_expect(coverage_overlap(n, t + 130000, t + 600000) == 0);
	cr_assert(coverage_has(n, t));
	cr_expect(coverage_has(n, t + 29999));
	cr_assert(!coverage_has(n, t - 1));
	cr_expect(!coverage_has(n, t + 30000));
	/* The next heartbeat is due at 140 s. */
	cr_expect(coverage_held(n, t + 150000, 60000) == t + 150000);
	cr_expect(coverage_held(n, t + 150001, 60000) == t + 130000);
	cr_expect(coverage_held(n, t + 1000, 60000) == t + 130000);
	ask_end(&a);
	store_close(s);
}

/* Two collectors of one machine, whose profiles are added up. */
Test(coverage, time_that_was_sampled_twice_counts_twice)
{
	struct store *s = store_open();
	const int seconds[] = { 0, 10, 15, 20, 25, 30, 35, 40 };
	int64_t t = store_at(0);
	const struct coverage_node *n;
	struct asked a;

	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++)
		put(s, "node_cpu job=ebpf node=n", seconds[i]);
	/* It lasts for no time. */
	store_put(s, "node_cpu job=ebpf node=n", "cpu",
		  &(struct made){ .ms = t + 100000,
				  .stacks = "f=1",
				  .duration_ns = -10000000000 });
	ask_begin(&a, s);
	n = ask(&a, "process_cpu exe=a job=ebpf node=n");
	cr_assert(n);
	cr_expect(coverage_overlap(n, t, t + 60000) == 80000);
	cr_expect(coverage_overlap(n, t + 20000, t + 30000) == 20000);
	cr_expect(coverage_overlap(n, t, t + 15000) == 15000);
	cr_expect(coverage_length(n) == 80000);
	cr_assert(coverage_has(n, t + 49999));
	cr_expect(!coverage_has(n, t + 50000));
	cr_assert(n->last_to == t + 50000);
	cr_expect(n->interval == 10000);
	/* Nobody asked for gaps to be filled. */
	cr_expect(coverage_held(n, t + 51000, 0) == t + 50000);
	ask_end(&a);
	store_close(s);
}

/* Heartbeats are no profiles of programs, so they are not added to these. */
Test(coverage, selections_without_a_name_have_no_heartbeats)
{
	static const struct {
		const char *name;
		const char *value;
		size_t selected;
	} cases[] = {
		{ "job", "ebpf", 2 },
		{ "node", "n", 3 },
		{ LABEL_NAME, "node_cpu", 2 },
		{ LABEL_NAME, "process_cpu", 1 },
	};
	struct store *s = store_open();
	struct asked a;

	put(s, "node_cpu job=ebpf node=n", 0);
	put(s, "node_off_cpu job=ebpf node=n", 0);
	put(s, "process_cpu exe=a job=ebpf node=n", 0);
	put(s, "process_off_cpu exe=a job=ebpf node=n", 0);
	/* Somebody else uses the name. */
	put(s, "node_cpu job=mine node=n", 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(querier_closep) struct querier *q = NULL;
		const struct matcher m = { .op = MATCH_EQ,
					   .name = str_of(cases[i].name),
					   .value = str_of(cases[i].value) };
		struct err err = { .msg = "" };

		ask_begin(&a, s);
		query_open(&a.work, s->db, &q);
		cr_assert(!query_select(&a.work, q, &m, 1, store_at(0),
					store_at(10), &err));
		cr_expect(querier_count(q) == cases[i].selected, "%s=%s",
			  cases[i].name, cases[i].value);
		cr_assert(!query_select_all(&a.work, q, NULL, 0, store_at(0),
					    store_at(10), &err));
		cr_expect(querier_count(q) == 5);
		ask_end(&a);
	}
	store_close(s);
}

Test(coverage, a_query_that_is_late_reads_no_heartbeats)
{
	struct store *s = store_open();
	struct labels *ls = store_labels("process_cpu exe=a job=ebpf node=n");
	const struct coverage_node *n;
	struct asked a;
	struct err err = { .msg = "" };

	put(s, "node_cpu job=ebpf node=n", 0);
	ask_begin(&a, s);
	a.work.deadline_ns = 0;
	cr_expect(coverage_find(&a.c, ls, &n, &err) == ERR_TIMEOUT);
	ask_end(&a);
	labels_unref(ls);
	store_close(s);
}

Test(coverage, steps_are_cut_by_the_end_of_the_range)
{
	struct time_steps s = time_steps_of(1000, 26000, 10000);

	cr_assert(s.count == 3);
	cr_expect(time_steps_begin(&s, 2) == 21000);
	cr_assert(time_steps_end(&s, 1) == 21000);
	cr_expect(time_steps_end(&s, 2) == 26000);
	cr_assert(time_steps_seconds(&s, 1) > 9.99);
	cr_expect(time_steps_seconds(&s, 2) < 5.01);
	cr_assert(time_steps_at(&s, 1000) == 0);
	cr_expect(time_steps_at(&s, 11000) == 1);
	cr_assert(time_steps_at(&s, 26000) == 2);
	cr_expect(time_steps_has(&s, 26000));
	cr_assert(!time_steps_has(&s, 999));
	cr_expect(!time_steps_has(&s, 26001));
	/* A moment has one step. */
	s = time_steps_of(5, 5, 1000);
	cr_assert(s.count == 1);
	cr_expect(time_steps_seconds(&s, 0) > 0.99);
	s = time_steps_of(INT64_MIN, INT64_MAX, INT64_MAX);
	cr_assert(s.count == 3);
	cr_expect(time_steps_at(&s, INT64_MAX) == 2);
}
