/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: which head a time belongs to, and which times are accepted.
 *
 * Times are compared with the clock and the retention only, never with other
 * series: one clock that is ahead must not make the samples of all others too
 * old.
 *
 * Ownership: nothing is kept.
 * Threads: pure functions.
 */
#ifndef TSDB_HEAD_WINDOW_H
#define TSDB_HEAD_WINDOW_H

#include "base/defs.h"
#include "base/err.h"

/*
 * Length of a window, and how far in the future a time may be, in milliseconds.
 */
#define WINDOW_MS       (2LL * 3600 * 1000)
#define WINDOW_AHEAD_MS (10LL * 60 * 1000)

/* The start of the window that contains ms, which must not be negative. */
int64_t window_start(int64_t ms);

/*
 * Check whether a profile of time ms is accepted at now_ms. retention_ms 0: no
 * limit on age. ERR_INVALID: the time is out of bounds; the message names the
 * bound.
 */
NODISCARD int window_check(int64_t ms, int64_t now_ms, int64_t retention_ms,
			   struct err *err);

#endif
