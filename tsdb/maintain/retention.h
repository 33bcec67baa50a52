/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention removes the parts that are too old, or that make the database too
 * large. It does not trust a system clock that has jumped (docs/decisions.md,
 * 86).
 *
 * Ownership: borrows the database.
 * Threads: the caller holds job_mu.
 */
#ifndef TSDB_MAINTAIN_RETENTION_H
#define TSDB_MAINTAIN_RETENTION_H

#include "tsdb/db/db.h"

/*
 * Removes the next part that retention selects. Returns 1 after a removal, 0 if
 * no part is selected, or an error if the part could not be removed.
 */
NODISCARD int retain_next(struct tsdb *db, struct err *err)
	REQUIRES(db->job_mu);

#endif
