/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading opens the heads and blocks on disk at startup, and removes what
 * interrupted operations left behind.
 *
 * Ownership: borrows the database.
 * Threads: startup only, before other threads exist.
 */
#ifndef TSDB_ENGINE_LOADING_H
#define TSDB_ENGINE_LOADING_H

#include "tsdb/db/db.h"

/* Returns whether the string `s` ends with the string `end`. */
bool ends_with(const char *s, const char *end);

/*
 * Opens all blocks and adds them to the view. Damaged blocks are set aside
 * (renamed), unreadable ones are left out, and blocks that were compacted into
 * others are removed. Returns ERR_IO when the directory cannot be listed, and
 * ERR_UNSUPPORTED when a newer version wrote a block.
 */
NODISCARD int load_blocks(struct tsdb *db, struct err *err);

/*
 * Removes heads that have already been sealed into a block. They exist when the
 * last process was interrupted before it removed them. Errors as
 * db_supersede().
 */
NODISCARD int drop_sealed(struct tsdb *db, struct err *err);

/*
 * Opens all heads and adds them to the view. Damaged heads are set aside,
 * unreadable ones are left out. Errors as load_blocks().
 */
NODISCARD int load_heads(struct tsdb *db, struct err *err);

/* Moves unfinished snapshots of the last process to the trash. */
void clean_snapshots(struct tsdb *db);

#endif
