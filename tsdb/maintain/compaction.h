/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction merges the blocks that the planner picks.
 *
 * Ownership: borrows the database.
 * Threads: the caller holds job_mu.
 */
#ifndef TSDB_MAINTAIN_COMPACTION_H
#define TSDB_MAINTAIN_COMPACTION_H

#include "tsdb/db/db.h"

/*
 * Runs the next compaction that the planner asks for. Returns 1 after a
 * compaction, and 0 if there is nothing to compact. Returns ERR_NOSPACE when
 * the disk has too little free space. Other errors as rewrite_blocks().
 */
NODISCARD int compact_next(struct tsdb *db, struct err *err)
	REQUIRES(db->job_mu);

#endif
