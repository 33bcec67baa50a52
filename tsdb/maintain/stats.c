/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/maintain/stats.h"
#include "base/mutex.h"

#include "base/mem.h"
#include "tsdb/db/db.h"
#include "tsdb/db/flush_policy.h"

/* The size of a file; 0 if the file is missing or its size is unknown. */
static uint64_t stats_file_size_of(const struct file *f)
{
	uint64_t size = 0;

	return !f || file_size(f, &size, NULL) ? 0 : size;
}

/* Extend the time span of the statistics so that it includes a part. */
static void stats_extend_span(struct tsdb_stats *out, struct part p)
{
	/*
	 * The first part sets min_ms and max_ms. part_max() is inclusive,
	 * max_ms is exclusive.
	 */
	bool first = out->max_ms == 0;

	if (first || part_min(p) < out->min_ms)
		out->min_ms = part_min(p);
	if (first || part_max(p) >= out->max_ms)
		out->max_ms = part_max(p) + 1;
}

/*
 * The database may change between the reading of two numbers, so they may not
 * agree with one another.
 */
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
	out->head_weight = (uint64_t)atomic_load(&db->env.weight);
	/* view_mu keeps the parts alive, so no references are taken. */
	mutex_lock(&db->view_mu);
	out->heads = db->head_count;
	for (size_t i = 0; i < db->head_count; i++) {
		struct part p = { .head = db->heads[i] };

		/*
		 * The sizes of the files are used, because reading the head's
		 * own counts would require its lock.
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
 * Add the counters of three sources: heads and blocks, profiles that could not
 * be read, and the WAL.
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
