/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches single profiles: by a lookup in the index, or with a cursor over the
 * chunks of a block. The public functions that querier_fetch.c defines are
 * declared in tsdb/query/querier.h.
 *
 * Ownership: as for the querier.
 * Threads: one thread at a time for each querier.
 */
#ifndef TSDB_QUERY_QUERIER_FETCH_H
#define TSDB_QUERY_QUERIER_FETCH_H

#include "tsdb/query/querier_private.h"

/* Where a profile was found. */
struct found {
	struct part part;
	struct part_hit hit;
};

/*
 * Finds the profile of series i at exactly the time ms, in the oldest part that
 * has it. If the profile is unflushed and `wal` is not NULL, f->hit.segment is
 * set to its WAL segment, with a reference that the caller releases.
 * ERR_NOTFOUND: no part has the profile. ERR_CORRUPT, ERR_IO: a part that may
 * have it cannot be read.
 */
NODISCARD int querier_lookup(struct querier *q, size_t i, int64_t ms,
			     struct wal *wal, struct found *f, struct err *err);

#endif
