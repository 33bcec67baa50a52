/* SPDX-License-Identifier: Apache-2.0 */
#include "query/select/time_steps.h"

/* Differences are unsigned, because a range may be longer than INT64_MAX ms. */

/*
 * Divide. Most ranges are shorter than 49 days, and the division of such numbers
 * takes a fraction of the time of others.
 */
static uint64_t time_steps_divide(uint64_t span, uint64_t step)
{
	if (span <= UINT32_MAX && step <= UINT32_MAX)
		return (uint32_t)span / (uint32_t)step;
	return span / step;
}

int64_t time_steps_add(int64_t ms, int64_t more)
{
	int64_t sum;

	if (__builtin_add_overflow(ms, more, &sum))
		return more < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

struct time_steps time_steps_of(int64_t from, int64_t to, int64_t step_ms)
{
	uint64_t span = (uint64_t)to - (uint64_t)from;
	uint64_t step = (uint64_t)step_ms;
	/*
	 * A time exactly at `to` belongs to the last step
	 * (docs/decisions.md, 99).
	 */
	uint64_t count = span / step + (span % step != 0);
	uint64_t last = span % step ? span % step : step;

	return (struct time_steps){ .from = from,
				    .to = to,
				    .step_ms = step_ms,
				    .count = count ? (size_t)count : 1,
				    .seconds = (double)step / 1e3,
				    .last_seconds = (double)last / 1e3 };
}

bool time_steps_has(const struct time_steps *s, int64_t ms)
{
	return ms >= s->from && ms <= s->to;
}

size_t time_steps_at(const struct time_steps *s, int64_t ms)
{
	size_t at = (size_t)time_steps_divide((uint64_t)ms - (uint64_t)s->from,
					      (uint64_t)s->step_ms);

	return at < s->count ? at : s->count - 1;
}

int64_t time_steps_begin(const struct time_steps *s, size_t i)
{
	return (int64_t)((uint64_t)s->from + i * (uint64_t)s->step_ms);
}

int64_t time_steps_end(const struct time_steps *s, size_t i)
{
	return i + 1 < s->count ? time_steps_begin(s, i + 1) : s->to;
}

double time_steps_seconds(const struct time_steps *s, size_t i)
{
	return i + 1 < s->count ? s->seconds : s->last_seconds;
}
