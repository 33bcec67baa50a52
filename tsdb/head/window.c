/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/head/window.h"

#include <inttypes.h>

#include "base/units.h"

/* Windows are aligned to 1970, so all heads and blocks have common borders. */
int64_t window_start(int64_t ms)
{
	return ms - ms % WINDOW_MS;
}

int window_check(int64_t ms, int64_t now_ms, int64_t retention_ms,
		 struct err *err)
{
	char text[40];

	if (ms < 0)
		return err_set(err, ERR_INVALID,
			       "time %" PRId64 " ms is before 1970", ms);
	/* Only the messages below need the text. */
	time_format(ms, text);
	if (ms > now_ms + WINDOW_AHEAD_MS)
		return err_set(err, ERR_INVALID,
			       "time %s is more than 10 minutes in the future",
			       text);
	if (retention_ms && ms < now_ms - retention_ms)
		return err_set(
			err, ERR_INVALID,
			"time %s is older than --storage.tsdb.retention.time",
			text);
	return 0;
}
