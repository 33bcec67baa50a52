/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot is a data directory of its own which shares the files of blocks by
 * hard links. It has open heads as blocks (docs/decisions.md, 25).
 *
 * Ownership: borrows the database.
 * Threads: any; takes job_mu.
 */
#ifndef TSDB_SNAPSHOT_H
#define TSDB_SNAPSHOT_H

#include "tsdb/tsdb.h"

/*
 * Makes a snapshot of everything stored now in snapshots/<name> of the data
 * directory; open heads are included only if `ranges` is set. ERR_EXISTS: a
 * snapshot of that name exists. ERR_IO, ERR_NOSPACE: it could not be written,
 * and was removed.
 */
NODISCARD int tsdb_snapshot(struct tsdb *db, const char *name, bool ranges,
			    struct err *err);

#endif
