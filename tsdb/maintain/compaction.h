/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction: merge the blocks that the planner picks.
 *
 * Ownership: borrows the database.
 * Threads: the caller holds job_mu.
 */
#ifndef TSDB_MAINTAIN_COMPACTION_H
#define TSDB_MAINTAIN_COMPACTION_H

#include "tsdb/db/db.h"

/* Compact what the planner picks: 1 when there was something. */
NODISCARD int compact_next(struct tsdb *db, struct err *err);

#endif
