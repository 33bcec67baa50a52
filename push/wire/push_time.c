/* SPDX-License-Identifier: Apache-2.0 */
#include "push/wire/push_time.h"

#include "base/units.h"

/* The last time that nanoseconds since 1970 have room for. */
#define TIME_MAX_MS (INT64_MAX / 1000000)

static int push_time_far(const char *parameter, struct err *err)
{
	return err_set(err, ERR_INVALID,
		       "parameter \"%s\" must be a time from 1970 to 2262",
		       parameter);
}

int push_time_parse(const char *parameter, struct str text, int64_t now_ms,
		    int64_t *ms, struct err *err)
{
	int64_t n;

	*ms = 0;
	if (!text.len)
		return 0;
	if (!str_to_i64(text, &n)) {
		if (!time_parse(text, now_ms, ms, NULL))
			return *ms >= 0 && *ms <= TIME_MAX_MS ?
				       0 :
				       push_time_far(parameter, err);
		return err_set(
			err, ERR_INVALID,
			"parameter \"%s\": expected a Unix time or a time such as now-10s, not \"%.*s\"",
			parameter, STR_ARG(str_clip(text, 40)));
	}
	if (n < 0)
		return push_time_far(parameter, err);
	/* Each bound is in 2286 in its own unit, and in 1970 in the next finer one. */
	if (n < 10000000000)
		*ms = n * 1000;
	else if (n < 10000000000000)
		*ms = n;
	else if (n < 10000000000000000)
		*ms = n / 1000;
	else
		*ms = n / 1000000;
	return 0;
}
