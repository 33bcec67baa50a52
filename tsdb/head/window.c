/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/head/window.h"

#include <inttypes.h>

#include "base/units.h"

/* Windows are aligned to 1970, so all heads and blocks have common borders. */
int64_t window_start(int64_t ms)
{
	return ms - ms % WINDOW_MS;
}

/*
 * Refuse a time that is out of bounds: for good, or for now, if the clock may
 * be wrong.
 */
static int window_refuse(int64_t ms, const struct trusted_time *now,
			 const char *bound, struct err *err)
{
	char text[40];

	time_format(ms, text);
	if (now->decides)
		return err_set(err, ERR_INVALID, "time %s is %s", text, bound);
	return err_set(
		err, ERR_AGAIN,
		"time %s is %s, or the clock of the server is wrong; the profile is refused for now, until this clock has run evenly for --clock.steady-for (if the server's log warns of its clock, correct or confirm the clock)",
		text, bound);
}

int window_check(int64_t ms, const struct trusted_time *now,
		 int64_t retention_ms, struct err *err)
{
	if (ms < 0)
		return err_set(err, ERR_INVALID,
			       "time %" PRId64 " ms is before 1970", ms);
	if (ms > now->latest_ms + WINDOW_AHEAD_MS)
		return window_refuse(ms, now,
				     "more than 10 minutes in the future", err);
	if (retention_ms && ms < now->earliest_ms - retention_ms)
		return window_refuse(ms, now,
				     "older than --storage.tsdb.retention.time",
				     err);
	return 0;
}
