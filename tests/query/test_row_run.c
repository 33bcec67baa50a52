/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of adding up the profiles of one series: by kind, restart, damage and
 * time.
 */
#include "query/merge/row_run.h"
#include "tests/query/question.h"

TestSuite(row_run, .timeout = 60);

#define ROWS_MAX 6

struct row_case {
	const char *name;
	const char *types;
	struct made rows[ROWS_MAX]; /* ms 0 ends them */
	const char *want;
	enum aggregate aggregate;
	int64_t from; /* minutes; from and to 0: all */
	int64_t to;
	const char *sample_index; /* NULL: all types */
	size_t profiles;
	size_t damaged;
};

static size_t count_rows(const struct row_case *c)
{
	size_t n = 0;

	while (n < ROWS_MAX && c->rows[n].ms)
		n++;
	return n;
}

static void put_rows(struct store *s, const struct row_case *c)
{
	for (size_t i = 0; i < count_rows(c); i++) {
		struct made p = c->rows[i];

		p.ms = store_at(p.ms);
		store_put(s, "heap job=app", c->types, &p);
	}
}

static void check_answer(struct store *s, const struct row_case *c,
			 const char *where)
{
	struct question a = { .o = { .aggregate = c->aggregate,
				     .one_type = c->sample_index != NULL,
				     .sample_index =
					     str_of(c->sample_index) } };

	question_open(&a, s);
	question_ask(&a, 0, c->to ? store_at(c->from) : INT64_MIN,
		     c->to ? store_at(c->to) : INT64_MAX);
	cr_expect(!a.rc, "%s %s: %s", where, c->name, a.err.msg);
	cr_expect(a.merge.profiles == c->profiles, "%s %s: %zu profiles", where,
		  c->name, a.merge.profiles);
	cr_expect(a.merge.damaged == c->damaged, "%s %s: %zu damaged", where,
		  c->name, a.merge.damaged);
	question_expect(&a, c->name, c->want);
	question_close(&a);
}

/*
 * Checks each case three times: while its profiles are in the WAL, in a head
 * and in a block.
 */
static void check_cases(const struct row_case *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct store *s = store_open();
		bool whole = true;

		put_rows(s, &v[i]);
		check_answer(s, &v[i], "in the WAL:");
		for (size_t k = 0; k < ROWS_MAX; k++)
			whole = whole && !v[i].rows[k].damaged;
		/*
		 * A flush would leave out damaged profiles and their totals. So
		 * cases with damage are checked in the WAL only.
		 */
		if (whole) {
			cr_expect(!tsdb_flush(s->db, NULL));
			check_answer(s, &v[i], "in a head:");
			cr_expect(!tsdb_maintain(s->db, true, NULL));
			check_answer(s, &v[i], "in a block:");
		}
		store_close(s);
	}
}

