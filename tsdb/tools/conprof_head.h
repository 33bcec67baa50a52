/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the head of a conprof data directory: its write-ahead log (WAL) and the
 * files of its memory-mapped chunks.
 *
 * Ownership: borrows the walk.
 * Threads: one thread at a time for each walk.
 */
#ifndef TSDB_TOOLS_CONPROF_HEAD_H
#define TSDB_TOOLS_CONPROF_HEAD_H

#include "tsdb/tools/conprof_walk.h"

/*
 * Reads the WAL in `dir`: collects its series if w->names_only is set, else
 * visits its samples. With `checkpoints`, the segments in checkpoint folders
 * are read first, because their records are older than those of the other
 * segments. Damage is reported to the visitor. Returns the first error of the
 * visitor.
 */
NODISCARD int walk_wal(struct walk *w, const char *dir, bool checkpoints,
		       struct err *err);

/*
 * Visits the chunks in the files in `dir` (chunks_head/). The series must have
 * been collected from the WAL before. Damage is reported to the visitor.
 * Returns the first error of the visitor.
 */
NODISCARD int walk_head(struct walk *w, const char *dir, struct err *err);

#endif
