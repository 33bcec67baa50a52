/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This file provides statistics about a database, for status pages and metrics.
 *
 * Ownership: borrows the database.
 * Threads: any.
 */
#ifndef TSDB_STATS_H
#define TSDB_STATS_H

#include "tsdb/tsdb.h"

/* Current sizes and counts, and the limits that apply. */
struct tsdb_stats {
	uint64_t series;      /* distinct label sets in open heads */
	uint64_t head_series; /* series, summed over all open heads */
	uint64_t heads;
	uint64_t blocks;
	uint64_t block_bytes;
	uint64_t block_samples;
	uint64_t unflushed; /* unflushed profiles */
	uint64_t wal_bytes;
	uint64_t values_bytes; /* of heads */
	uint64_t groups_bytes; /* of heads: chunk metadata */
	uint64_t ballast_bytes;
	uint64_t storage_bytes;   /* everything but snapshots */
	uint64_t series_limit;    /* of head_series; 0: no bound */
	uint64_t unflushed_limit; /* of `unflushed` */
	uint64_t wal_limit;       /* of wal_bytes */
	uint64_t retention_bytes; /* of the whole database; 0: no bound */
	uint64_t open_queriers;
	int64_t clock_doubt_ms; /* since the clock jumped; 0: no doubt */
	int64_t min_ms;         /* start of the oldest part; 0 without any */
	int64_t max_ms;         /* end of the newest part */
};

/*
 * Returns the damage found since the start: damaged stretches of logs, files
 * and profiles. The torn end of a log after a power cut is no damage.
 */
uint64_t tsdb_damage(struct tsdb *db);

/*
 * Returns the number of profiles in the WAL that should be in a head or block
 * and are in none. Unless the database is read-only, they have been stored
 * again.
 */
uint64_t tsdb_recovered(struct tsdb *db);

/* Sets *out to the current statistics. */
void tsdb_stats(struct tsdb *db, struct tsdb_stats *out);

#endif
