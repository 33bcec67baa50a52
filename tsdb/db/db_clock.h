/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trusted clock of a database: which profiles are too old or too new
 * (docs/decisions.md, 86 and 191). It begins with what the file `state` has, or
 * with the time of the newest profile.
 *
 * Threads: db_clock_time() any; the others while job_mu is held, or at
 * start-up.
 */
#ifndef TSDB_DB_DB_CLOCK_H
#define TSDB_DB_DB_CLOCK_H

#include "tsdb/db/db.h"

/* Begin with the retention clock in db->state, which has been loaded. */
void db_clock_begin(struct tsdb *db);

/* Return the current time, and whether it decides about profiles. */
struct trusted_time db_clock_time(struct tsdb *db);

/*
 * Return the current time as db_clock_time() does. Log a doubt when it begins,
 * and save the clock once an hour; if that fails, the only effect is that after
 * a restart the clock begins with an older value.
 */
struct trusted_time db_clock_keep(struct tsdb *db) REQUIRES(db->job_mu);

/* Trust the time of day, and save it. Errors as state_save(). */
NODISCARD int db_clock_confirm(struct tsdb *db, struct err *err);

#endif
