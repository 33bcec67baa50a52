/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tombstones of a head: what was deleted in it, in a file of its own.
 *
 * Ownership: those of the head.
 * Threads: as noted at each function.
 */
#ifndef TSDB_HEAD_HEAD_TOMBSTONES_H
#define TSDB_HEAD_HEAD_TOMBSTONES_H

#include "tsdb/head/head.h"

/*
 * Hide the profiles of these series in [from, to] that are there now, durably.
 * The range must not be flushed meanwhile. lsn is the last one there is.
 */
NODISCARD int head_delete(struct head *r, const struct postings *series,
			  int64_t from, int64_t to, uint64_t lsn,
			  struct err *err);

/* Read what was deleted, when the log has been read: for head_open(). */
void head_load_tombstones(struct head *r);

#endif
