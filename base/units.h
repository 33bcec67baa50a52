/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations and sizes as Prometheus writes them.
 *
 * Ownership: writes into the caller's buffers.
 * Threads: pure functions.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "base/bytes.h"
#include "base/err.h"

/*
 * "1h30m", "15s", "500ms", "90d", "0": each unit at most once, in the order
 * y w d h m s ms (a year has 365 days). ERR_INVALID says what is wrong.
 */
NODISCARD int duration_parse(struct str s, int64_t *ms, struct err *err);

/* The shortest text that duration_parse() reads back; at most 32 bytes. */
void duration_format(int64_t ms, char out[32]);

/*
 * "512MB", "64KiB", "1.5GB"; a number alone counts bytes, and MB is 2^20 as
 * in Prometheus' flags.
 */
NODISCARD int size_parse(struct str s, int64_t *bytes, struct err *err);

/*
 * A moment: RFC 3339 ("2026-01-02T03:04:05.678Z", any offset), "now", "now-1h"
 * or "-1h", judged against now_ms; or, in UTC, "2026-01-02 03:04[:05]",
 * "2026-01-02", and "03:04[:05]" of the day of now_ms. Plain numbers are not
 * times here: the caller knows their unit.
 */
NODISCARD int time_parse(struct str s, int64_t now_ms, int64_t *ms,
			 struct err *err);

/* RFC 3339 in UTC with milliseconds. */
void time_format(int64_t ms, char out[40]);

#endif
