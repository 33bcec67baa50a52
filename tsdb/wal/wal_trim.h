/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trim the WAL: tell which segments should be flushed, and remove those that
 * are no longer needed.
 *
 * Ownership: nothing is kept.
 * Threads: any.
 */
#ifndef TSDB_WAL_WAL_TRIM_H
#define TSDB_WAL_WAL_TRIM_H

#include "tsdb/wal/wal.h"

/*
 * The number of the oldest segment that should be flushed: the oldest one
 * while the log is larger than budget, or one whose sync failed. 0: none.
 */
uint64_t wal_overdue(struct wal *w, uint64_t budget);

/* The number of the oldest segment but the current one; 0 without any. */
uint64_t wal_oldest(struct wal *w);

/*
 * Begin an empty segment, so that all others can be dropped: at a clean stop,
 * when nothing is only in the WAL.
 */
NODISCARD int wal_retire(struct wal *w, struct err *err);

/* Remove segments up to this number, but never the current one. */
NODISCARD int wal_drop(struct wal *w, uint64_t upto, struct err *err);

#endif
