/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This file registers the metrics of the storage engine when a database is
 * opened.
 */
#include "tsdb/db/db.h"

#include "base/mem.h"

#define COUNTER(...) METRIC_ROW(COUNTER, struct tsdb_metrics, __VA_ARGS__)

static const struct metric_row rows[] = {
	COUNTER(appended, "everprof_tsdb_head_samples_appended_total",
		"Profiles written to the WAL and added to a head block."),
	COUNTER(duplicates, "everprof_tsdb_duplicate_samples_total",
		"Profiles not stored again because the same profile was already stored."),
	COUNTER(conflicts, "everprof_tsdb_conflicting_samples_total",
		"Profiles refused because a different profile of the "
		"series is stored at the same time."),
	COUNTER(out_of_bounds, "everprof_tsdb_out_of_bound_samples_total",
		"Profiles refused because their time is too old or "
		"in the future."),
	COUNTER(flushes, "everprof_tsdb_flushes_total",
		"Flushes of the WAL into head blocks that succeeded."),
	COUNTER(flush_failures, "everprof_tsdb_flushes_failed_total",
		"Flushes that failed; the profiles stay in the WAL and the flush is retried."),
	COUNTER(value_bytes, "everprof_tsdb_value_bytes_read_total",
		"Bytes of stored chunks read to answer queries."),
	COUNTER(damaged, "everprof_tsdb_profiles_damaged_total",
		"Profiles that could not be read because their bytes "
		"on disk are damaged."),
	COUNTER(torn, "everprof_tsdb_torn_ends_total",
		"Torn ends of logs (incomplete last records) that were cut off at startup; normal after a crash or a power cut."),
	COUNTER(recovered, "everprof_tsdb_profiles_recovered_total",
		"Profiles restored from the WAL at startup because no head block or block had them."),
	COUNTER(seals, "everprof_tsdb_seals_total",
		"Head blocks that were sealed (rewritten as blocks)."),
	COUNTER(compactions, "everprof_tsdb_compactions_total",
		"Compactions of blocks that succeeded."),
	COUNTER(compaction_failures, "everprof_tsdb_compactions_failed_total",
		"Compactions of blocks that failed; the blocks stay unchanged."),
	COUNTER(time_retentions, "everprof_tsdb_time_retentions_total",
		"Blocks and head blocks removed because they were "
		"older than the retention time."),
	COUNTER(size_retentions, "everprof_tsdb_size_retentions_total",
		"Blocks and head blocks removed because the database "
		"was larger than the retention size."),
	COUNTER(no_space, "everprof_tsdb_no_space_total",
		"Writes that failed because the disk was full."),
	COUNTER(deleted, "everprof_tsdb_deletions_total",
		"Requests to delete profiles that succeeded."),
	COUNTER(corruptions, "everprof_tsdb_range_corruptions_total",
		"Damaged records and files found in head blocks and blocks."),
};

/*
 * All counters are created with the value 0 when the database is opened, so
 * that a monitoring system sees their first increment.
 */
void db_register_metrics(struct tsdb *db)
{
	metrics_register(db->o.metrics, rows, ARRAY_SIZE(rows), &db->metrics);
	/*
	 * Heads and blocks have no pointer to the database, only to their
	 * environment.
	 */
	db->env.torn = db->metrics.torn;
	db->env.corruptions = db->metrics.corruptions;
}
