/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery: opens a database at startup, and replays WAL records into heads.
 *
 * Ownership: borrows the database.
 * Threads: startup only, before other threads exist.
 */
#ifndef TSDB_OPEN_RECOVERY_H
#define TSDB_OPEN_RECOVERY_H

#include "tsdb/db/db.h"

/*
 * Lock the data directory (unless read-only), open the WAL, heads and blocks,
 * replays the WAL and complete interrupted removals. Returns ERR_BUSY when
 * another process holds the lock, ERR_INVALID when this is not a data
 * directory, ERR_UNSUPPORTED when a newer version wrote it, and ERR_IO when a
 * directory cannot be read or made. err must not be NULL.
 */
NODISCARD int db_load(struct tsdb *db, struct err *err);

#endif
