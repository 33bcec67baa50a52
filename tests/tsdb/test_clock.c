/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks that jump, over restarts and while profiles come. No profile is
 * removed for its age before it has been stored for as long as the retention,
 * by the true time. Profiles that are truly old are removed in the end.
 *
 * EVERPROF_SECONDS sets how long the test runs; without it, the test runs 20
 * rounds. EVERPROF_SEED sets the first seed.
 */
#include "tests/tsdb/vandal.h"

#include "tsdb/maintain/stats.h"
#include "tsdb/tools/repair.h"

TestSuite(clocks, .timeout = 7200);

#define HOUR_MS 3600000LL
#define DAY_MS  (24 * HOUR_MS)

struct life {
	struct vandal *v;
	struct fixture *f;
	int64_t real_ms;   /* the true time */
	int64_t offset_ms; /* how far the clock is off */
	struct stored {
		int64_t ms;   /* the time of the profile */
		int64_t real; /* the true time when it was stored */
	} stored[4096];
	size_t count;
};

static int64_t clock_now(const struct life *l)
{
	return l->real_ms + l->offset_ms;
}

static void set_clock(struct life *l)
{
	clock_set(&l->f->clock, clock_now(l));
}

static int append(struct life *l)
{
	struct appender *a = tsdb_appender(l->f->db);
	struct labels *ls = sample_labels(0);
	struct buf body = { 0 };
	int64_t totals[2] = { 0 };
	struct sample s = { .labels = ls,
			    .ms = clock_now(l),
			    .typeset = sample_types(0),
			    .totals = totals };
	uint64_t lsn;
	int rc;

	sample_bytes(0, (int)l->count, &body);
	s.body = buf_bytes(&body);
	s.raw_len = (uint32_t)body.len;
	s.hash = hash_bytes(s.body);
	rc = a->append(a, &s, &lsn, NULL);
	if (!rc && l->count < ARRAY_SIZE(l->stored))
		l->stored[l->count++] =
			(struct stored){ .ms = s.ms, .real = l->real_ms };
	buf_fini(&body);
	labels_unref(ls);
	return rc;
}

static bool is_there(struct life *l, int64_t ms)
{
	struct times_view t = { 0 };
	struct querier *q;
	bool found = false;

	querier_open(l->f->db, NULL, &q);
	cr_assert(!querier_select(q, NULL, 0, INT64_MIN, INT64_MAX, NULL));
	for (size_t i = 0; i < querier_count(q); i++) {
		if (!querier_times(q, i, ms, ms, &t, NULL))
			found = found || t.count > 0;
	}
	querier_close(q);
	return found;
}

/*
 * Checks that all profiles are there whose own time and whose time of storing
 * are both younger than the retention. A profile that came while the clock was
 * behind is as old as its own time says.
 */
static void check_all(struct life *l, uint64_t seed UNUSED)
{
	int64_t oldest = l->real_ms - l->f->o.retention_ms;
	size_t missing = 0;

	for (size_t i = 0; i < l->count; i++)
		missing += l->stored[i].real > oldest &&
			   l->stored[i].ms > oldest &&
			   !is_there(l, l->stored[i].ms);
	cr_expect(!missing, "seed %zu: %zu of %zu are gone", (size_t)seed,
		  missing, l->count);
}

static void jump(struct life *l)
{
	static const int64_t jumps[] = { -400 * DAY_MS, -30 * DAY_MS,
					 -2 * DAY_MS,   2 * DAY_MS,
					 100 * DAY_MS,  3650 * DAY_MS };

	/*
	 * The clock jumps as that of a board without a battery does. Sooner or
	 * later it is set right again.
	 */
	l->offset_ms = l->offset_ms && vandal_roll(l->v, 2) ?
			       0 :
			       jumps[vandal_roll(l->v, ARRAY_SIZE(jumps))];
	set_clock(l);
}

static struct life *begin(uint64_t seed)
{
	struct life *l = mem_new(struct life);

	l->v = mem_new(struct vandal);
	l->v->rng = seed;
	l->f = setup();
	l->f->o.retention_ms = 10 * DAY_MS;
	l->real_ms = sample_ms(0) / HOUR_MS * HOUR_MS;
	set_clock(l);
	cr_assert(!reopen(l->f));
	return l;
}

