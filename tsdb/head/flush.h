/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flush: profiles move from the WAL into their range's groups and values, so
 * that segments can go.
 *
 * Order on disk: values and new label sets, one sync; then heads, one sync;
 * then memory forgets the WAL positions. Until then readers use the WAL, and
 * after a failure nothing has changed.
 *
 * Ownership: flusher_free() frees; heads and WAL are borrowed.
 * Threads: one thread a flusher, and one flusher a range at a time.
 */
#ifndef TSDB_HEAD_FLUSH_H
#define TSDB_HEAD_FLUSH_H

#include "base/metrics.h"
#include "tsdb/head/head.h"
#include "tsdb/wal/wal.h"

struct flusher;

/* damaged counts profiles that are damaged in the WAL. */
struct flusher *flusher_new(struct wal *wal, const struct log *log,
			    struct metrics *metrics, struct metric *damaged);
void flusher_free(struct flusher *f);

/*
 * Flush the unflushed profiles below upto (UINT64_MAX: all) of each series of r
 * that has one below lsn. A profile that is damaged in the WAL is dropped,
 * counted and named.
 */
NODISCARD int flush_range(struct flusher *f, struct head *r, uint64_t lsn,
			  uint64_t upto, struct err *err);

#endif
