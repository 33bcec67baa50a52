/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tombstones of a head: its tombstone intervals, kept in a file of their own.
 *
 * Ownership: the head owns its tombstone intervals.
 * Threads: as noted at each function.
 */
#ifndef TSDB_HEAD_HEAD_TOMBSTONES_H
#define TSDB_HEAD_HEAD_TOMBSTONES_H

#include "tsdb/head/head.h"

/*
 * Delete the profiles of these series in [from, to] that exist now, durably;
 * profiles that come later are not affected. lsn is the last LSN written. No
 * flush of the head may run meanwhile. ERR_TOOBIG, ERR_NOSPACE, ERR_IO: the
 * file could not be written; the profiles are hidden until the next start.
 */
NODISCARD int head_delete(struct head *r, const struct postings *series,
			  int64_t from, int64_t to, uint64_t lsn,
			  struct err *err);

/*
 * Read the file of tombstones, after the log, for head_open(). A damaged file
 * is logged and counted, and its deletions are undone. Start-up only.
 */
void head_load_tombstones(struct head *r);

#endif
