/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshot: a data directory that shares the files of blocks by hard links.
 * Open heads are in it as blocks of their own.
 *
 * Ownership: borrows the database.
 * Threads: any; takes job_mu.
 */
#ifndef TSDB_SNAPSHOT_H
#define TSDB_SNAPSHOT_H

#include "tsdb/tsdb.h"

/*
 * Make snapshots/<name> in the data directory a data directory of its own,
 * with all that is stored now, without what is in open ranges unless `ranges`
 * is set. Blocks' files are linked. ERR_EXISTS: there is one of that name.
 */
NODISCARD int tsdb_snapshot(struct tsdb *db, const char *name, bool ranges,
			    struct err *err);

#endif
