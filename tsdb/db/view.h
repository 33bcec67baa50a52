/* SPDX-License-Identifier: Apache-2.0 */
/*
 * View: which heads and blocks the database has. Readers take counted
 * references to all of them and then need no lock.
 *
 * Ownership: the database holds one reference to each part of its view.
 * Threads: any; view_mu guards the lists, append_mu is held too to change them.
 */
#ifndef TSDB_DB_VIEW_H
#define TSDB_DB_VIEW_H

#include "tsdb/db/db.h"

void db_add_head(struct tsdb *db, struct head *r);

void db_add_block(struct tsdb *db, struct block *b);

/* Put a block (may be NULL) in the place of parts, whose references go. */
void db_replace(struct tsdb *db, const struct part *parts, size_t count,
		struct block *b);

/* The same with append_mu held. */
void db_replace_locked(struct tsdb *db, const struct part *parts, size_t count,
		       struct block *b);

/* Take parts out of the view, put child (may be NULL) in, remove their files. */
NODISCARD int db_supersede(struct tsdb *db, const struct part *parts,
			   size_t count, struct block *child, struct err *err);

/*
 * The same of parts that the disk did not give back whole: their directories
 * are renamed, for a person to look at.
 */
NODISCARD int db_set_aside(struct tsdb *db, const struct part *parts,
			   size_t count, struct block *child, struct err *err);

/*
 * The same of parts that are removed on purpose, with nothing in their place:
 * a start does not take what the WAL still has of them for lost.
 */
NODISCARD int db_retire(struct tsdb *db, const struct part *parts, size_t count,
			struct err *err);

/* All parts, referenced: blocks, then ranges, each older first. */
struct part *db_parts(struct tsdb *db, size_t *count);

void db_parts_free(struct part *v, size_t count);

/* The ranges alone. */
struct part *db_heads(struct tsdb *db, size_t *count);

#endif
