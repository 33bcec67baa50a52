/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WAL loss: the profiles that segments had and do not have any more, because
 * their files were cut short, emptied, exchanged or removed. The first record of
 * each segment says how many profiles the segment before it had, and of which
 * times (docs/format/segment.md); a replay compares this with what it finds.
 *
 * Ownership: the log owns its losses.
 * Threads: losses are noted by the replay at startup, and do not change later.
 */
#ifndef TSDB_WAL_WAL_LOSS_H
#define TSDB_WAL_WAL_LOSS_H

#include "model/sample_log.h"
#include "tsdb/wal/wal.h"

/*
 * Compare what a segment says about the one before it with `found`, the last
 * segment that a replay has read (its number is 0 if there is none). What is
 * missing is noted, counted and logged, unless the file is kept elsewhere. If no
 * segment was read before, the missing one was probably removed on purpose: then
 * it is only noted, for readers that know that they have not read it.
 */
void wal_loss_check(struct wal *w, const struct segment_summary *stated,
		    const struct segment_summary *found);

/* The losses of the segments with numbers from `from` to before `to`. */
struct sample_loss wal_loss_between(const struct wal *w, uint64_t from,
				    uint64_t to);

/* Whether a replay has found that profiles of a segment are missing. */
bool wal_loss_has(const struct wal *w, uint64_t from, uint64_t to);

/* Whether a loss that a replay has found may include profiles of a segment. */
bool wal_loss_covers(const struct wal *w, uint64_t number);

#endif
