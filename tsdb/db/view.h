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

/* Adds a head; the view takes over the caller's reference. */
void db_add_head(struct tsdb *db, struct head *r);

/* Adds a block; the view takes over the caller's reference. */
void db_add_block(struct tsdb *db, struct block *b);

/*
 * Replaces parts by block b (may be NULL) in one step, and releases the view's
 * references to the parts. The view takes over the caller's reference to b. The
 * files of the parts are left alone. Takes append_mu.
 */
void db_replace(struct tsdb *db, const struct part *parts, size_t count,
		struct block *b);

/* As db_replace(), for callers that hold append_mu. */
void db_replace_locked(struct tsdb *db, const struct part *parts, size_t count,
		       struct block *b) REQUIRES(db->append_mu);

/*
 * Replaces parts by their child (may be NULL) in the view, and removes their
 * files. An error means that their directories could not yet be renamed; the
 * removal is retried later.
 */
NODISCARD int db_supersede(struct tsdb *db, const struct part *parts,
			   size_t count, struct block *child, struct err *err);

/*
 * Replaces parts that could not be read completely by their child (may be
 * NULL). Their directories are renamed, not removed, so that an operator can
 * look at them. Errors as rename_aside().
 */
NODISCARD int db_set_aside(struct tsdb *db, const struct part *parts,
			   size_t count, struct block *child, struct err *err);

/*
 * Removes parts on purpose, without a replacement. Their spans are first saved
 * in the state file, so that their WAL records are not recovered when the
 * database is opened again. Errors as state_retire() and db_supersede().
 */
NODISCARD int db_retire(struct tsdb *db, const struct part *parts, size_t count,
			struct err *err);

/*
 * Returns a referenced copy of the view, blocks before heads, each oldest
 * first; the caller frees it with db_parts_free().
 */
struct part *db_parts(struct tsdb *db, size_t *count);

/* Releases the references in v, and frees v. */
void db_parts_free(struct part *v, size_t count);

/*
 * Returns a referenced list of the heads only, oldest first; the caller frees
 * it with db_parts_free().
 */
struct part *db_heads(struct tsdb *db, size_t *count);

#endif
