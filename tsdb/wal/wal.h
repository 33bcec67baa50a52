/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write-ahead log (WAL): profiles as received, in segment files, before a flush
 * moves them into a head. Format: docs/format/segment.md.
 *
 * A log sequence number (LSN) is a position: segment << 32 | offset
 * (docs/decisions.md, 2). One thread at a time may append. A thread that needs
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

/*
 * Options for opening a log. wal_open() copies the struct, but what its
 * pointers refer to is borrowed.
 */
struct wal_options {
	struct fs *fs;
	const char *dir;       /* directory of the log; created if missing */
	uint64_t segment_size; /* bytes after which a new segment begins */
	/* Whether the log is only read: no file is changed. */
	bool read_only;
	/*
	 * Whether remote write reads the log: segments that are dropped are
	 * held until sample_log.keep() has passed them.
	 */
	bool hold;
	/*
	 * Whether the directory had a log before, even if none of its files is
	 * left. wal_open() then warns if wal/numbers is missing.
	 */
	bool was_used;
	/*
	 * Whether there are no heads (everprof agent): sample_log.keep() alone
	 * decides which segments are removed.
	 */
	bool no_heads;
	const struct log *log;
	struct metrics *metrics;
	/*
	 * Counts segments with a torn end (a last record cut short by a crash).
	 */
	struct metric *torn;
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
 * Sync and seal the current segment (write a directory at its end), and close
 * the log. Failures are ignored: a caller that needs durability calls
 * wal_sync() first, and the next startup scans a segment that is not sealed.
 * NULL is a no-op.
 */
void wal_close(struct wal *w);

/*
 * Append a sample. Its record is in the operating system's cache, and not
 * durable before wal_sync(). *entry is set to describe the record; the texts in
 * *entry borrow from the sample. ERR_NOSPACE, ERR_IO, ERR_TOOBIG: nothing was
 * appended.
 */
NODISCARD int wal_append(struct wal *w, const struct sample *s,
			 struct segment_entry *entry, struct err *err);

/*
 * Append a sample that is stored already, but may not have been sent: remote
 * write reads it (sample_log.read), and a replay passes over it. Locks and
 * errors as for wal_append().
 */
NODISCARD int wal_append_resend(struct wal *w, const struct sample *s,
				struct err *err);

/*
 * LSN after the last record. wal_sync() with this LSN makes the records of
 * its segment durable.
 */
uint64_t wal_end(struct wal *w);

/*
 * Wait until the records before `lsn` in its segment are durable. Returns at
 * once if the segment has been removed, because its profiles have then been
 * flushed. ERR_IO: the segment's sync failed, now or earlier, and some of its
 * records may be lost after a crash.
 */
NODISCARD int wal_sync(struct wal *w, uint64_t lsn, struct err *err);

/*
 * Wait until all records from the LSN `from` to `lsn` are durable, whichever
 * segments they are in. ERR_IO as for wal_sync(), also because of an earlier one
 * of these segments, until it has been removed.
 */
NODISCARD int wal_sync_range(struct wal *w, uint64_t from, uint64_t lsn,
			     struct err *err);

/*
 * Whether the record at `lsn` may be lost in a crash: the record was not yet
 * durable when the sync of its segment failed. The record can still be read. If
 * the same profile is appended again, it is not refused as a duplicate
 * (docs/decisions.md, 7).
 */
bool wal_may_be_lost(struct wal *w, uint64_t lsn);

/*
 * LSN at which the oldest segment begins. Segments that are kept because they
 * cannot be read are taken into account.
 */
uint64_t wal_begin(struct wal *w);

/* Number of damaged byte ranges and segments found since the log was opened. */
uint64_t wal_corruptions(const struct wal *w);

/* Total size of all segments in bytes. */
uint64_t wal_bytes(struct wal *w);

/*
 * The segment that holds `lsn`, with a reference that the caller releases with
 * wal_segment_unref(). NULL if the segment has been removed.
 */
struct wal_segment *wal_segment(struct wal *w, uint64_t lsn);

#endif
