/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of a conprof data directory: its WAL and its memory-mapped chunks.
 *
 * Ownership, threads: those of the walk.
 */
#ifndef TSDB_TOOLS_CONPROF_HEAD_H
#define TSDB_TOOLS_CONPROF_HEAD_H

#include "tsdb/tools/conprof_walk.h"

/* Checkpoints are folders of segments; they come before what they replace. */
NODISCARD int walk_wal(struct walk *w, const char *dir, bool checkpoints,
		       struct err *err);

NODISCARD int walk_head(struct walk *w, const char *dir, struct err *err);

#endif