Test(row_run, each_kind_adds_up_in_its_own_way)
{
	static const struct row_case cases[] = {
		{ .name = "one flow is itself",
		  .types = "cpu",
		  .rows = { ROW(1, "f=3") },
		  .want = "f=3",
		  .profiles = 1 },
		{ .name = "flows are summed, stack by stack",
		  .types = "cpu",
		  .rows = { ROW(1, "f=3 g=1"), ROW(2, "f=4"),
			    ROW(3, "main>f=5") },
		  .want = "f=7 g=1 main>f=5",
		  .profiles = 3 },
		{ .name = "a flow that cancels out is gone",
		  .types = "cpu",
		  .rows = { ROW(1, "f=3 g=1"), ROW(2, "f=-3") },
		  .want = "g=1",
		  .profiles = 2 },
		{ .name = "a counter is its last value less its first",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=10 g=5"), ROW(2, "f=20"),
			    ROW(3, "f=34 g=5") },
		  .want = "f=24",
		  .profiles = 3 },
		{ .name = "a counter that has only one profile tells nothing",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=10") },
		  .want = "" },
		{ .name = "a stack that a counter lost has a negative part",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=10"), ROW(2, "f=4 g=6") },
		  .want = "f=-6 g=6",
		  .profiles = 2 },
		{ .name = "a counter that stands still adds nothing",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=10"), ROW(2, "f=10") },
		  .want = "",
		  .profiles = 2 },
		{ .name = "a state is its mean",
		  .types = "inuse_space",
		  .rows = { ROW(1, "f=4"), ROW(2, "f=8"), ROW(3, "f=3") },
		  .want = "f=5",
		  .profiles = 3 },
		{ .name = "a half of a mean is rounded away from zero",
		  .types = "inuse_space",
		  .rows = { ROW(1, "f=4 g=-4 h=1"), ROW(2, "f=5 g=-5") },
		  .want = "f=5 g=-5 h=1",
		  .profiles = 2 },
		{ .name = "a state that is rarely there has a mean of zero",
		  .types = "inuse_space",
		  .rows = { ROW(1, "f=1"), ROW(2, "g=9"), ROW(3, "g=9") },
		  .want = "g=6",
		  .profiles = 3 },
		{ .name = "kinds of one profile do not mix",
		  .types = "alloc_space inuse_space cpu",
		  .rows = { ROW(1, "f=10,4,1"), ROW(2, "f=30,8,2") },
		  .want = "f=20,6,3",
		  .profiles = 2 },
		{ .name = "a counter with a duration is a flow",
		  .types = "alloc_space",
		  .rows = { LASTING(1, "f=10"), LASTING(2, "f=4") },
		  .want = "f=14",
		  .profiles = 2 },
		{ .name = "a state with a duration stays a state",
		  .types = "inuse_space",
		  .rows = { LASTING(1, "f=10"), LASTING(2, "f=4") },
		  .want = "f=7",
		  .profiles = 2 },
		{ .name = "a profile without samples counts in a mean",
		  .types = "inuse_space",
		  .rows = { ROW(1, "f=10"), ROW(2, "") },
		  .want = "f=5",
		  .profiles = 2 },
	};

	check_cases(cases, ARRAY_SIZE(cases));
}

Test(row_run, counters_begin_again_when_a_process_restarts)
{
	static const struct row_case cases[] = {
		{ .name = "the new process counts from zero",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=10"), ROW(2, "f=30"), ROW(3, "f=5"),
			    ROW(4, "f=25") },
		  .want = "f=45",
		  .profiles = 4 },
		{ .name = "a restart after the first profile",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=30"), ROW(2, "f=5") },
		  .want = "f=5",
		  .profiles = 2 },
		{ .name = "a restart between any two profiles",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=9"), ROW(2, "f=8"), ROW(3, "f=7") },
		  .want = "f=15",
		  .profiles = 3 },
		{ .name = "a new process that counted more is not seen",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=9"), ROW(2, "g=10") },
		  .want = "f=-9 g=10",
		  .profiles = 2 },
		{ .name = "one counter of two that falls is a restart of both",
		  .types = "alloc_space alloc_objects",
		  .rows = { ROW(1, "f=10,5"), ROW(2, "f=20,4") },
		  .want = "f=20,4",
		  .profiles = 2 },
		{ .name = "a restart is seen by a type that is not wanted",
		  .types = "alloc_space alloc_objects",
		  .rows = { ROW(1, "f=10,5"), ROW(2, "f=20,4") },
		  .want = "f=20",
		  .sample_index = "alloc_space",
		  .profiles = 2 },
		{ .name = "a state that falls is no restart",
		  .types = "alloc_space inuse_space",
		  .rows = { ROW(1, "f=10,9"), ROW(2, "f=30,1") },
		  .want = "f=20,5",
		  .profiles = 2 },
		{ .name = "a delta of a flow that falls is no restart",
		  .types = "cpu",
		  .rows = { ROW(1, "f=9"), ROW(2, "f=5") },
		  .aggregate = AGGREGATE_DELTA,
		  .want = "f=-4",
		  .profiles = 2 },
	};

	check_cases(cases, ARRAY_SIZE(cases));
}

