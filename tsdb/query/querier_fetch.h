/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetch single profiles: by lookup, or by a cursor over the chunks of a block.
 * Its public functions are in tsdb/querier.h.
 *
 * Ownership, threads: those of the querier.
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
 * Find the profile of a series at ms: the first part that has it counts.
 * ERR_NOTFOUND, or what kept us from looking.
 */
NODISCARD int querier_lookup(struct querier *q, size_t i, int64_t ms,
			     struct wal *wal, struct found *f, struct err *err);

#endif
