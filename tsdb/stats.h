/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of a database.
 *
 * Ownership: borrows the database.
 * Threads: any.
 */
#ifndef TSDB_STATS_H
#define TSDB_STATS_H

#include "tsdb/tsdb.h"

struct tsdb_stats {
	uint64_t series;      /* label sets in open ranges */
	uint64_t head_series; /* the same, each once for each range */
	uint64_t heads;
	uint64_t blocks;
	uint64_t block_bytes;
	uint64_t block_samples;
	uint64_t pending; /* profiles that are only in the WAL */
	uint64_t wal_bytes;
	uint64_t values_bytes;
	uint64_t groups_bytes;
	uint64_t ballast_bytes;
	uint64_t series_limit;    /* of head_series; 0: no bound */
	uint64_t pending_limit;   /* of pending */
	uint64_t wal_limit;       /* of wal_bytes */
	uint64_t retention_bytes; /* of everything; 0: no bound */
	uint64_t open_queriers;
	int64_t clock_doubt_ms; /* since a jump of the clock; 0: none */
	int64_t min_ms;         /* start of the oldest range; 0 without any */
	int64_t max_ms;         /* end of the newest */
};

/*
 * Damage found since the start: stretches of logs, files, profiles. What a
 * power cut leaves at the end of a log is none.
 */
uint64_t tsdb_damage(struct tsdb *db);

/*
 * Profiles in the WAL that should be in a range or a block, and are in none.
 * One that is not read-only has taken them back.
 */
uint64_t tsdb_recovered(struct tsdb *db);

void tsdb_stats(struct tsdb *db, struct tsdb_stats *out);

#endif
