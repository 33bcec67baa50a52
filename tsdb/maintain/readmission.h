/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readmission: takes back what the disk could not read. Heads and blocks that it
 * could not read at startup are opened. What was set aside (*.unread) is taken
 * once the disk reads all of it: the profiles of a WAL segment are appended
 * again, and a head block or block becomes a new block; profiles that are stored
 * already are not stored twice. Only then are the files removed.
 *
 * A profile that was deleted after its file had been set aside comes back.
 *
 * Ownership: nothing is kept.
 * Threads: the caller holds job_mu.
 */
#ifndef TSDB_MAINTAIN_READMISSION_H
#define TSDB_MAINTAIN_READMISSION_H

#include "tsdb/db/db.h"

/*
 * Tries everything that was set aside, at most every five minutes, or always if `all`
 * is set. What the disk still cannot read stays for the next time, and is no
 * error. Returns 0 when done. ERR_NOSPACE, ERR_LIMIT, ERR_IO: profiles cannot
 * be stored now; the rest is tried again later.
 */
NODISCARD int readmit_next(struct tsdb *db, bool all, struct err *err);

#endif