static void end(struct life *l)
{
	teardown(l->f);
	mem_free(l->v);
	mem_free(l);
}

static void one_life(uint64_t seed)
{
	struct life *l = begin(seed);

	/*
	 * The steps take less time than the retention, so that nothing may be
	 * removed.
	 */
	for (int step = 0; step < 150; step++) {
		l->real_ms += HOUR_MS;
		set_clock(l);
		(void)append(l);
		if (!vandal_roll(l->v, 12))
			jump(l);
		if (!vandal_roll(l->v, 12)) {
			pull_the_plug(l->f);
			if (!vandal_roll(l->v, 2))
				jump(l);
			cr_assert(!reopen(l->f));
		}
		(void)append(l);
		cr_expect(!maintain(l->f, vandal_roll(l->v, 2)));
	}
	check_all(l, seed);
	end(l);
}

Test(clocks, no_clock_jump_removes_profiles)
{
	int64_t began = clock_mono_ns();
	uint64_t seed = vandal_seed();
	int rounds = 0;

	for (; vandal_goes_on(rounds, 20, began); rounds++)
		one_life(seed + (uint64_t)rounds);
	printf("%d lives\n", rounds);
}

Test(clocks, clock_ahead_at_first_start_removes_nothing)
{
	struct life *l = begin(1);

	for (int i = 0; i < 40; i++) {
		cr_expect(!append(l));
		l->real_ms += HOUR_MS;
		set_clock(l);
		cr_expect(!maintain(l->f, false));
	}
	/*
	 * The database restarts with a clock 100 days ahead. Profiles come at
	 * once, and head blocks are sealed.
	 */
	l->offset_ms = 100 * DAY_MS;
	set_clock(l);
	cr_expect(!reopen(l->f));
	for (int i = 0; i < 20; i++) {
		cr_expect(!append(l));
		l->real_ms += HOUR_MS / 4;
		set_clock(l);
		cr_expect(!maintain(l->f, i % 2));
	}
	check_all(l, 1);
	end(l);
}

Test(clocks, clock_ahead_without_state_file_removes_nothing)
{
	struct life *l = begin(2);

	for (int i = 0; i < 40; i++) {
		cr_expect(!append(l));
		l->real_ms += HOUR_MS;
		set_clock(l);
	}
	meddle(l->f, "rm -f state");
	l->offset_ms = 100 * DAY_MS;
	set_clock(l);
	cr_expect(!reopen(l->f));
	cr_expect(!append(l));
	cr_expect(!maintain(l->f, true));
	check_all(l, 2);
	end(l);
}

Test(clocks, operator_can_confirm_the_clock)
{
	struct life *l = begin(3);
	struct tsdb_stats s;

	for (int i = 0; i < 5; i++) {
		cr_expect(!append(l));
		l->real_ms += HOUR_MS;
		set_clock(l);
	}
	cr_expect(!maintain(l->f, true));
	l->real_ms += 100 * DAY_MS; /* it was really switched off */
	set_clock(l);
	cr_expect(!reopen(l->f));
	cr_assert(!maintain(l->f, true));
	cr_expect(is_there(l, l->stored[0].ms));
	tsdb_stats(l->f->db, &s);
	cr_expect(s.clock_doubt_ms > 0);
	cr_expect(!tsdb_confirm_clock(l->f->db, NULL, NULL));
	cr_assert(!maintain(l->f, true));
	cr_expect(!is_there(l, l->stored[0].ms));
	tsdb_stats(l->f->db, &s);
	cr_expect(!s.clock_doubt_ms);
	cr_assert(!reopen(l->f));
	cr_expect(!maintain(l->f, true));
	tsdb_stats(l->f->db, &s);
	cr_expect(!s.clock_doubt_ms, "it stays so");
	end(l);
}

Test(clocks, old_profiles_are_removed_by_time)
{
	struct life *l = begin(4);

	for (int i = 0; i < 10 * 24 + 40; i++) {
		if (i < 48)
			cr_expect(!append(l));
		l->real_ms += HOUR_MS;
		set_clock(l);
		cr_expect(!maintain(l->f, true));
	}
	cr_expect(!is_there(l, l->stored[0].ms));
	cr_expect(is_there(l, l->stored[47].ms));
	end(l);
}
