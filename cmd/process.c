/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of the process, under the names that Prometheus' client libraries
 * use, and of storage. Each gauge is a function that reads one number when
 * metrics are collected.
 */
#include "cmd/process.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/fs.h"
#include "cmd/memory.h"
#include "cmd/version.h"
#include "tsdb/stats.h"

/* Resident memory in bytes, with the pages of files. */
static int64_t process_read_resident(void *ctx UNUSED)
{
	return KIB * memory_kb("VmRSS:");
}

/* Without the pages of files, which the kernel can drop. */
static int64_t resident_anon(void *ctx UNUSED)
{
	return KIB * memory_kb("RssAnon:");
}

static int64_t virtual_bytes(void *ctx UNUSED)
{
	return KIB * memory_kb("VmSize:");
}

/* In nanoseconds; process_register() scales the metric to seconds. */
static int64_t process_read_cpu(void *ctx UNUSED)
{
	return clock_cpu_ns();
}

/* The number of open file descriptors; 0: they cannot be listed. */
static int64_t open_fds(void *ctx UNUSED)
{
	struct name_list l;
	int64_t n;

	if (fs_list(NULL, "/proc/self/fd", &l, NULL))
		return 0;
	n = (int64_t)l.count - 1; /* without that of the listing */
	name_list_fini(&l);
	return n;
}

/*
 * Every gauge reads all numbers of storage; that is cheap enough for the few
 * times metrics are collected.
 */
static struct tsdb_stats stats_of(void *db)
{
	struct tsdb_stats s;

	tsdb_stats(db, &s);
	return s;
}

/* Label sets in open heads, each counted once. */
static int64_t process_count_series(void *db)
{
	return (int64_t)stats_of(db).series;
}

static int64_t process_count_heads(void *db)
{
	return (int64_t)stats_of(db).heads;
}

/* Profiles that are only in the WAL. */
static int64_t process_count_unflushed(void *db)
{
	return (int64_t)stats_of(db).pending;
}

static int64_t wal_size(void *db)
{
	return (int64_t)stats_of(db).wal_bytes;
}

/* Bytes of the compressed chunks in open heads. */
static int64_t values_size(void *db)
{
	return (int64_t)stats_of(db).values_bytes;
}

/* Bytes of the logs of chunk metadata in open heads. */
static int64_t groups_size(void *db)
{
	return (int64_t)stats_of(db).groups_bytes;
}

/* A series counts once for each head that has it. */
static int64_t head_series(void *db)
{
	return (int64_t)stats_of(db).head_series;
}

static int64_t series_limit(void *db)
{
	return (int64_t)stats_of(db).series_limit;
}

/* The number of loaded blocks. */
static int64_t process_count_blocks(void *db)
{
	return (int64_t)stats_of(db).blocks;
}

static int64_t blocks_size(void *db)
{
	return (int64_t)stats_of(db).block_bytes;
}

/*
 * Everything in the data directory, with the ballast that is kept for a full
 * disk.
 */
static int64_t storage_size(void *db)
{
	struct tsdb_stats s = stats_of(db);

	return (int64_t)(s.wal_bytes + s.values_bytes + s.groups_bytes +
			 s.block_bytes + s.ballast_bytes);
}

/* Limits are gauges too, so that alerts can compare with them. */
static int64_t retention_limit(void *db)
{
	return (int64_t)stats_of(db).retention_bytes;
}

static int64_t pending_limit(void *db)
{
	return (int64_t)stats_of(db).pending_limit;
}

static int64_t wal_limit(void *db)
{
	return (int64_t)stats_of(db).wal_limit;
}

/* Grows without bound when queriers are leaked. */
static int64_t process_count_queriers(void *db)
{
	return (int64_t)stats_of(db).open_queriers;
}

/* Seconds, rounded up, so that 0 means that there is no doubt. */
static int64_t clock_doubt(void *db)
{
	return (stats_of(db).clock_doubt_ms + 999) / 1000;
}

