/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealing: turn heads into blocks.
 *
 * Ownership: borrows the database.
 * Threads: the caller holds job_mu.
 */
#ifndef TSDB_MAINTAIN_SEALING_H
#define TSDB_MAINTAIN_SEALING_H

#include "tsdb/db/db.h"

/*
 * From here on the window's next generation takes samples. False: the range is
 * empty, and still open: the next generation would have its name, for no LSN
 * lies between them.
 */
bool sealing_close_head(struct tsdb *db, struct head *r);

/*
 * Take an empty range away: its name is free before anybody can make another
 * of that name.
 */
NODISCARD int remove_empty(struct tsdb *db, struct head *r, struct err *err);

/* Seal the next range that is due: 1 when there was one. */
NODISCARD int seal_next(struct tsdb *db, bool all, struct err *err);

#endif
