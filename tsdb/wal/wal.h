/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write-ahead log (WAL): profiles as received, in segment files, before a flush
 * moves them into a head. Format: docs/format/segment.md.
 *
 * A log sequence number (LSN) is a position: segment << 32 | offset
 * (docs/decisions.md, 2). There is one appender at a time. A thread that needs
 * durability calls wal_sync(); threads that call it at the same time share one
 * fdatasync (group commit).
 *
 * Ownership: the log owns its segments. A reader takes a reference to the
 * segment it reads, which stays readable even after its file is removed.
 * Threads: wal_append(): the caller locks. All other functions: any.
 */
#ifndef TSDB_WAL_WAL_H
#define TSDB_WAL_WAL_H

#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"
#include "tsdb/wal/segment_format.h"

struct wal;
struct wal_segment;

/* How to open a log; copied, but what the pointers refer to is borrowed. */
struct wal_options {
	struct fs *fs;
	const char *dir;       /* created if missing */
	uint64_t segment_size; /* bytes after which a new segment begins */
	bool read_only;        /* no file is changed, nothing can be appended */
	const struct log *log;
	struct metrics *metrics;
	struct metric *torn; /* counts torn ends of segments */
};

/*
 * Open all segments in the directory. The caller owns *out and must call
 * wal_replay() before it appends. Segments whose header is unreadable are
 * logged, counted and left alone. ERR_UNSUPPORTED: a segment of another format
 * version. ERR_IO, ERR_NOSPACE: the directory cannot be read or created.
 */
NODISCARD int wal_open(const struct wal_options *o, struct wal **out,
		       struct err *err);

/*
 * Sync and seal the current segment and close the log. Failures are ignored: a
 * caller that needs durability calls wal_sync() first, and a segment that is
 * not sealed is scanned by the next start. NULL is a no-op.
 */
void wal_close(struct wal *w);

/*
 * Append a sample to the operating system's cache; it is not durable before
 * wal_sync(). *entry is set to its place, and its texts borrow from the sample.
 * ERR_NOSPACE, ERR_IO, ERR_TOOBIG: nothing was appended.
 */
NODISCARD int wal_append(struct wal *w, const struct sample *s,
			 struct segment_entry *entry, struct err *err);

/* LSN behind the last record: wal_sync() of it makes everything durable. */
uint64_t wal_end(struct wal *w);

/*
 * Wait until all records before lsn are durable. Returns at once if the segment
 * has been removed, which happens only after a flush. ERR_IO: the segment's
 * sync failed, now or earlier, and some of its records may be lost after a
 * crash.
 */
NODISCARD int wal_sync(struct wal *w, uint64_t lsn, struct err *err);

/*
 * Whether the record at lsn is in a segment whose sync failed and was not
 * durable before: it can still be read, but may not survive a crash. Such a
 * record does not make the same profile a duplicate (docs/decisions.md, 7).
 */
bool wal_may_be_lost(struct wal *w, uint64_t lsn);

/*
 * The segment that holds lsn, with a reference that the caller releases with
 * wal_segment_unref(). NULL if it has been removed.
 */
struct wal_segment *wal_segment(struct wal *w, uint64_t lsn);

/*
 * LSN before which no segment has records. Segments that are left alone on disk
 * because they cannot be read count as segments.
 */
uint64_t wal_begin(struct wal *w);

/* Number of damaged stretches and segments found since the start. */
uint64_t wal_corruptions(const struct wal *w);

/* Total size of all segments in bytes. */
uint64_t wal_bytes(struct wal *w);

#endif
