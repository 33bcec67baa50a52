/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading opens the heads and blocks that are on disk at start-up, and removes
 * what an interrupted operation left behind.
 *
 * Ownership: borrows the database.
 * Threads: start-up only, before other threads exist.
 */
#ifndef TSDB_ENGINE_LOADING_H
#define TSDB_ENGINE_LOADING_H

#include "tsdb/db/db.h"

/* Returns whether the string s ends with `end`. */
bool ends_with(const char *s, const char *end);

/*
 * Opens all blocks and adds them to the view. Damaged blocks are set aside,
 * unreadable ones are left out, superseded ones removed. ERR_IO: the directory
 * cannot be listed. ERR_UNSUPPORTED: a block was written by a newer version.
 */
NODISCARD int load_blocks(struct tsdb *db, struct err *err);

/*
 * Removes the heads that a block was made of: the last process was interrupted
 * before it could. Errors as db_supersede().
 */
NODISCARD int drop_sealed(struct tsdb *db, struct err *err);

/*
 * Opens all heads and adds them to the view. Damaged heads are set aside,
 * unreadable ones are left out. Errors as load_blocks().
 */
NODISCARD int load_heads(struct tsdb *db, struct err *err);

/* Adds snapshots that were being made to the trash. */
void clean_snapshots(struct tsdb *db);

#endif
