/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay: read the whole WAL at startup, cut off torn ends (records cut short
 * by a crash), and seal the segments that are not sealed.
 *
 * Threads: start-up only, before other threads exist.
 */
#ifndef TSDB_WAL_WAL_REPLAY_H
#define TSDB_WAL_WAL_REPLAY_H

#include "tsdb/wal/wal.h"

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
