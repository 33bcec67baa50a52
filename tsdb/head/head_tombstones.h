/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tombstone intervals of a head: deletion, and the file that keeps the
 * intervals.
 *
 * Ownership: the head owns its tombstone intervals.
 * Threads: as noted at each function.
 */
#ifndef TSDB_HEAD_HEAD_TOMBSTONES_H
#define TSDB_HEAD_HEAD_TOMBSTONES_H

#include "tsdb/head/head.h"

/*
 * Delete the profiles of these series in [from, to] that exist now, durably;
 * profiles that are stored later are not affected. `lsn` is the highest LSN of
 * all profiles stored so far: unflushed profiles with greater LSNs are not
 * hidden. No flush of the head may run meanwhile. ERR_TOOBIG, ERR_NOSPACE,
 * ERR_IO: the file could not be written; the profiles are hidden for now, but
 * come back when the database is opened again. ERR_IO also: the disk cannot read
 * what was deleted before, and nothing is deleted.
 */
NODISCARD int head_delete(struct head *r, const struct postings *series,
			  int64_t from, int64_t to, uint64_t lsn,
			  struct err *err);

/*
 * Read the file of tombstones for head_open(), which has read the log before. A
 * damaged or unread file is logged and counted, and profiles whose tombstone
 * intervals cannot be read become visible again. Called only when the database
 * is opened.
 */
void head_load_tombstones(struct head *r);

/*
 * Read the file again if the disk could not read it. ERR_IO: it still cannot. No
 * flush of the head may run meanwhile, and no other deletion.
 */
NODISCARD int head_reread_tombstones(struct head *r, struct err *err);

#endif
