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
 * Run one round: applies retention, seals heads that are due (all heads if
 * seal_all is set), compacts. If a job fails, the error is logged, and the
 * other jobs still run; the first error is returned. err must not be NULL.
 */
NODISCARD int db_maintain(struct tsdb *db, bool seal_all, struct err *err);

/*
 * Run the next compaction that the planner asks for. Returns 1 after a
 * compaction, and 0 if there is nothing to compact. Returns ERR_NOSPACE when
 * the disk has too little free space. Other errors as rewrite_blocks().
 */
NODISCARD int compaction_next(struct tsdb *db, struct err *err)
	REQUIRES(db->job_mu);

/*
 * Try everything that was set aside, at most every five minutes, or always if `all`
 * is set. What the disk still cannot read stays for the next time, and is no
 * error. Returns 0 when done. ERR_NOSPACE, ERR_LIMIT, ERR_IO: profiles cannot
 * be stored now; the rest is tried again later.
 */
NODISCARD int readmission_next(struct tsdb *db, bool all, struct err *err);

/*
 * Remove the next part that retention selects. Returns 1 after a removal, 0 if
 * no part is selected, or an error if the part could not be removed.
 */
NODISCARD int retention_next(struct tsdb *db, struct err *err)
	REQUIRES(db->job_mu);

#endif
