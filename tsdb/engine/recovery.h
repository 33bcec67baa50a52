/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery is the sequence of steps at start-up: it opens what is on disk and
 * replays WAL records into heads.
 *
 * Ownership: borrows the database.
 * Threads: start-up only, before other threads exist.
 */
#ifndef TSDB_ENGINE_RECOVERY_H
#define TSDB_ENGINE_RECOVERY_H

#include "tsdb/db/db.h"

/*
 * Locks the data directory (unless read-only), opens WAL, heads and blocks,
 * replays the WAL and completes interrupted removals. ERR_BUSY: another process
 * holds the lock. ERR_INVALID: not a data directory. ERR_UNSUPPORTED: written
 * by a newer version. ERR_IO: a directory cannot be read or made. err must not
 * be NULL.
 */
NODISCARD int db_load(struct tsdb *db, struct err *err);

#endif