Test(row_run, an_aggregate_that_is_asked_for_holds_for_all_types)
{
	static const struct row_case cases[] = {
		{ .name = "the sum of a counter",
		  .types = "alloc_space inuse_space",
		  .rows = { ROW(1, "f=10,4"), ROW(2, "f=30,8"),
			    ROW(3, "f=5,1") },
		  .aggregate = AGGREGATE_SUM,
		  .want = "f=45,13",
		  .profiles = 3 },
		{ .name = "the mean of a counter and of a flow",
		  .types = "alloc_space cpu",
		  .rows = { ROW(1, "f=10,1"), ROW(2, "f=30,2") },
		  .aggregate = AGGREGATE_MEAN,
		  .want = "f=20,2",
		  .profiles = 2 },
		{ .name = "the delta of a state",
		  .types = "inuse_space",
		  .rows = { ROW(1, "f=10"), ROW(2, "f=99"), ROW(3, "f=4") },
		  .aggregate = AGGREGATE_DELTA,
		  .want = "f=-6",
		  .profiles = 3 },
		{ .name = "the last of everything",
		  .types = "alloc_space inuse_space cpu",
		  .rows = { ROW(1, "f=10,4,1"), ROW(2, "f=30,8,2 g=0,0,1") },
		  .aggregate = AGGREGATE_LAST,
		  .want = "f=30,8,2 g=0,0,1",
		  .profiles = 2 },
		{ .name = "the last of one profile",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=10") },
		  .aggregate = AGGREGATE_LAST,
		  .want = "f=10",
		  .profiles = 1 },
		{ .name = "the last value is that of the last process",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=10"), ROW(2, "f=30"), ROW(3, "f=5") },
		  .aggregate = AGGREGATE_LAST,
		  .want = "f=5",
		  .profiles = 3 },
		{ .name = "the sum of one counter",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=10") },
		  .aggregate = AGGREGATE_SUM,
		  .want = "f=10",
		  .profiles = 1 },
	};

	check_cases(cases, ARRAY_SIZE(cases));
}

/* A name leaves the others out, as they may be others in each profile. */
Test(row_run, one_type_alone_is_merged)
{
	static const struct row_case cases[] = {
		{ .name = "by name",
		  .types = "alloc_space inuse_space",
		  .rows = { ROW(1, "f=10,4"), ROW(2, "f=30,8") },
		  .sample_index = "alloc_space",
		  .want = "f=20",
		  .profiles = 2 },
		{ .name = "by number",
		  .types = "alloc_space inuse_space",
		  .rows = { ROW(1, "f=10,4"), ROW(2, "f=30,8") },
		  .sample_index = "1",
		  .want = "f=0,6",
		  .profiles = 2 },
		{ .name = "the default, which is the last",
		  .types = "alloc_space inuse_space",
		  .rows = { ROW(1, "f=10,4"), ROW(2, "f=30,8") },
		  .sample_index = "",
		  .want = "f=0,6",
		  .profiles = 2 },
		{ .name = "what has only other values is left out",
		  .types = "alloc_space inuse_space",
		  .rows = { ROW(1, "f=10,4 g=7,0"), ROW(2, "f=30,8 g=7,0") },
		  .sample_index = "inuse_space",
		  .want = "f=6",
		  .profiles = 2 },
	};

	check_cases(cases, ARRAY_SIZE(cases));
}

Test(row_run, both_ends_of_the_time_range_count)
{
#define FLOWS                     \
	.types = "cpu", .rows = { \
		ROW(10, "f=1"),   \
		ROW(20, "f=2"),   \
		ROW(30, "f=4"),   \
		ROW(40, "f=8")    \
	}
#define COUNTS                                                            \
	.types = "alloc_space", .rows = { ROW(10, "f=1"), ROW(20, "f=2"), \
					  ROW(30, "f=4"), ROW(40, "f=8") }
	static const struct row_case cases[] = {
		{ .name = "from the first to the last",
		  FLOWS,
		  .from = 10,
		  .to = 40,
		  .want = "f=15",
		  .profiles = 4 },
		{ .name = "one minute less on either side",
		  FLOWS,
		  .from = 11,
		  .to = 39,
		  .want = "f=6",
		  .profiles = 2 },
		{ .name = "one instant",
		  FLOWS,
		  .from = 30,
		  .to = 30,
		  .want = "f=4",
		  .profiles = 1 },
		{ .name = "a gap", FLOWS, .from = 31, .to = 39, .want = "" },
		{ .name = "a counter within the range alone",
		  COUNTS,
		  .from = 20,
		  .to = 30,
		  .want = "f=2",
		  .profiles = 2 },
		{ .name = "a counter of one instant",
		  COUNTS,
		  .from = 20,
		  .to = 29,
		  .want = "" },
	};

	check_cases(cases, ARRAY_SIZE(cases));
}

