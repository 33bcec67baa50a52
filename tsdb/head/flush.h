/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flush: moves the unflushed profiles of a head from the WAL into chunks in the
 * head's files, so that WAL segments can be removed.
 *
 * A flush first writes the values and calls fsync. It then appends new label
 * sets and chunk metadata to the head's log and calls fsync. Only then does it
 * make the chunks visible to readers and drop the WAL positions of their
 * profiles from memory. Before this last step, readers read the profiles from
 * the WAL, and a failure changes nothing.
 *
 * Ownership: flusher_free() frees the flusher; heads and WAL are borrowed.
 * Threads: one thread per flusher, and one flusher per head at a time.
 */
#ifndef TSDB_HEAD_FLUSH_H
#define TSDB_HEAD_FLUSH_H

#include "base/metrics.h"
#include "tsdb/head/head.h"
#include "tsdb/wal/wal.h"

struct flusher;

/*
 * Create a flusher, which the caller owns. `damaged` counts profiles that
 * cannot be read from the WAL.
 */
struct flusher *flusher_new(struct wal *wal, const struct log *log,
			    struct metrics *metrics, struct metric *damaged);

/* Free the flusher. NULL is a no-op. */
void flusher_free(struct flusher *f);

/*
 * For each series of the head `r` that has an unflushed profile with an LSN
 * below `lsn`, flush the unflushed profiles of the series with LSNs below
 * `upto` (UINT64_MAX: all of them). A profile that is damaged in the WAL is not
 * an error: it is dropped, counted, and logged with its series and time.
 * ERR_AGAIN: the disk did not answer reads of the WAL; the profiles of some
 * series are still unflushed. After a longer outage (outage.h) such profiles
 * are left out like damaged ones, and their segments are marked, so that they
 * are set aside. ERR_NOSPACE, ERR_IO: the chunks are written in batches, and
 * the profiles of the batch that failed, and of later ones, are still
 * unflushed. ERR_IO also if what an earlier failure left in the head's log
 * cannot be cut off yet.
 */
NODISCARD int flush_range(struct flusher *f, struct head *r, uint64_t lsn,
			  uint64_t upto, struct err *err);

#endif
