/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open heads are the heads that take samples, one for each window of two hours;
 * this file finds and creates them.
 *
 * Ownership: borrows the database, which holds the references.
 * Threads: the caller holds append_mu, or is the only thread during start-up.
 */
#ifndef TSDB_DB_OPEN_HEADS_H
#define TSDB_DB_OPEN_HEADS_H

#include "tsdb/db/db.h"

/*
 * Return the head of the window starting at `start` (ms) that a WAL record
 * with this LSN belongs to: of the window's generations (heads created one
 * after another), the one with the greatest opening LSN that is not above
 * `lsn`. NULL: there is none.
 */
struct head *open_heads_find(const struct tsdb *db, int64_t start,
			     uint64_t lsn);

/*
 * Create a head without files for this window, add it to the view, and
 * returns it. A read-only database uses it for WAL records without a head, for
 * which a writable database would create a head.
 */
struct head *head_in_memory(struct tsdb *db, int64_t start);

/* Return the head of the window that takes samples, or NULL. */
struct head *db_open_head(const struct tsdb *db, int64_t start)
	REQUIRES(db->append_mu);

/*
 * Set *out to the head of the window that takes samples; create a head with
 * this opening LSN if there is none. ERR_LIMIT: too many heads are open.
 * ERR_IO, ERR_NOSPACE: the head cannot be created.
 */
NODISCARD int db_head_for(struct tsdb *db, int64_t start, uint64_t lsn,
			  struct head **out, struct err *err)
	REQUIRES(db->append_mu);

/*
 * Return the entry that a head keeps in memory for a profile that is only in
 * the WAL.
 */
struct unflushed db_unflushed(const struct segment_entry *e);

#endif
