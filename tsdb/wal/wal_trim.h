/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trim the WAL: find the segments that should be flushed, and remove those that
 * are no longer needed.
 *
 * Threads: any, except wal_retire(), which belongs to the appender.
 */
#ifndef TSDB_WAL_WAL_TRIM_H
#define TSDB_WAL_WAL_TRIM_H

#include "tsdb/wal/wal.h"

/*
 * Number of the last segment that should be flushed and dropped now, together
 * with all segments before it; 0: none. A segment should be flushed if its sync failed,
 * if parts of it cannot be read, or if it could not be sealed. If there is no
 * such segment, but the log is larger than `budget` bytes, the oldest segment
 * should be flushed.
 */
uint64_t wal_overdue(struct wal *w, uint64_t budget);

/* Number of the oldest segment that wal_drop() may remove; 0: none. */
uint64_t wal_oldest(struct wal *w);

/*
 * Begin an empty segment, so that all other segments can be dropped: at a clean
 * stop, when all profiles have been flushed. Does nothing if the current segment is empty. Called by the appender. ERR_NOSPACE, ERR_IO: no segment could be created.
 */
NODISCARD int wal_retire(struct wal *w, struct err *err);

/*
 * Remove the segments with numbers up to and including `upto`, but never the
 * last one, not even if there is no current segment: its name tells the next
 * start which LSNs have been used. A segment that could
 * not be read in full stays under a second name (wal_unread.h). Fails with the
 * error of the first removal that fails; the file of that segment stays until
 * the next startup.
 */
NODISCARD int wal_drop(struct wal *w, uint64_t upto, struct err *err);

/*
 * Make durable what wal_drop() has removed: after a power cut, its segments may be
 * there again otherwise.
 */
NODISCARD int wal_drop_sync(struct wal *w, struct err *err);

/*
 * Implement sample_log.keep: remove the held segments that are before
 * `position`. A log without heads (wal_options.no_heads) removes its other
 * segments before `position`, too.
 */
void wal_keep(struct wal *w, uint64_t position);

#endif