Test(row_run, a_profile_with_other_types_begins_a_new_run)
{
	static const struct row_case cases[] = {
		{ .name = "counters first, then flows with a duration",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=10"), ROW(2, "f=30"), LASTING(3, "f=3"),
			    LASTING(4, "f=4") },
		  .want = "f=27",
		  .profiles = 4 },
		{ .name = "one counter between two flows tells nothing",
		  .types = "alloc_space",
		  .rows = { LASTING(1, "f=3"), ROW(2, "f=30"),
			    LASTING(3, "f=4") },
		  .want = "f=7",
		  .profiles = 2 },
		{ .name = "a delta does not cross from one run into the next",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=10"), ROW(2, "f=15"), LASTING(3, "f=1"),
			    ROW(4, "f=100"), ROW(5, "f=102") },
		  .want = "f=8",
		  .profiles = 5 },
		{ .name = "the mean is that of all runs of the series",
		  .types = "inuse_space",
		  .rows = { ROW(1, "f=10"), LASTING(2, "f=4"), ROW(3, "f=1") },
		  .want = "f=5",
		  .profiles = 3 },
		{ .name = "another type set after a counter that tells nothing",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=10"),
			    TYPED(2, "f=1,2", "alloc_space cpu"),
			    TYPED(3, "f=3,4", "alloc_space cpu") },
		  .want = "f=2,6",
		  .profiles = 2 },
	};

	check_cases(cases, ARRAY_SIZE(cases));
}

Test(row_run, damaged_profiles_cost_themselves_and_nothing_else)
{
	static const struct row_case cases[] = {
		{ .name = "a sum lacks the damaged one",
		  .types = "cpu",
		  .rows = { ROW(1, "f=1"), BAD(2, "f=2"), ROW(3, "f=4") },
		  .want = "f=5",
		  .profiles = 2,
		  .damaged = 1 },
		{ .name = "a mean is divided by the readable ones",
		  .types = "inuse_space",
		  .rows = { ROW(1, "f=4"), BAD(2, "f=90"), ROW(3, "f=8") },
		  .want = "f=6",
		  .profiles = 2,
		  .damaged = 1 },
		{ .name = "a counter does not read what is in the middle",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=1"), BAD(2, "f=2"), ROW(3, "f=4") },
		  .want = "f=3",
		  .profiles = 3 },
		{ .name = "the profile before a damaged last one is the end",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=1"), ROW(2, "f=5"), BAD(3, "f=9") },
		  .want = "f=4",
		  .profiles = 3,
		  .damaged = 1 },
		{ .name = "the profile after a damaged first one is the start",
		  .types = "alloc_space",
		  .rows = { BAD(1, "f=1"), ROW(2, "f=5"), ROW(3, "f=9") },
		  .want = "f=4",
		  .profiles = 3,
		  .damaged = 1 },
		{ .name = "one readable profile of a process is no difference",
		  .types = "alloc_space",
		  .rows = { BAD(1, "f=1"), ROW(2, "f=5"), BAD(3, "f=9") },
		  .want = "",
		  .profiles = 3,
		  .damaged = 2 },
		{ .name = "a damaged end is not replaced by another process",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=10"), BAD(2, "f=30"), ROW(3, "f=5"),
			    ROW(4, "f=25") },
		  .want = "f=25",
		  .profiles = 4,
		  .damaged = 1 },
		{ .name = "a process of which nothing can be read",
		  .types = "alloc_space",
		  .rows = { ROW(1, "f=10"), ROW(2, "f=30"), BAD(3, "f=5"),
			    ROW(4, "f=3") },
		  .want = "f=23",
		  .profiles = 4,
		  .damaged = 1 },
		{ .name = "the first process is damaged as a whole",
		  .types = "alloc_space",
		  .rows = { BAD(1, "f=10"), ROW(2, "f=3"), ROW(3, "f=5") },
		  .want = "f=5",
		  .profiles = 3,
		  .damaged = 1 },
		{ .name = "the last one that can be read is the last value",
		  .types = "inuse_space",
		  .rows = { ROW(1, "f=1"), ROW(2, "f=2"), BAD(3, "f=4") },
		  .aggregate = AGGREGATE_LAST,
		  .want = "f=2",
		  .profiles = 3,
		  .damaged = 1 },
		{ .name = "nothing can be read",
		  .types = "cpu",
		  .rows = { BAD(1, "f=1"), BAD(2, "f=2") },
		  .want = "",
		  .damaged = 2 },
	};

	check_cases(cases, ARRAY_SIZE(cases));
}
