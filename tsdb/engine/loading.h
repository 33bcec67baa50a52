/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading: open the heads and blocks that are on disk at start-up, and remove
 * what an interrupted operation left behind.
 *
 * Ownership: borrows the database.
 * Threads: start-up only, before other threads exist.
 */
#ifndef TSDB_ENGINE_LOADING_H
#define TSDB_ENGINE_LOADING_H

#include "tsdb/db/db.h"

bool ends_with(const char *s, const char *end);

NODISCARD int load_blocks(struct tsdb *db, struct err *err);

/* Ranges that have become blocks, and could not be removed. */
NODISCARD int drop_sealed(struct tsdb *db, struct err *err);

NODISCARD int load_heads(struct tsdb *db, struct err *err);

/* Snapshots that were being made. */
void clean_snapshots(struct tsdb *db);

#endif
