/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: read the whole WAL at start-up, cut torn ends, seal segments.
 *
 * Ownership: nothing is kept.
 * Threads: start-up only, before other threads exist.
 */
#ifndef TSDB_WAL_WAL_REPLAY_H
#define TSDB_WAL_WAL_REPLAY_H

#include "tsdb/wal/wal.h"

/*
 * Write a segment's directory behind its records, which are durable: a start
 * believes it, and it must not outlive what it lists. Not synced: without it
 * the segment is only scanned at the next start, and a failure is told, no
 * more.
 */
void write_directory(struct wal *w, struct wal_segment *s,
		     const struct segment_dir *directory, uint64_t end);

/* Put a segment at the end of the list, to be appended to. */
void make_current(struct wal *w, struct wal_segment *s);

/* The first segment of this start. Without room for it, appends try again. */
NODISCARD int wal_replay_begin(struct wal *w, struct err *err);

/*
 * Call fn for every whole profile, in LSN order. Then, unless read-only: cut
 * torn tails, seal what is not sealed, and begin a segment whose number is
 * above floor. Damage is logged and counted, never an error.
 */
NODISCARD int wal_replay(struct wal *w, uint64_t floor, segment_entry_fn fn,
			 void *ctx, struct err *err);

#endif
