/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view is the list of heads and blocks that the database has. Readers take
 * references to all of them and need no lock from then on.
 *
 * Ownership: the database holds one reference to each part of its view.
 * Threads: any; view_mu guards the lists, a change needs append_mu as well.
 */
#ifndef TSDB_DB_VIEW_H
#define TSDB_DB_VIEW_H

#include "tsdb/db/db.h"

/* Add a head; the view takes over the caller's reference. */
void db_add_head(struct tsdb *db, struct head *r);

/*
 * Replace `parts` in the view by the block `b` (NULL: by nothing) in one step,
 * and releases the view's references to the parts. The view takes over the
 * caller's reference to `b`. The files of the parts stay. Takes append_mu.
 */
void db_replace(struct tsdb *db, const struct part *parts, size_t count,
		struct block *b);

/* As db_replace(), for callers that hold append_mu. */
void db_replace_locked(struct tsdb *db, const struct part *parts, size_t count,
		       struct block *b) REQUIRES(db->append_mu);

/*
 * Replace `parts` in the view by `child`, the block made from them (NULL: by
 * nothing), and removes the files of the parts. On error the parts' directories
 * could not yet be renamed; the removal is retried later.
 */
NODISCARD int db_supersede(struct tsdb *db, const struct part *parts,
			   size_t count, struct block *child, struct err *err);

/*
 * Replace `parts`, which could not be read completely, by `child`, the block
 * made from what could be read (NULL: by nothing). The directories of the parts
 * are renamed, not removed, so that an operator can look at them. Errors as
 * trash_rename_aside().
 */
NODISCARD int db_set_aside(struct tsdb *db, const struct part *parts,
			   size_t count, struct block *child, struct err *err);

/*
 * Remove `parts` on purpose, without a replacement. First the state file
 * records which WAL records belong to them (state_retire()), so that these
 * records are not recovered when the database is opened again. Errors as
 * state_retire() and db_supersede().
 */
NODISCARD int db_retire(struct tsdb *db, const struct part *parts, size_t count,
			struct err *err);

/*
 * Return an array of all parts of the view, with a reference to each: first
 * the blocks, then the heads, both oldest first. The caller frees it with
 * db_parts_free().
 */
struct part *db_parts(struct tsdb *db, size_t *count);

/* Release the references in the array `v`, and free it. */
void db_parts_free(struct part *v, size_t count);

/*
 * Return an array of all heads of the view, oldest first, with a reference to
 * each. The caller frees it with db_parts_free().
 */
struct part *db_heads(struct tsdb *db, size_t *count);

#endif
