/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealing turns heads into blocks.
 *
 * Ownership: borrows the database.
 * Threads: the caller holds job_mu.
 */
#ifndef TSDB_MAINTAIN_SEALING_H
#define TSDB_MAINTAIN_SEALING_H

#include "tsdb/db/db.h"

/*
 * Closes a head, so that the next generation of its window takes new samples.
 * Returns false if the head is empty, in which case it stays open: the next
 * generation would get the same name, as no LSN lies between them.
 */
bool sealing_close_head(struct tsdb *db, struct head *r);

/*
 * Removes a head that is still empty. Its directory is renamed under append_mu,
 * so that the name is free before an append can create the head again. ERR_IO:
 * the rename failed.
 */
NODISCARD int remove_empty(struct tsdb *db, struct head *r, struct err *err)
	REQUIRES(db->job_mu);

/*
 * Seals the next head that the planner selects (any head if `all` is set).
 * Returns 1 if there was one, 0 if not. ERR_NOSPACE: it waits for free space.
 * Other errors as of flushing and compactor_run(); the head is retried later.
 */
NODISCARD int seal_next(struct tsdb *db, bool all, struct err *err)
	REQUIRES(db->job_mu);

#endif
