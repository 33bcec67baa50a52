/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations, sizes and times as text, in the formats of Prometheus.
 *
 * Threads: pure functions.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "base/bytes.h"
#include "base/err.h"

/*
 * Parse a duration into milliseconds: "1h30m", "15s", "500ms", "90d", "0". Each
 * unit appears at most once, in the order y w d h m s ms; a year has 365 days.
 * Returns ERR_INVALID, with an example in the message, for anything else and on
 * overflow.
 */
NODISCARD int duration_parse(struct str s, int64_t *ms, struct err *err);

/*
 * Write a duration that is not negative as text that duration_parse() converts
 * back to the same number, such as "1h30m" or "90d".
 */
void duration_format(int64_t ms, char out[32]);

/*
 * Parse a size into bytes: "512MB", "64KiB", "1.5GB", in upper or lower case. A
 * plain number counts bytes, and MB is 2^20 as in Prometheus' flags. Returns
 * ERR_INVALID for anything else and on overflow.
 */
NODISCARD int size_parse(struct str s, int64_t *bytes, struct err *err);

/*
 * Parse a time into milliseconds since the epoch: RFC 3339
 * ("2026-01-02T03:04:05.678Z", any offset), or relative to now_ms: "now",
 * "now-1h", "-1h". Also accepted, in UTC: "2026-01-02 03:04[:05]",
 * "2026-01-02", and "03:04[:05]" on the day of now_ms. Plain numbers are not
 * accepted, because only the caller knows their unit. A relative time that
 * overflows becomes the earliest or latest possible time. Returns ERR_INVALID
 * for any other text.
 */
NODISCARD int time_parse(struct str s, int64_t now_ms, int64_t *ms,
			 struct err *err);

/* Write a time in UTC as RFC 3339 with milliseconds. */
void time_format(int64_t ms, char out[40]);

#endif
