/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks of WAL segments that the disk cannot read completely: a second name of
 * the file, *.unread, which keeps it when the log removes the segment. Whoever
 * reads it again is in wal_unread.h.
 *
 * Ownership: plain values; names of files are built and freed inside.
 * Threads: any; struct wal has the locks `unread_mu` and `mu`.
 */
#ifndef TSDB_WAL_WAL_MARK_H
#define TSDB_WAL_WAL_MARK_H

#include "tsdb/wal/wal.h"

/*
 * Mark the segment of the record at `lsn`: the record could not be read, or is
 * stored nowhere else. If the log does not have the segment open, the name
 * *.unread becomes its only one. An error: the mark is not durable, so the
 * caller may not yet write that it has passed the record. The log remembers it
 * for wal_mark_settle().
 */
NODISCARD int wal_mark_unread(struct wal *w, uint64_t lsn, struct err *err);

/*
 * Try again to make marks durable. An error: some are not yet. Then nothing may
 * be flushed and no block be made, because their LSNs might include those of
 * profiles that only such a segment has.
 */
NODISCARD int wal_mark_settle(struct wal *w, struct err *err);

#endif
