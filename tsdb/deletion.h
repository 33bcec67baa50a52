/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletion: tombstones hide profiles at once; sealing and compaction leave
 * them out of what they write.
 *
 * Ownership: borrows the database.
 * Threads: any; takes job_mu, flush_mu and append_mu.
 */
#ifndef TSDB_DELETION_H
#define TSDB_DELETION_H

#include "model/matcher.h"
#include "tsdb/tsdb.h"

/*
 * Delete the profiles in [from, to] of all series that the matchers match, and
 * that are there now. Durable when it returns 0; a failure may leave some of
 * them deleted, and is repeated safely.
 */
NODISCARD int tsdb_delete(struct tsdb *db, const struct matcher *v,
			  size_t count, int64_t from, int64_t to,
			  struct err *err);

#endif
