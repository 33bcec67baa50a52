/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics about a database, for status pages and metrics.
 *
 * Ownership: borrows the database.
 * Threads: any.
 */
#ifndef TSDB_MAINTAIN_STATS_H
#define TSDB_MAINTAIN_STATS_H

#include "tsdb/db/options.h"

struct tsdb;

/* Current sizes and counts, and the limits that apply. */
struct tsdb_stats {
	uint64_t series; /* distinct label sets in all open heads */
	/*
	 * Series of the open heads, counted once for each head, and once more
	 * for each KiB of labels (series_weight()).
	 */
	uint64_t head_weight;
	uint64_t heads;
	uint64_t blocks;
	uint64_t block_bytes;
	uint64_t block_samples;
	uint64_t unflushed; /* number of profiles that are only in the WAL */
	uint64_t wal_bytes;
	uint64_t values_bytes; /* bytes of the values of heads */
	uint64_t groups_bytes; /* bytes of the chunk metadata of heads */
	uint64_t ballast_bytes;
	uint64_t storage_bytes;   /* bytes of everything except snapshots */
	uint64_t series_limit;    /* maximum of head_weight; 0: no limit */
	uint64_t unflushed_limit; /* maximum of `unflushed` */
	uint64_t wal_limit;       /* maximum of wal_bytes */
	/* Maximum size of the whole database in bytes; 0: no limit. */
	uint64_t retention_bytes;
	uint64_t open_queriers;
	/*
	 * How long the system clock has been in doubt after a jump, in ms; 0:
	 * it is trusted.
	 */
	int64_t clock_doubt_ms;
	/* Start of the oldest part, in ms; 0 if there are no parts. */
	int64_t min_ms;
	int64_t max_ms; /* end of the newest part, in ms, exclusive */
};

/*
 * Return the amount of damage found since startup: damaged parts of logs,
 * files and profiles. A torn log end after a power cut is not counted.
 */
uint64_t tsdb_damage(struct tsdb *db);

/*
 * Return the number of WAL records whose profile should have been in a head or
 * block when the database was opened, but was not. Unless the database is
 * read-only, these profiles have been stored again.
 */
uint64_t tsdb_recovered(struct tsdb *db);

/* Set *out to the current statistics. */
void tsdb_stats(struct tsdb *db, struct tsdb_stats *out);

#endif
