/* SPDX-License-Identifier: Apache-2.0 */
/* The trusted clock: when it follows the time of day, and when it decides. */
#include "base/trusted_clock.h"

#include "tests/check.h"

#define DAY  (24 * 3600 * 1000LL)
#define HOUR (3600 * 1000LL)

/* The earlier time after a step, for a clock that need not be steady. */
static int64_t step(struct trusted_clock *c, int64_t now_ms, int64_t elapsed_ms)
{
	return trusted_clock_advance(c, now_ms, elapsed_ms, -1).earliest_ms;
}

/* Whether the clock decides after a step, if it has been steady for an hour. */
static bool decides(struct trusted_clock *c, int64_t now_ms, int64_t elapsed_ms)
{
	return trusted_clock_advance(c, now_ms, elapsed_ms, 0).decides;
}

Test(trusted_clock, it_follows_a_steady_system_clock)
{
	struct trusted_clock c = { .trusted_ms = 100 * DAY };

	cr_expect(step(&c, 100 * DAY + 60000, 60000) == 100 * DAY + 60000);
	cr_expect(step(&c, 101 * DAY, 0) == 101 * DAY,
		  "the machine was off for a day");
	cr_expect(step(&c, 101 * DAY - 1000, 0) == 101 * DAY - 1000,
		  "never ahead of the time of day");
	cr_expect(!c.doubt_ms);
}

Test(trusted_clock, it_does_not_follow_a_jump)
{
	struct trusted_clock c = { .trusted_ms = 100 * DAY };

	cr_expect(step(&c, 200 * DAY, 1000) == 100 * DAY + 1000);
	cr_expect(c.doubt_ms > 0, "the doubt begins at once");
	cr_expect(step(&c, 203 * DAY, 3 * DAY) == 103 * DAY + 1000,
		  "it goes on as the process runs");
	cr_expect(step(&c, 103 * DAY + 1000, 0) == 103 * DAY + 1000);
	cr_expect(!c.doubt_ms, "the system clock was set right");
	cr_assert(step(&c, 2 * DAY, 1000) == 2 * DAY,
		  "of a jump back, the earlier time counts");
	cr_expect(c.doubt_ms, "of a jump back, the earlier time counts");
	cr_assert(step(&c, 103 * DAY, 1000) == 103 * DAY);
	cr_expect(!c.doubt_ms);
}

Test(trusted_clock, it_accepts_a_jump_after_a_week)
{
	struct trusted_clock c = { .trusted_ms = 100 * DAY };
	int64_t now = 0;

	for (int n = 0; n < 7; n++)
		now = step(&c, (200 + n) * DAY, n ? DAY : 0);
	cr_assert(now == 106 * DAY);
	cr_expect(c.doubt_ms);
	cr_assert(step(&c, 207 * DAY, DAY) == 207 * DAY);
	cr_expect(!c.doubt_ms);
}

Test(trusted_clock, it_shows_the_later_time_of_a_clock_that_is_behind)
{
	struct trusted_clock c = { .trusted_ms = 100 * DAY };
	struct trusted_time t = trusted_clock_advance(&c, 2 * DAY, 1000, 0);

	cr_expect(t.earliest_ms == 2 * DAY);
	cr_expect(t.latest_ms == 100 * DAY + 1000);
	cr_expect(!t.decides);
}

Test(trusted_clock, it_decides_after_an_hour_of_even_running)
{
	struct trusted_clock c = { 0 };
	int64_t now = 100 * DAY;

	cr_expect(!decides(&c, now, 0), "it may be wrong at the start");
	for (int minute = 1; minute < 60; minute++)
		cr_expect(!decides(&c, now += 60000, 60000), "%d", minute);
	cr_expect(decides(&c, now += 60000, 60000));
	cr_expect(decides(&c, now += 50000, 60000), "NTP slows it down");
	cr_expect(!decides(&c, now += HOUR, 1000), "it was set");
	cr_expect(!decides(&c, now += HOUR - 1, HOUR - 1));
	cr_expect(decides(&c, now + 1, 1));
}

Test(trusted_clock, it_does_not_decide_while_in_doubt)
{
	struct trusted_clock c = { .trusted_ms = 100 * DAY };
	int64_t now = 200 * DAY;

	cr_expect(!decides(&c, now, 0));
	cr_expect(!decides(&c, now += 2 * HOUR, 2 * HOUR));
	trusted_clock_confirm(&c, now);
	cr_expect(decides(&c, now + 1000, 1000), "an operator confirmed it");
}

Test(trusted_clock, checks_that_follow_each_other_at_once_count_all_time)
{
	struct trusted_clock c = { 0 };
	struct clock clock = { .fixed_ms = 100 * DAY };
	int64_t end;

	trusted_clock_check(&c, &clock, 0);
	end = clock_mono_ns() + 30000000;
	while (clock_mono_ns() < end)
		trusted_clock_check(&c, &clock, 0);
	/* The process may have paused since the last check of the loop. */
	trusted_clock_check(&c, &clock, 0);
	cr_expect(c.steady_ms >= 29, "%lld ms", (long long)c.steady_ms);
}
