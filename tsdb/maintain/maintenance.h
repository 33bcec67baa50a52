/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maintenance runs one round of retention, sealing and compaction. The planner
 * decides what to do; the other files of this folder carry it out.
 *
 * Ownership: borrows the database.
 * Threads: any; takes job_mu for each job.
 */
#ifndef TSDB_MAINTAIN_MAINTENANCE_H
#define TSDB_MAINTAIN_MAINTENANCE_H

#include "tsdb/db/db.h"

/*
 * Runs one round: applies retention, seals heads that are due (all heads if
 * seal_all is set), compacts. If a job fails, the error is logged, and the
 * other jobs still run; the first error is returned. err must not be NULL.
 */
NODISCARD int db_maintain(struct tsdb *db, bool seal_all, struct err *err);

#endif
