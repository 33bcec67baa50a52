/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trusted clock: decides whether data are too old or too new. A system clock
 * can be wrong for seconds (a machine without a clock of its own, before NTP)
 * or for good, and what it condemns is lost. So it decides only after it has
 * been trusted (docs/decisions.md, 86 and 191):
 *
 * - The expected time is the last trusted time plus the time that the process
 *   has run since. While the time of day differs from it by more than a day, it
 *   is in doubt, until an operator confirms it or a week has passed.
 * - It has to be steady: to have advanced as the monotonic clock does for an
 *   hour, since the process began or the clock was last set.
 *
 * Until then the answer is "not now", never "no".
 *
 * Ownership: a plain value of the caller.
 * Threads: one thread at a time.
 */
#ifndef BASE_TRUSTED_CLOCK_H
#define BASE_TRUSTED_CLOCK_H

#include "base/clock.h"

/* The default for how long the time of day has to be steady, in ms. */
#define TRUSTED_CLOCK_STEADY_MS 3600000LL

/*
 * A time of day that differs by more than this from the expected time is in
 * doubt, in ms.
 */
#define TRUSTED_CLOCK_DOUBT_MS (INT64_C(24) * 3600 * 1000)

struct trusted_clock {
	/*
	 * The last trusted time of day, plus the time that the process has run
	 * since. 0: none is known, and the first check takes the time of day.
	 */
	int64_t trusted_ms;
	/*
	 * For how long, in ms, the time of day has been in doubt; 0: it is not.
	 */
	int64_t doubt_ms;
	/* For how long, in ms, the time of day has been steady. */
	int64_t steady_ms;
	int64_t seen_ms;    /* the time of day at the last check */
	int64_t checked_ns; /* the monotonic time of the last check; 0: none */
};

/* What a check found, in ms. */
struct trusted_time {
	/* The earlier one of the time of day and the expected time. */
	int64_t earliest_ms;
	/* The later one of both. */
	int64_t latest_ms;
	bool decides; /* whether data may be called too old or too new */
};

/*
 * Advance the clock by `elapsed_ms`, the time that the process has run since
 * the last call, when the time of day is `now_ms`. The clock has to be steady
 * for `steady_ms` before it decides (0: TRUSTED_CLOCK_STEADY_MS; negative: not
 * at all).
 */
struct trusted_time trusted_clock_advance(struct trusted_clock *c,
					  int64_t now_ms, int64_t elapsed_ms,
					  int64_t steady_ms);

/* trusted_clock_advance() with the time of day and the monotonic time of now. */
struct trusted_time trusted_clock_check(struct trusted_clock *c,
					const struct clock *clock,
					int64_t steady_ms);

/* Trust the time of day `now_ms`, as an operator has confirmed it. */
void trusted_clock_confirm(struct trusted_clock *c, int64_t now_ms);

#endif
