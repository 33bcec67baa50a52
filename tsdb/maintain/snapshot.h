/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot is a copy of the data directory, which can be opened as a
 * database. It shares the files of blocks by hard links. The profiles of open
 * heads are written to it as blocks (docs/decisions.md, 25).
 *
 * Ownership: borrows the database.
 * Threads: any; takes job_mu.
 */
#ifndef TSDB_MAINTAIN_SNAPSHOT_H
#define TSDB_MAINTAIN_SNAPSHOT_H

#include "base/limits.h"
#include "tsdb/db/options.h"

struct tsdb;

/*
 * Make a snapshot of everything that is stored now, in snapshots/NAME in the
 * data directory. Open heads are included only if `ranges` is set. Returns
 * ERR_EXISTS when a snapshot of that name exists. Returns ERR_IO or ERR_NOSPACE
 * when the snapshot could not be written, ERR_CLOSED when tsdb_interrupt() was
 * called meanwhile, or an error of the limits (NULL: none); the incomplete
 * snapshot is then removed.
 */
NODISCARD int tsdb_snapshot(struct tsdb *db, const char *name, bool ranges,
			    const struct limits *limits, struct err *err);

#endif
