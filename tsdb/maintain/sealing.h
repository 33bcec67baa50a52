/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealing turns heads whose window is over into blocks, when there is enough
 * free disk space.
 *
 * Ownership: borrows the database.
 * Threads: the caller holds job_mu.
 */
#ifndef TSDB_MAINTAIN_SEALING_H
#define TSDB_MAINTAIN_SEALING_H

#include "tsdb/db/db.h"

/*
 * Close a head: new samples of its window then go to a new head, the next
 * generation. An empty head stays open, and false is returned. The reason is
 * that heads are named by window and opening LSN: nothing was appended to an
 * empty head, so the next generation could have the same opening LSN, and the
 * same name.
 */
bool sealing_close_head(struct tsdb *db, struct head *r);

/*
 * Remove a head that is still empty. Its directory is renamed under append_mu,
 * before an append can create a head of that name again. Returns ERR_IO when
 * the rename failed.
 */
NODISCARD int sealing_remove_empty(struct tsdb *db, struct head *r,
				   struct err *err) REQUIRES(db->job_mu);

/*
 * Seal the next head that the planner selects (any head if `all` is set).
 * Returns 1 after sealing a head, 0 if none is selected. Returns ERR_NOSPACE
 * while sealing waits for free disk space. Other errors as db_flush_head() and
 * compactor_run(). After an error the head is tried again later.
 */
NODISCARD int sealing_next(struct tsdb *db, bool all, struct err *err)
	REQUIRES(db->job_mu);

/*
 * Seal the heads for which wanted() is true. Returns the first error; the
 * other heads are sealed all the same.
 */
NODISCARD int sealing_seal_some(struct tsdb *db,
				bool (*wanted)(const struct tsdb *db,
					       struct head *r),
				struct err *err);

#endif
