/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/retry.h"

#include <time.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"

#define RETRY_AFTER_MAX_MS (3600LL * 1000)

enum retry_verdict retry_decide(const struct retry_attempt *a)
{
	/*
	 * A status of 2xx is no proof that the profiles are stored: a login
	 * page or a captive portal may send it, too.
	 */
	if (a->status / 100 == 2)
		return a->judged && a->written >= a->samples ? RETRY_SENT :
							       RETRY_LATER;
	if (a->status == 413)
		return a->samples > 1 ? RETRY_SPLIT : RETRY_DROP;
	if (a->status == 400 && a->judged)
		return RETRY_DROP;
	return RETRY_LATER;
}

/*
 * Return the time of the HTTP date `value` in ms since the epoch. Return 0 if
 * `value` is not a date, or is one in an obsolete form, which servers must not
 * send any more (RFC 9110, 5.6.7).
 */
static int64_t date_ms(const char *value)
{
	struct tm tm = { 0 };
	const char *end = strptime(value, "%a, %d %b %Y %H:%M:%S GMT", &tm);

	return end && !*end ? (int64_t)timegm(&tm) * 1000 : 0;
}

int64_t retry_after_ms(const char *value, int64_t now_ms)
{
	int64_t ms = 0;

	if (str_to_i64(str_of(value), &ms) && ms > 0)
		ms = ms > RETRY_AFTER_MAX_MS / 1000 ? RETRY_AFTER_MAX_MS :
						      ms * 1000;
	else
		ms = date_ms(value) ? date_ms(value) - now_ms : 0;
	if (ms < 0)
		return 0;
	return ms > RETRY_AFTER_MAX_MS ? RETRY_AFTER_MAX_MS : ms;
}

uint64_t retry_random(void)
{
	int64_t now = clock_mono_ns();

	return hash_key((struct bytes){ (const uint8_t *)&now, sizeof(now) });
}

int64_t retry_backoff_ms(const struct retry_bounds *b, unsigned attempt,
			 uint64_t random)
{
	int64_t ms = b->min_ms;

	while (--attempt && ms < b->max_ms)
		ms *= 2;
	if (ms > b->max_ms)
		ms = b->max_ms;
	return ms / 2 + (int64_t)(random % (uint64_t)(ms - ms / 2 + 1));
}
