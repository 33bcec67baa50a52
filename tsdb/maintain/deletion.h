/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletion hides profiles at once, by tombstones (records of a series and a
 * deleted time interval). Sealing and compaction later leave out the hidden
 * profiles when they write blocks.
 *
 * Ownership: borrows the database.
 * Threads: any; takes job_mu, flush_mu and append_mu.
 */
#ifndef TSDB_MAINTAIN_DELETION_H
#define TSDB_MAINTAIN_DELETION_H

#include "base/limits.h"
#include "model/matcher.h"
#include "tsdb/db/options.h"

struct tsdb;

/*
 * Delete the profiles in [from, to] (ms) of all series that the matchers match
 * (count 0: all series). Samples appended later are not affected. When 0 is
 * returned, the deletion is durable. On failure (ERR_IO, ERR_NOSPACE,
 * ERR_CORRUPT) some of the profiles may be deleted; the caller may simply try
 * again. The limits (NULL: none) are asked while it waits for other jobs, and
 * while series are selected; their errors, and ERR_INVALID for a regular expression that takes too many steps,
 * are returned.
 */
NODISCARD int tsdb_delete(struct tsdb *db, const struct matcher *v,
			  size_t count, int64_t from, int64_t to,
			  const struct limits *limits, struct err *err);

#endif
