/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of the process, under the names that Prometheus' client libraries
 * use, and of storage. All gauges of one table are read from one snapshot, so
 * that a scrape of /metrics asks the kernel and storage once.
 */
#include "cmd/serve/process.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/fs.h"
#include "cmd/cli/process_memory.h"
#include "cmd/cli/version.h"
#include "tsdb/maintain/stats.h"

/* Figures of this process, as the kernel reports them. */
struct process_stats {
	int64_t resident; /* bytes in RAM, including pages of files */
	/*
	 * bytes in RAM without the pages of files, which the kernel could drop
	 */
	int64_t resident_anon;
	int64_t virtual_size;
	int64_t cpu_ns;
	int64_t open_fds;
};

/* The number of open file descriptors; 0: they cannot be listed. */
static int64_t process_count_fds(void)
{
	struct name_list l;
	int64_t n;

	if (fs_list(NULL, "/proc/self/fd", &l, NULL))
		return 0;
	n = (int64_t)l.count - 1; /* minus the descriptor used for listing */
	name_list_fini(&l);
	return n;
}

static void process_take_stats(void *ctx UNUSED, void *snapshot)
{
	struct process_stats *s = snapshot;

	s->resident = KIB * memory_kb("VmRSS:");
	s->resident_anon = KIB * memory_kb("RssAnon:");
	s->virtual_size = KIB * memory_kb("VmSize:");
	s->cpu_ns = clock_cpu_ns();
	s->open_fds = process_count_fds();
}

#define PROCESS(kind, ...) METRIC_ROW(kind, struct process_stats, __VA_ARGS__)

static const struct metric_row process_rows[] = {
	PROCESS(GAUGE, resident, "process_resident_memory_bytes",
		"Resident memory size in bytes."),
	PROCESS(GAUGE, resident_anon, "process_resident_anonymous_memory_bytes",
		"Resident anonymous memory size in bytes, which excludes mapped files."),
	PROCESS(GAUGE, virtual_size, "process_virtual_memory_bytes",
		"Virtual memory size in bytes."),
	PROCESS(COUNTER, cpu_ns, "process_cpu_seconds_total",
		"Total user and system CPU time spent in seconds.",
		.scale = 1e-9),
	PROCESS(GAUGE, open_fds, "process_open_fds",
		"Number of open file descriptors."),
};

static void storage_take_stats(void *db, void *snapshot)
{
	tsdb_stats(db, snapshot);
}

#define STORAGE(kind, ...) METRIC_ROW(kind, struct tsdb_stats, __VA_ARGS__)

/*
 * A metric that Prometheus' TSDB has, too, has the same name, with the prefix
 * everprof_ instead of prometheus_. Limits are gauges, too, so that alerts can
 * compare values with limits.
 */
static const struct metric_row storage_rows[] = {
	STORAGE(GAUGE, series, "everprof_tsdb_head_series",
		"Number of distinct series in head blocks."),
	STORAGE(GAUGE, head_weight, "everprof_tsdb_head_series_in_ranges",
		"Number of series in head blocks, counted once for each head block, and once more for each KiB of labels."),
	STORAGE(GAUGE, series_limit, "everprof_tsdb_head_series_limit",
		"Value of everprof_tsdb_head_series_in_ranges from which head blocks are sealed early; 0 means no limit."),
	STORAGE(GAUGE, heads, "everprof_tsdb_ranges", "Number of head blocks."),
	STORAGE(GAUGE, blocks, "everprof_tsdb_blocks_loaded",
		"Number of blocks."),
	STORAGE(GAUGE, block_bytes, "everprof_tsdb_storage_blocks_bytes",
		"Size of all blocks in bytes."),
	STORAGE(GAUGE, storage_bytes, "everprof_tsdb_storage_size_bytes",
		"Size of the WAL, head blocks, blocks and ballast in bytes."),
	STORAGE(GAUGE, retention_bytes, "everprof_tsdb_retention_limit_bytes",
		"Value of everprof_tsdb_storage_size_bytes from which the oldest blocks are removed; 0 means no limit."),
	STORAGE(GAUGE, unflushed_limit,
		"everprof_tsdb_profiles_unflushed_limit",
		"Value of everprof_tsdb_profiles_unflushed from which profiles are flushed."),
	STORAGE(GAUGE, wal_limit, "everprof_tsdb_wal_limit_bytes",
		"Value of everprof_tsdb_wal_size_bytes from which the WAL is flushed."),
	STORAGE(GAUGE, unflushed, "everprof_tsdb_profiles_unflushed",
		"Number of profiles that are stored in the WAL only."),
	STORAGE(GAUGE, wal_bytes, "everprof_tsdb_wal_size_bytes",
		"Size of the WAL in bytes."),
	STORAGE(GAUGE, values_bytes, "everprof_tsdb_values_size_bytes",
		"Size of the compressed chunks of head blocks in bytes."),
	STORAGE(GAUGE, groups_bytes, "everprof_tsdb_groups_size_bytes",
		"Size of the chunk metadata logs of head blocks in bytes."),
	STORAGE(GAUGE, clock_doubt_ms,
		"everprof_tsdb_retention_clock_doubt_seconds",
		"Seconds that everprof has been running since the system clock jumped and retention by time stopped following it; 0 if it follows the system clock.",
		.scale = 1e-3),
	STORAGE(GAUGE, open_queriers, "everprof_tsdb_open_queriers",
		"Number of open queriers; 0 while no query runs."),
};

/* Set the metrics that never change: the start time and the version. */
static void process_register_constants(struct metrics *m)
{
	struct metric *started = metrics_gauge(
		m, "process_start_time_seconds",
		"Start time of the process since the Unix epoch in seconds.",
		NULL);
	const struct metric_labels version = { { "version", "revision" },
					       { EVERPROF_VERSION,
						 EVERPROF_REVISION } };

	/* The start time is set in ms and shown in seconds. */
	metrics_scale(m, "process_start_time_seconds", 1e-3);
	metric_set(started, clock_ms(NULL));
	metric_set(
		metrics_gauge(
			m, "everprof_build_info",
			"A metric with a constant '1' value labeled by version and revision.",
			&version),
		1);
}

void process_register(struct metrics *m, struct tsdb *db)
{
	process_register_constants(m);
	metrics_register_snapshot(m,
				  &(struct metric_snapshot){
					  .rows = process_rows,
					  .count = ARRAY_SIZE(process_rows),
					  .size = sizeof(struct process_stats),
					  .take = process_take_stats,
				  });
	if (!db)
		return;
	metrics_register_snapshot(m, &(struct metric_snapshot){
					     .rows = storage_rows,
					     .count = ARRAY_SIZE(storage_rows),
					     .size = sizeof(struct tsdb_stats),
					     .take = storage_take_stats,
					     .ctx = db,
				     });
}
