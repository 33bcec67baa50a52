/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: which head a time belongs to, and which times are accepted.
 *
 * The time of a sample is compared only with the clock and the retention, never
 * with the times of other samples: otherwise one target whose clock is ahead
 * could make the samples of all other targets too old.
 *
 * Threads: pure functions.
 */
#ifndef TSDB_HEAD_WINDOW_H
#define TSDB_HEAD_WINDOW_H

#include "base/defs.h"
#include "base/err.h"
#include "base/trusted_clock.h"

/*
 * Length of a window, and how far in the future a time may be, in milliseconds.
 */
#define WINDOW_MS       (2LL * 3600 * 1000)
#define WINDOW_AHEAD_MS (10LL * 60 * 1000)

/* The start of the window that contains `ms`, which must not be negative. */
int64_t window_start(int64_t ms);

/*
 * Check whether a profile with time `ms` is accepted at the time `now`.
 * `retention_ms` is the maximum age; 0: no limit. ERR_INVALID: the time is out
 * of bounds; the message names the bound. ERR_AGAIN: it would be, but the clock
 * does not decide yet.
 */
NODISCARD int window_check(int64_t ms, const struct trusted_time *now,
			   int64_t retention_ms, struct err *err);

#endif
