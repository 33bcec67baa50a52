/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write-ahead log: profiles as received, in segments. Format:
 * docs/format/segment.md.
 *
 * An LSN is a position, segment << 32 | offset. One appender at a time (the
 * caller locks); whoever needs durability calls wal_sync(), and those who call
 * it together share one fdatasync (group commit).
 *
 * Ownership: the log owns its segments; a reader takes a reference on the one
 * it reads, which then stays readable though its file be gone.
 * Threads: wal_append(): the caller locks. All others: any.
 */
#ifndef TSDB_WAL_WAL_H
#define TSDB_WAL_WAL_H

#include "base/file.h"
#include "base/log.h"
#include "base/metrics.h"
#include "tsdb/wal/segment.h"

struct wal;
struct wal_segment;

struct wal_options {
	struct fs *fs;
	const char *dir; /* made when missing */
	uint64_t segment_size;
	bool read_only; /* change nothing on disk */
	const struct log *log;
	struct metrics *metrics;
	struct metric *torn; /* ends of segments that a start cuts off */
};

/*
 * Open all segments there are. ERR_UNSUPPORTED: another format. Nothing can
 * be appended before wal_replay().
 */
NODISCARD int wal_open(const struct wal_options *o, struct wal **out,
		       struct err *err);

/* Sync and close. NULL is a no-op. */
void wal_close(struct wal *w);

/*
 * Append a sample. *entry says where it is (its texts borrow from the sample).
 * ERR_NOSPACE, ERR_IO: nothing was appended.
 */
NODISCARD int wal_append(struct wal *w, const struct sample *s,
			 struct segment_entry *entry, struct err *err);

/* The LSN behind the last record: syncing up to it covers everything. */
uint64_t wal_end(struct wal *w);

/*
 * Return when all records before lsn are durable. ERR_IO when the disk
 * refused: some of them may never be.
 */
NODISCARD int wal_sync(struct wal *w, uint64_t lsn, struct err *err);

/*
 * Whether the record at lsn is in a segment whose sync failed, and was not
 * durable before: it can be read, but may not survive.
 */
bool wal_may_be_lost(struct wal *w, uint64_t lsn);

/* A reference on the segment that holds lsn; NULL when it is gone. */
struct wal_segment *wal_segment(struct wal *w, uint64_t lsn);
/*
 * The LSN before which no segment has records, those included that are left
 * alone on disk because they cannot be read.
 */
uint64_t wal_begin(struct wal *w);

/* Damaged stretches and segments found since the start. */
uint64_t wal_corruptions(const struct wal *w);

/* Bytes of all segments. */
uint64_t wal_bytes(struct wal *w);

#endif
