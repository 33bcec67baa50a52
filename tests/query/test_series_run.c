/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aggregating whole series: columns, several series, labels, deadlines and
 * limits.
 */
#include "query/merge/profile_adder.h"
#include "tests/query/question.h"

TestSuite(series_run, .timeout = 60);

#define FUNCTIONS 24
#define PROFILES  100

/* Stores profile i of a program, large enough to be stored as columns. */
static void put_program(struct store *s, int64_t i)
{
	struct buf text = { 0 };
	struct made p = { .ms = store_at(0) + i * 15000 };

	for (int64_t k = 0; k < FUNCTIONS; k++)
		buf_printf(&text,
			   "%sexample.com/app.main>example.com/f%d=%d,%d",
			   k ? " " : "", (int)k, (int)(i * 10 + k * k + 1),
			   (int)((i * 7 + k * 13) % 97));
	p.stacks = buf_cstr(&text);
	store_put(s, "heap job=app", "alloc_space inuse_space", &p);
	buf_fini(&text);
}

/* A stripe of columns is added up row by row, and no profile is fetched. */
Test(series_run, rows_of_columns_add_up_as_profiles_do)
{
	struct store *s = store_open();
	struct question a = { .o = { .aggregate = AGGREGATE_AUTO } };
	struct pprof *p = NULL;

	for (int64_t i = 0; i < PROFILES; i++)
		put_program(s, i);
	cr_expect(!tsdb_maintain(s->db, true, NULL));
	question_open(&a, s);
	question_ask(&a, 0, INT64_MIN, INT64_MAX);
	cr_assert(!a.rc);
	cr_assert(a.merge.profiles == PROFILES);
	cr_expect(!a.merge.damaged);
	cr_expect(!a.merge.fetched.raw.len, "a profile was fetched");
	cr_assert(!query_merge_finish(&a.merge, &p, &a.err));
	cr_assert(p->samples.count == FUNCTIONS);
	for (size_t k = 0; k < FUNCTIONS; k++) {
		int64_t sum = 0;

		for (int64_t i = 0; i < PROFILES; i++)
			sum += (i * 7 + (int64_t)k * 13) % 97;
		/*
		 * The first type is a counter: its last value less its first.
		 * The second is a state: its mean.
		 */
		cr_expect(pprof_values(p, k)[0] == (PROFILES - 1) * 10);
		cr_expect(pprof_values(p, k)[1] ==
				  (sum + PROFILES / 2) / PROFILES,
			  "%zu", k);
	}
	question_close(&a);
	store_close(s);
}

/* A damaged profile in between must not cost what was added up before it. */
Test(series_run, profiles_in_columns_and_in_the_wal_add_up_together)
{
	struct store *s = store_open();
	struct question a = { .o = { .aggregate = AGGREGATE_SUM } };
	struct pprof *p = NULL;

	for (int64_t i = 0; i < PROFILES; i++)
		put_program(s, i);
	cr_expect(!tsdb_maintain(s->db, true, NULL));
	store_put(s, "heap job=app", "alloc_space inuse_space",
		  &(struct made)BAD(store_at(10) + 1, "other=5,5"));
	for (int64_t i = PROFILES; i < PROFILES + 20; i++)
		put_program(s, i);
	question_open(&a, s);
	question_ask(&a, 0, INT64_MIN, INT64_MAX);
	cr_assert(!a.rc);
	cr_expect(a.merge.profiles == PROFILES + 20);
	cr_assert(a.merge.damaged == 1);
	cr_expect(a.merge.damage.code == ERR_CORRUPT);
	cr_assert(!query_merge_finish(&a.merge, &p, &a.err));
	cr_assert(p->samples.count == FUNCTIONS);
	for (int64_t k = 0; k < FUNCTIONS; k++)
		/* The sum of i * 10 + k * k + 1 for i from 0 to 119. */
		cr_expect(pprof_values(p, (size_t)k)[0] == 71520 + 120 * k * k);
	question_close(&a);
	store_close(s);
}

Test(series_run, means_of_two_series_are_added)
{
	struct store *s = store_open();
	struct question a = { .o = { .aggregate = AGGREGATE_AUTO } };

	for (int i = 0; i < 4; i++) {
		struct made p = ROW(store_at(1 + i), i < 2 ? "f=4" : "f=5");

		store_put(s, "heap job=a", "inuse_space", &p);
		if (i < 2)
			store_put(s, "heap job=b", "inuse_space",
				  &(struct made)ROW(store_at(1 + i), "f=100"));
	}
	question_open(&a, s);
	question_ask(&a, 0, INT64_MIN, INT64_MAX);
	question_ask(&a, 1, INT64_MIN, INT64_MAX);
	cr_assert(!a.rc);
	cr_assert(a.merge.series == 2);
	cr_expect(a.merge.profiles == 6);
	/* The mean 4.5 of series a is rounded to 5 before 100 is added. */
	question_expect(&a, "two series", "f=105");
	question_close(&a);
	store_close(s);
}

