/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maintenance: one round of retention, sealing and compaction. What to do is
 * the planner's decision; the other files of this folder carry it out.
 *
 * Ownership: borrows the database.
 * Threads: any; takes job_mu for each job.
 */
#ifndef TSDB_MAINTAIN_MAINTENANCE_H
#define TSDB_MAINTAIN_MAINTENANCE_H

#include "tsdb/db/db.h"

/* One round: seal what is due, compact, apply retention. */
NODISCARD int db_maintain(struct tsdb *db, bool seal_all, struct err *err);

#endif
