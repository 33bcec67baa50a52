/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/db/db_metrics.h"

#include "base/mem.h"

/*
 * All counters exist from the start, at 0, so that rates over them are right
 * from their first increment on.
 */
void register_metrics(struct tsdb *db)
{
	struct metrics *m = db->o.metrics;
	struct tsdb_metrics *t = &db->metrics;

	t->appended =
		metrics_counter(m, "everprof_tsdb_head_samples_appended_total",
				"Profiles appended.", NULL);
	t->duplicates = metrics_counter(
		m, "everprof_tsdb_duplicate_samples_total",
		"Profiles that were stored already, with the same bytes.",
		NULL);
	t->conflicts = metrics_counter(
		m, "everprof_tsdb_conflicting_samples_total",
		"Profiles refused because another is stored at their time.",
		NULL);
	t->out_of_bounds =
		metrics_counter(m, "everprof_tsdb_out_of_bound_samples_total",
				"Profiles refused for their time.", NULL);
	t->flushes = metrics_counter(m, "everprof_tsdb_flushes_total",
				     "Flushes that succeeded.", NULL);
	t->flush_failures = metrics_counter(
		m, "everprof_tsdb_flushes_failed_total",
		"Flushes that failed; nothing is lost by one.", NULL);
	t->value_bytes = metrics_counter(
		m, "everprof_tsdb_value_bytes_read_total",
		"Stored bytes of profiles read to answer queries.", NULL);
	t->damaged = metrics_counter(
		m, "everprof_tsdb_profiles_damaged_total",
		"Profiles that could not be read because their bytes are damaged on disk.",
		NULL);
	t->torn = metrics_counter(
		m, "everprof_tsdb_torn_ends_total",
		"Logs whose end a start cut off: what was being written when the power went, never acknowledged.",
		NULL);
	/*
	 * Heads count into the counters of the database; they know only their
	 * environment.
	 */
	db->env.torn = t->torn;
	t->recovered = metrics_counter(
		m, "everprof_tsdb_profiles_recovered_total",
		"Profiles taken back from the WAL at a start because no range and no block had them.",
		NULL);
	t->seals = metrics_counter(m, "everprof_tsdb_seals_total",
				   "Ranges that became blocks.", NULL);
	t->compactions = metrics_counter(m, "everprof_tsdb_compactions_total",
					 "Compactions of blocks.", NULL);
	t->compaction_failures = metrics_counter(
		m, "everprof_tsdb_compactions_failed_total",
		"Compactions that failed; nothing is lost by one.", NULL);
	t->time_retentions = metrics_counter(
		m, "everprof_tsdb_time_retentions_total",
		"Blocks and ranges removed for their age.", NULL);
	t->size_retentions = metrics_counter(
		m, "everprof_tsdb_size_retentions_total",
		"Blocks and ranges removed for the size of all.", NULL);
	t->no_space = metrics_counter(m, "everprof_tsdb_no_space_total",
				      "How often the disk was found full.",
				      NULL);
	t->deleted = metrics_counter(m, "everprof_tsdb_deletions_total",
				     "Requests to delete profiles.", NULL);
	/* Shared by heads and blocks (benv), and by recovery. */
	db->env.corruptions = metrics_counter(
		m, "everprof_tsdb_range_corruptions_total",
		"Damaged records and files found in ranges and blocks.", NULL);
}
