/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading opens the heads and blocks on disk at startup, and removes what
 * interrupted operations left behind. What the disk fails to read stays in
 * place, and is opened later.
 *
 * Ownership: borrows the database.
 * Threads: at startup, before other threads exist; loading_retry() later, too.
 */
#ifndef TSDB_DB_LOADING_H
#define TSDB_DB_LOADING_H

#include "tsdb/db/db.h"

/* Return whether the string `s` ends with the string `end`. */
bool loading_ends_with(const char *s, const char *end);

/*
 * Open all blocks and add them to the view. Damaged blocks are set aside
 * (renamed), and unreadable ones are left out, for loading_retry(). Returns
 * ERR_IO when the directory cannot be listed, and ERR_UNSUPPORTED when a newer
 * version wrote a block.
 */
NODISCARD int loading_load_blocks(struct tsdb *db, struct err *err);

/*
 * Rename a damaged directory so that an operator can look at it, and log why;
 * *err says why when the function is called. The database goes on without it.
 */
NODISCARD int loading_set_aside(struct tsdb *db, const char *dir,
				const char *name, struct err *err);

/*
 * Open all heads and add them to the view. Damaged heads are set aside,
 * unreadable ones are left out. Errors as loading_load_blocks().
 */
NODISCARD int loading_load_heads(struct tsdb *db, struct err *err);

/*
 * Remove heads and blocks of which the view has a block that was made from
 * them. They exist when the last process was interrupted before it removed
 * them. Later the caller holds job_mu. Errors as db_supersede().
 */
NODISCARD int loading_drop_replaced(struct tsdb *db, struct err *err);

/*
 * Open what the disk failed to read before, and log what came of it. What it
 * still fails to read is no error. The caller holds job_mu. Errors as
 * loading_drop_replaced().
 */
NODISCARD int loading_retry(struct tsdb *db, struct err *err);

/* Free the list of what the disk failed to read. */
void loading_forget(struct tsdb *db);

/* Move unfinished snapshots of the last process to the trash. */
void loading_clean_snapshots(struct tsdb *db);

#endif
