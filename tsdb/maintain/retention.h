/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention: remove the parts that are too old, or that make the database too
 * large. A clock that jumped is not trusted.
 *
 * Ownership: borrows the database.
 * Threads: the caller holds job_mu.
 */
#ifndef TSDB_MAINTAIN_RETENTION_H
#define TSDB_MAINTAIN_RETENTION_H

#include "tsdb/db/db.h"

/* Remove the next part that retention says: 1 when there was one. */
NODISCARD int retain_next(struct tsdb *db, struct err *err);

/* What retention by time takes for now. */
int64_t db_retention_now(struct tsdb *db);

#endif
