/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: which range a time belongs to, and which times are accepted. Pure.
 *
 * Times are judged against the clock and the retention alone, never against
 * other series: one fast clock must not shut out all the others.
 *
 * Ownership: keeps nothing.
 * Threads: pure functions.
 */
#ifndef TSDB_HEAD_WINDOW_H
#define TSDB_HEAD_WINDOW_H

#include "base/defs.h"
#include "base/err.h"

#define WINDOW_MS       (2LL * 3600 * 1000)
#define WINDOW_AHEAD_MS (10LL * 60 * 1000)

/* The start of the window that holds ms (ms >= 0). */
int64_t window_start(int64_t ms);

/*
 * Whether a profile of this time is taken at now. retention_ms 0: any age.
 * ERR_INVALID says which bound it passes.
 */
NODISCARD int window_check(int64_t ms, int64_t now_ms, int64_t retention_ms,
			   struct err *err);

#endif
