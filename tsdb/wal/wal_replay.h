/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: read the whole WAL at startup, cut off torn ends (records cut short
 * by a crash), and seal the segments that are not sealed.
 *
 * Ownership: nothing is kept.
 * Threads: start-up only, before other threads exist; write_directory(),
 * make_current() and wal_replay_begin() also run in the appender.
 */
#ifndef TSDB_WAL_WAL_REPLAY_H
#define TSDB_WAL_WAL_REPLAY_H

#include "tsdb/wal/wal.h"

/*
 * Write a segment's directory at offset `end`, after the records. The records
 * must be durable already. Startup trusts the directory, so a crash must not
 * lose a record that the directory lists (docs/decisions.md, 55). The directory
 * itself is not synced: without it, the next startup scans the segment. A
 * failure is logged and marks the segment as unsealed, so that it is flushed
 * soon.
 */
void write_directory(struct wal *w, struct wal_segment *s,
		     const struct segment_dir *directory, uint64_t end);

/*
 * Append s to the list of segments, and make s the current segment, which takes
 * appends. The list takes over the caller's reference.
 */
void make_current(struct wal *w, struct wal_segment *s);

/*
 * Create the first segment of this process. ERR_NOSPACE and other errors: the
 * log has no current segment yet, and wal_append() tries again.
 */
NODISCARD int wal_replay_begin(struct wal *w, struct err *err);

/*
 * Call `fn` for every intact profile, in the order of LSNs. Then, unless the
 * log is read-only, cut off torn ends, seal the unsealed segments, and create a
 * new segment with a number greater than `floor`. Always returns 0: damage,
 * segments that cannot be read, and a segment that cannot be created are logged
 * and counted.
 */
NODISCARD int wal_replay(struct wal *w, uint64_t floor, segment_entry_fn fn,
			 void *ctx, struct err *err);

#endif
