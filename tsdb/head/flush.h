/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flush: moves the unflushed profiles of a head from the WAL into chunks in the
 * head's files, so that WAL segments can be removed.
 *
 * Order of writes: values, one fsync; then the log with new label sets and
 * chunk metadata, one fsync; then the chunks are made visible in memory and the
 * WAL positions dropped. Until then readers use the WAL, and after a failure
 * nothing has changed.
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
 * Create a flusher, which the caller owns. damaged counts profiles that cannot
 * be read from the WAL.
 */
struct flusher *flusher_new(struct wal *wal, const struct log *log,
			    struct metrics *metrics, struct metric *damaged);

/* Free the flusher. NULL is a no-op. */
void flusher_free(struct flusher *f);

/*
 * Flush each series of r that has an unflushed profile below lsn: all its
 * profiles below upto (UINT64_MAX: all). A profile that is damaged in the WAL
 * is dropped, counted and logged with its series and time; it is no error.
 * ERR_NOSPACE, ERR_IO: what the last commit did not cover is as before. ERR_IO
 * also if an earlier failure left the head's files in an unknown state.
 */
NODISCARD int flush_range(struct flusher *f, struct head *r, uint64_t lsn,
			  uint64_t upto, struct err *err);

#endif