/* Names follow Prometheus' TSDB where it has the same thing. */
static void register_storage(struct metrics *m, struct tsdb *db)
{
	metrics_gauge_fn(m, "everprof_tsdb_head_series",
			 "Label sets in open ranges.", process_count_series,
			 db);
	metrics_gauge_fn(m, "everprof_tsdb_head_series_in_ranges",
			 "The same, each once for each range.", head_series,
			 db);
	metrics_gauge_fn(m, "everprof_tsdb_head_series_limit",
			 "Beyond it ranges are sealed early; 0: no bound.",
			 series_limit, db);
	metrics_gauge_fn(m, "everprof_tsdb_ranges", "Open ranges.",
			 process_count_heads, db);
	metrics_gauge_fn(m, "everprof_tsdb_blocks_loaded", "Blocks.",
			 process_count_blocks, db);
	metrics_gauge_fn(m, "everprof_tsdb_storage_blocks_bytes",
			 "Bytes of blocks.", blocks_size, db);
	metrics_gauge_fn(m, "everprof_tsdb_storage_size_bytes",
			 "Bytes of all that is stored.", storage_size, db);
	metrics_gauge_fn(m, "everprof_tsdb_retention_limit_bytes",
			 "Beyond it the oldest are removed; 0: no bound.",
			 retention_limit, db);
	metrics_gauge_fn(m, "everprof_tsdb_profiles_unflushed_limit",
			 "Beyond it profiles are flushed.", pending_limit, db);
	metrics_gauge_fn(m, "everprof_tsdb_wal_limit_bytes",
			 "Beyond it the WAL is flushed.", wal_limit, db);
	metrics_gauge_fn(m, "everprof_tsdb_profiles_unflushed",
			 "Profiles that are only in the WAL.",
			 process_count_unflushed, db);
	metrics_gauge_fn(m, "everprof_tsdb_wal_size_bytes",
			 "Bytes of WAL segments.", wal_size, db);
	metrics_gauge_fn(m, "everprof_tsdb_values_size_bytes",
			 "Bytes of values in open ranges.", values_size, db);
	metrics_gauge_fn(m, "everprof_tsdb_groups_size_bytes",
			 "Bytes of logs of open ranges.", groups_size, db);
	metrics_gauge_fn(
		m, "everprof_tsdb_retention_clock_doubt_seconds",
		"How long retention by time has waited since the clock jumped; 0: it does not.",
		clock_doubt, db);
	metrics_gauge_fn(m, "everprof_tsdb_open_queriers",
			 "Queriers that have not been closed.",
			 process_count_queriers, db);
}

void process_register(struct metrics *m, struct tsdb *db)
{
	struct metric *started =
		metrics_gauge(m, "process_start_time_seconds",
			      "Start of the process, Unix time.", NULL);

	/* Set in ms, shown in seconds. */
	metrics_scale(m, "process_start_time_seconds", 1e-3);
	metric_set(started, clock_ms(NULL));
	metric_set(metrics_gauge(
			   m, "everprof_build_info",
			   "1, with version and revision as labels.",
			   &(struct metric_labels){
				   { "version", "revision" },
				   { EVERPROF_VERSION, EVERPROF_REVISION } }),
		   1);
	metrics_gauge_fn(m, "process_resident_memory_bytes", "Resident memory.",
			 process_read_resident, NULL);
	metrics_gauge_fn(m, "process_resident_anonymous_memory_bytes",
			 "Resident memory that is not of files.", resident_anon,
			 NULL);
	metrics_gauge_fn(m, "process_virtual_memory_bytes", "Address space.",
			 virtual_bytes, NULL);
	metrics_counter_fn(m, "process_cpu_seconds_total",
			   "User and system CPU time.", process_read_cpu, NULL);
	metrics_scale(m, "process_cpu_seconds_total", 1e-9);
	metrics_gauge_fn(m, "process_open_fds", "Open descriptors.", open_fds,
			 NULL);
	register_storage(m, db);
}
