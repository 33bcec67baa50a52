/* SPDX-License-Identifier: Apache-2.0 */
#include "base/trusted_clock.h"

/* Time after which a clock that differs is accepted as correct. */
#define DOUBT_MAX_MS (7 * TRUSTED_CLOCK_DOUBT_MS)
/* A steady clock may gain or lose as much between two checks. */
#define SLACK_MS (INT64_C(60) * 1000)

static int64_t trusted_clock_distance(int64_t a, int64_t b)
{
	return a > b ? a - b : b - a;
}

/* Note for how long the time of day has advanced evenly. */
static void trusted_clock_note_steady(struct trusted_clock *c, int64_t now_ms,
				      int64_t elapsed_ms)
{
	int64_t off = trusted_clock_distance(now_ms, c->seen_ms + elapsed_ms);

	c->steady_ms = off > SLACK_MS ? 0 : c->steady_ms + elapsed_ms;
	c->seen_ms = now_ms;
}

struct trusted_time trusted_clock_advance(struct trusted_clock *c,
					  int64_t now_ms, int64_t elapsed_ms,
					  int64_t steady_ms)
{
	int64_t expected = c->trusted_ms ? c->trusted_ms + elapsed_ms : now_ms;
	bool differs = trusted_clock_distance(now_ms, expected) >
		       TRUSTED_CLOCK_DOUBT_MS;
	int64_t need = steady_ms ? steady_ms : TRUSTED_CLOCK_STEADY_MS;

	trusted_clock_note_steady(c, now_ms, elapsed_ms);
	c->doubt_ms = differs ? c->doubt_ms + elapsed_ms : 0;
	/* A doubt that begins now has to differ from none. */
	if (differs && !c->doubt_ms)
		c->doubt_ms = 1;
	if (c->doubt_ms >= DOUBT_MAX_MS)
		c->doubt_ms = 0;
	c->trusted_ms = c->doubt_ms ? expected : now_ms;
	return (struct trusted_time){
		.earliest_ms = c->trusted_ms < now_ms ? c->trusted_ms : now_ms,
		.latest_ms = c->trusted_ms > now_ms ? c->trusted_ms : now_ms,
		.decides = !c->doubt_ms && (need < 0 || c->steady_ms >= need),
	};
}

/*
 * Only whole milliseconds are counted as elapsed, and the rest at the next
 * check, so that frequent checks do not slow the clock down.
 */
struct trusted_time trusted_clock_check(struct trusted_clock *c,
					const struct clock *clock,
					int64_t steady_ms)
{
	int64_t now_ns = clock_mono_ns();
	int64_t elapsed_ms =
		c->checked_ns ? (now_ns - c->checked_ns) / 1000000 : 0;

	c->checked_ns = c->checked_ns ? c->checked_ns + elapsed_ms * 1000000 :
					now_ns;
	return trusted_clock_advance(c, clock_ms(clock), elapsed_ms, steady_ms);
}

void trusted_clock_confirm(struct trusted_clock *c, int64_t now_ms)
{
	c->trusted_ms = now_ms;
	c->doubt_ms = 0;
}
