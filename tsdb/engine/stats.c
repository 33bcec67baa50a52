/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/stats.h"
#include "base/mutex.h"

#include "base/mem.h"
#include "tsdb/db/db.h"
#include "tsdb/db/flush_policy.h"

/* The size of a file that may be missing; 0 if unknown. */
static uint64_t stats_file_size_of(const struct file *f)
{
	uint64_t size = 0;

	return !f || file_size(f, &size, NULL) ? 0 : size;
}

/* Extend the time span of the statistics by a part. */
static void stats_extend_span(struct tsdb_stats *out, struct part p)
{
	/*
	 * The first part sets both ends. part_max() is inclusive, max_ms is
	 * not.
	 */
	bool first = out->max_ms == 0;

	if (first || part_min(p) < out->min_ms)
		out->min_ms = part_min(p);
	if (first || part_max(p) >= out->max_ms)
		out->max_ms = part_max(p) + 1;
}

/* Counters are read one by one: they need not agree with one another. */
void tsdb_stats(struct tsdb *db, struct tsdb_stats *out)
{
	*out = (struct tsdb_stats){ .wal_bytes = wal_bytes(db->wal) };
	out->clock_doubt_ms = atomic_load(&db->clock_doubt_ms);
	out->series = interner_count(db->interner);
	out->open_queriers = (uint64_t)atomic_load(&db->queriers);
	out->ballast_bytes = ballast_bytes(&db->ballast);
	out->series_limit = (uint64_t)db->o.max_series;
	out->unflushed_limit = UNFLUSHED_MAX;
	out->wal_limit = db->budget;
	out->retention_bytes = (uint64_t)db->o.retention_bytes;
	out->unflushed = (uint64_t)atomic_load(&db->env.unflushed);
	out->head_series = (uint64_t)atomic_load(&db->env.series);
	/* No references are taken: the lock keeps the parts meanwhile. */
	mutex_lock(&db->view_mu);
	out->heads = db->head_count;
	for (size_t i = 0; i < db->head_count; i++) {
		struct part p = { .head = db->heads[i] };

		/*
		 * The size of the file is read, as the head's own counts would
		 * need its lock.
		 */
		out->values_bytes += stats_file_size_of(p.head->values);
		out->groups_bytes += stats_file_size_of(p.head->groups);
		stats_extend_span(out, p);
	}
	out->blocks = db->block_count;
	for (size_t i = 0; i < db->block_count; i++) {
		struct part p = { .block = db->blocks[i] };

		out->block_bytes += p.block->bytes;
		out->block_samples += p.block->meta.samples;
		stats_extend_span(out, p);
	}
	mutex_unlock(&db->view_mu);
	out->storage_bytes = out->wal_bytes + out->values_bytes +
			     out->groups_bytes + out->block_bytes +
			     out->ballast_bytes;
}

/*
 * Three counters: heads and blocks, profiles that could not be read, and the
 * WAL.
 */
uint64_t tsdb_damage(struct tsdb *db)
{
	return (uint64_t)(metric_get(db->env.corruptions) +
			  metric_get(db->metrics.damaged) +
			  wal_corruptions(db->wal));
}

uint64_t tsdb_recovered(struct tsdb *db)
{
	return db->recovered;
}