Test(series_run, a_series_without_profiles_in_the_range_is_not_counted)
{
	struct store *s = store_open();
	struct question a = { .o = { .aggregate = AGGREGATE_AUTO } };

	store_put(s, "heap job=a", "cpu",
		  &(struct made)ROW(store_at(1), "f=4"));
	question_open(&a, s);
	question_ask(&a, 0, store_at(2), store_at(3));
	cr_assert(!a.rc);
	cr_assert(!a.merge.series);
	cr_expect(!a.merge.profiles);
	question_ask(&a, 0, store_at(0), store_at(1));
	cr_assert(!a.rc);
	cr_assert(a.merge.series == 1);
	cr_expect(a.merge.profiles == 1);
	question_close(&a);
	store_close(s);
}

Test(series_run, samples_carry_the_labels_to_group_by)
{
	static const struct {
		const char *group_by;
		const char *want;
	} cases[] = {
		{ "", "f=3" },
		{ "job", "f{job:a}=1 f{job:b}=2" },
		{ "job,pod", "f{job:a}{pod:x}=1 f{job:b}{pod:y}=2" },
		{ "pod,,job,", "f{job:a}{pod:x}=1 f{job:b}{pod:y}=2" },
		{ "none", "f{none:}=3" },
	};
	struct store *s = store_open();

	store_put(s, "profile job=a pod=x", "cpu",
		  &(struct made)ROW(store_at(1), "f=1"));
	store_put(s, "profile job=b pod=y", "cpu",
		  &(struct made)ROW(store_at(1), "f=2"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct question a = { .o = { .group_by = str_of(
						     cases[i].group_by) } };

		question_open(&a, s);
		question_ask(&a, 0, INT64_MIN, INT64_MAX);
		question_ask(&a, 1, INT64_MIN, INT64_MAX);
		cr_expect(!a.rc, "%s", a.err.msg);
		question_expect(&a, cases[i].group_by, cases[i].want);
		question_close(&a);
	}
	store_close(s);
}

/* Lets the deadline pass while the first profile is being read. */
static int pass_deadline(void *ctx, size_t bytes UNUSED, struct err *err UNUSED)
{
	struct question *a = ctx;

	a->work.deadline_ns = clock_mono_ns() - 1;
	return 0;
}

Test(series_run, a_deadline_cuts_between_profiles_but_not_within_a_difference)
{
	static const struct {
		const char *name;
		const char *type;
		const char *want;
		size_t profiles;
	} cases[] = {
		{ "the first flow is there", "cpu", "f=10", 1 },
		{ "both ends of the first process", "alloc_space", "f=20", 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const char *const rows[] = { "f=10", "f=30", "f=5" };
		struct store *s = store_open();
		struct question a = { .o = { .aggregate = AGGREGATE_AUTO } };

		for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
			store_put(s, "p job=a", cases[i].type,
				  &(struct made)ROW(store_at(1 + (int64_t)k),
						    rows[k]));
		question_open(&a, s);
		querier_on_spend(a.q, pass_deadline, &a);
		question_ask(&a, 0, INT64_MIN, INT64_MAX);
		cr_assert(!a.rc, "%s", cases[i].name);
		cr_expect(a.merge.late, "%s", cases[i].name);
		cr_expect(a.merge.profiles == cases[i].profiles, "%s: %zu",
			  cases[i].name, a.merge.profiles);
		question_expect(&a, cases[i].name, cases[i].want);
		question_close(&a);
		store_close(s);
	}
}

Test(series_run, without_time_for_one_profile_there_is_no_answer)
{
	_Atomic int64_t stop = 0;
	struct store *s = store_open();
	struct question late = { .work = { .deadline_ns = 1 } };
	struct question stopped = { .work = { .stop_ns = &stop } };

	store_put(s, "p job=a", "cpu", &(struct made)ROW(store_at(1), "f=1"));
	question_open(&late, s);
	question_ask(&late, 0, INT64_MIN, INT64_MAX);
	cr_assert(late.rc == ERR_TIMEOUT);
	cr_expect(!late.merge.late);
	question_close(&late);
	question_open(&stopped, s);
	question_ask(&stopped, 0, INT64_MIN, INT64_MAX);
	cr_expect(stopped.rc == ERR_CLOSED);
	question_close(&stopped);
	store_close(s);
}

Test(series_run, the_bytes_of_a_fetch_are_taken_once)
{
	struct store *s = store_open();
	struct question a = { .o = { .aggregate = AGGREGATE_SUM } };

	for (int64_t i = 0; i < 20; i++)
		put_program(s, i);
	question_open(&a, s);
	querier_on_spend(a.q, query_merge_spend_fetch, &a.merge);
	question_ask(&a, 0, INT64_MIN, INT64_MAX);
	cr_assert(!a.rc);
	cr_expect(a.merge.profiles == 20);
	cr_expect(a.work.taken == a.merge.taken, "%lld of %lld",
		  (long long)a.work.taken, (long long)a.merge.taken);
	cr_expect(a.work.taken == atomic_load(&a.memory.used));
	/* Nothing has grown since the last fetch, so nothing more is taken. */
	cr_expect(!query_merge_account(&a.merge, a.q, &a.err));
	cr_expect(a.work.taken == a.merge.taken);
	a.memory.max = a.work.taken;
	cr_expect(query_merge_spend_fetch(&a.merge, 1, &a.err) == ERR_LIMIT);
	cr_expect(a.work.taken == a.merge.taken, "nothing is taken");
	question_close(&a);
	store_close(s);
}

Test(series_run, one_profile_is_added_left_out_or_refused)
{
	static const bool types[] = { true };
	static const enum merge_op add[] = { MERGE_ADD };
	struct store *s = store_open();
	struct question a = { .o = { .aggregate = AGGREGATE_SUM } };
	struct query_profile x = { .types = types, .ops = add };

	store_put(s, "p job=a", "cpu", &(struct made)ROW(store_at(1), "f=1"));
	store_put(s, "p job=a", "cpu", &(struct made)BAD(store_at(2), "f=2"));
	question_open(&a, s);
	x.q = a.q;
	x.ms = store_at(1);
	cr_expect(!query_add_profile(&a.merge, &x, &a.err));
	cr_assert(merge_count(a.merge.merge) == 1);
	cr_expect(!a.merge.damaged);
	x.ms = store_at(2);
	cr_expect(query_add_profile(&a.merge, &x, &a.err) == 1);
	/*
	 * There is no profile at this time, as when one is removed after it was
	 * listed. That is no failure.
	 */
	x.ms = store_at(3);
	cr_expect(query_add_profile(&a.merge, &x, &a.err) == 1);
	cr_assert(a.merge.damaged == 2, "the first is kept");
	cr_expect(a.merge.damage.code == ERR_CORRUPT, "the first is kept");
	/* Without operations the profile is added as it is. */
	x.ms = store_at(1);
	x.ops = NULL;
	cr_expect(!query_add_profile(&a.merge, &x, &a.err));
	question_expect(&a, "twice", "f=2");
	question_close(&a);
	store_close(s);
}

Test(series_run, a_deadline_is_an_error_until_something_is_merged)
{
	struct store *s = store_open();
	struct question a = { .work = { .deadline_ns = 1 } };

	store_put(s, "p job=a", "cpu", &(struct made)ROW(store_at(1), "f=1"));
	question_open(&a, s);
	cr_expect(query_merge_check_late(&a.merge, &a.err) == ERR_TIMEOUT);
	cr_expect(!a.merge.late);
	a.merge.profiles = 1;
	cr_assert(!query_merge_check_late(&a.merge, &a.err));
	cr_expect(a.merge.late);
	/* An answer that is cut short stays so, even if there is time again. */
	a.work.deadline_ns = INT64_MAX;
	cr_assert(!query_merge_check_late(&a.merge, &a.err));
	cr_expect(a.merge.late);
	question_close(&a);
	store_close(s);
}

Test(series_run, errors_are_those_of_the_header)
{
	static const struct {
		const char *name;
		const char *sample_index;
		int64_t memory;
		const char *second; /* types of another profile, or NULL */
		int want;
		const char *says;
	} cases[] = {
		{ "a number that is too large", "1", QUESTION_MEMORY, NULL,
		  ERR_INVALID, "[0..0]" },
		{ "no memory at all", NULL, 1, NULL, ERR_LIMIT,
		  "query.memory" },
		{ "types that do not agree", NULL, QUESTION_MEMORY, "wall",
		  ERR_INVALID, "wall" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store *s = store_open();
		struct question a = {
			.o = { .one_type = cases[i].sample_index != NULL,
			       .sample_index = str_of(cases[i].sample_index) },
			.memory = { .max = cases[i].memory },
		};

		store_put(s, "p job=a", "cpu",
			  &(struct made)ROW(store_at(1), "f=1"));
		if (cases[i].second)
			store_put(s, "p job=a", cases[i].second,
				  &(struct made)ROW(store_at(2), "f=1"));
		question_open(&a, s);
		question_ask(&a, 0, INT64_MIN, INT64_MAX);
		cr_expect(a.rc == cases[i].want, "%s: %d %s", cases[i].name,
			  a.rc, a.err.msg);
		cr_expect(strstr(a.err.msg, cases[i].says), "%s: %s",
			  cases[i].name, a.err.msg);
		question_close(&a);
		store_close(s);
	}
}
