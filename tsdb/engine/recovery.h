/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery: the order of start-up, and the replay of WAL records into heads.
 *
 * Ownership: borrows the database.
 * Threads: start-up only, before other threads exist.
 */
#ifndef TSDB_ENGINE_RECOVERY_H
#define TSDB_ENGINE_RECOVERY_H

#include "tsdb/db/db.h"

NODISCARD int db_load(struct tsdb *db, struct err *err);

#endif
