/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open heads: the heads that take samples, one for each window of two hours.
 *
 * Ownership: borrows the database.
 * Threads: the caller holds append_mu, or is the only user during start-up.
 */
#ifndef TSDB_DB_OPEN_HEADS_H
#define TSDB_DB_OPEN_HEADS_H

#include "tsdb/db/db.h"

/* The window's range with the greatest opening LSN not above lsn. */
struct head *find_head(const struct tsdb *db, int64_t start, uint64_t lsn);

/* For a look at records whose range a start would have to make. */
struct head *head_in_memory(struct tsdb *db, int64_t start);

/* The window's range that takes samples; NULL without one. */
struct head *db_open_head(struct tsdb *db, int64_t start);

/*
 * The window's range that takes samples, opened with this LSN if need be.
 * ERR_LIMIT: too many are open.
 */
NODISCARD int db_head_for(struct tsdb *db, int64_t start, uint64_t lsn,
			  struct head **out, struct err *err);

struct unflushed db_unflushed(const struct segment_entry *e);

#endif
