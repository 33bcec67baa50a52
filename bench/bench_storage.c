/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof-bench storage: appends a folder of profiles to a new database, then
 * flushes, seals, reopens and reads it, and prints the cost of each phase and a
 * yardstick to compare it with (the speed of zstd on this machine). Errors end
 * the process.
 */
#include "cmd/cli/cmd.h"

#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "base/thread.h"
#include "bench/bench.h"
#include "bench/bench_input.h"
#include "bench/bench_read.h"
#include "bench/bench_state.h"
#include "cmd/cli/process_memory.h"
#include "cmd/tools/source.h"
#include "pprof/columns/columns.h"
#include "tsdb/maintain/stats.h"

/*
 * Retention by time, in ms. Storage chooses the size of blocks by it. Nothing
 * is removed, because the option ignore_retention is set.
 */
#define RETENTION_MS (15LL * 86400 * 1000)
#define OPENINGS     5     /* number of openings; the best time is printed */
#define SAMPLE_US    20000 /* µs between two samples of memory */

/*
 * Bytes that this process has passed to write() so far, for the write
 * amplification; 0: unknown.
 */
static int64_t bench_storage_written_bytes(void)
{
	struct buf text = buf_init(64 * KIB);
	int64_t n = 0;
	const char *at = NULL;

	if (!file_slurp("/proc/self/io", &text, NULL))
		at = strstr(buf_cstr(&text), "wchar:");
	if (at)
		n = strtoll(at + sizeof("wchar:"), NULL, 10);
	buf_fini(&text);
	return n;
}

/*
 * The sum that add_bytes() computes; global, because nftw() passes no context.
 */
static uint64_t directory_bytes;

static int add_bytes(const char *path UNUSED, const struct stat *st, int type,
		     struct FTW *ftw UNUSED)
{
	if (type == FTW_F)
		directory_bytes += (uint64_t)st->st_size;
	return 0;
}

/*
 * Print the size of all files except the ballast (reserved space), which is not
 * data.
 */
static void print_directory(const struct bench *b, const char *path,
			    uint64_t ballast)
{
	directory_bytes = 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	nftw(path, add_bytes, 16, FTW_PHYS);
	directory_bytes -= ballast;
	printf("%-8s %.1f MB in the directory after a stop, less the ballast: %.2f x smaller than gzip\n",
	       "disk", (double)directory_bytes / 1e6,
	       (double)b->sent_bytes / (double)directory_bytes);
}

/* Print the sizes of the WAL, of head blocks and of blocks after a phase. */
static void print_sizes(struct bench *b, const char *when)
{
	struct tsdb_stats s;
	double mb = 1e6;

	tsdb_stats(b->db, &s);
	printf("%-8s WAL %.1f MB, head blocks' values %.1f MB and logs %.1f MB, %" PRIu64
	       " blocks %.1f MB; %.1f MB gzip as scraped, %.1f MB raw\n",
	       when, (double)s.wal_bytes / mb, (double)s.values_bytes / mb,
	       (double)s.groups_bytes / mb, s.blocks,
	       (double)s.block_bytes / mb, (double)b->sent_bytes / mb,
	       (double)b->raw_bytes / mb);
}

/*
 * Print how much smaller than gzip the stored profiles are, including
 * everything needed to read them: tables, index, meta.json.
 */
static void print_factor(struct bench *b)
{
	struct tsdb_stats s;
	uint64_t stored;

	tsdb_stats(b->db, &s);
	stored = s.block_bytes + s.values_bytes + s.groups_bytes;
	printf("%-8s %.1f MB of profiles, tables and index: %.2f x smaller than gzip\n",
	       "", (double)stored / 1e6,
	       (double)b->sent_bytes / (double)stored);
}

/*
 * Open the database; `budget` is the size in bytes at which the WAL is flushed.
 * Syncs and maintenance happen only when the benchmark asks for them, so that
 * phases do not overlap.
 */
static void bench_storage_open_db(struct bench *b, const char *path,
				  int64_t budget)
{
	struct tsdb_options o = { .columns = b->zstd_only ? NULL :
							    &codec_columns,
				  .path = path,
				  .metrics = b->metrics,
				  .sync_ms = 3600000,
				  .maintain_ms = -1,
				  .wal_budget = budget,
				  .retention_ms = RETENTION_MS,
				  .ignore_retention = true };
	struct err err;

	if (tsdb_open(&o, &b->db, &err))
		bench_die(&err);
}

/* nftw() callback that removes one file or folder of the database. */
static int bench_storage_remove_entry(const char *path,
				      const struct stat *st UNUSED,
				      int type UNUSED, struct FTW *ftw UNUSED)
{
	return remove(path);
}

/* The body of the thread that samples memory. */
static void *sample_memory(void *arg)
{
	struct bench *b = arg;

	while (atomic_load(&b->sampling)) {
		int64_t kb = memory_kb("RssAnon:");

		if (kb > atomic_load(&b->peak_kb))
			atomic_store(&b->peak_kb, kb);
		usleep(SAMPLE_US);
	}
	return NULL;
}

/* Start measuring the peak of memory. */
static void begin_sampling(struct bench *b)
{
	atomic_store(&b->peak_kb, 0);
	atomic_store(&b->sampling, true);
	b->sampler = thread_start("bench-memory", sample_memory, b);
}

/*
 * Stop measuring, and print by how much the peak exceeds `before_kb`, the
 * memory before the phase. That memory includes the loaded input.
 */
static void end_sampling(struct bench *b, const char *what, int64_t before_kb)
{
	atomic_store(&b->sampling, false);
	pthread_join(b->sampler, NULL);
	printf("%-8s RssAnon %+.1f MiB at its peak over the loaded folder; VmHWM %.1f MiB\n",
	       what, (double)(atomic_load(&b->peak_kb) - before_kb) / 1024,
	       (double)memory_kb("VmHWM:") / 1024);
}

/* Measure opening the database: the best of OPENINGS. */
static void bench_open(struct bench *b, const char *path)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < OPENINGS; i++) {
		int64_t began;

		tsdb_close(b->db);
		began = clock_mono_ns();
		bench_storage_open_db(b, path, 4 * GIB);
		began = clock_mono_ns() - began;
		best = began < best ? began : best;
	}
	printf("%-8s %.1f ms, the best of %d\n", "open", (double)best / 1e6,
	       OPENINGS);
}

/*
 * Measure appending and flushing, and reading before and after the flush.
 * Returns the CPU time of appending and flushing.
 */
static int64_t write_phase(struct bench *b)
{
	int64_t began = clock_cpu_ns();
	int64_t append_ns;
	struct err err;

	bench_append_all(b);
	append_ns = clock_cpu_ns() - began;
	bench_print_rate(b, "append", append_ns);
	print_sizes(b, "unflushed");
	bench_list(b, "list");
	bench_fetch(b, "fetch");
	began = clock_cpu_ns();
	if (tsdb_flush(b->db, &err))
		bench_die(&err);
	bench_print_rate(b, "flush", clock_cpu_ns() - began);
	append_ns += clock_cpu_ns() - began;
	print_sizes(b, "flushed");
	bench_list(b, "list");
	bench_fetch(b, "fetch");
	return append_ns;
}

/* Run all phases on a database in `path`. */
static void bench_storage_measure(struct bench *b, const char *path)
{
	int64_t before = memory_kb("RssAnon:");
	int64_t written = bench_storage_written_bytes();
	struct tsdb_stats s;
	int64_t total;
	int64_t began;
	struct err err;

	bench_storage_open_db(b, path, 4 * GIB);
	begin_sampling(b);
	total = write_phase(b);
	end_sampling(b, "append", before);
	begin_sampling(b);
	began = clock_cpu_ns();
	if (tsdb_maintain(b->db, true, &err))
		bench_die(&err);
	bench_print_rate(b, "seal", clock_cpu_ns() - began);
	bench_print_rate(b, "all", clock_cpu_ns() - began + total);
	end_sampling(b, "seal", before);
	printf("%-8s %.2f bytes written for each byte appended\n", "",
	       (double)(bench_storage_written_bytes() - written) /
		       (double)b->sent_bytes);
	print_sizes(b, "sealed");
	print_factor(b);
	bench_open(b, path);
	bench_list(b, "list");
	bench_fetch(b, "fetch");
	bench_read(b);
	tsdb_stats(b->db, &s);
	tsdb_close(b->db);
	print_directory(b, path, s.ballast_bytes);
}

/*
 * Measure in a new directory below /var/tmp, which is on a disk; /tmp may be in
 * memory.
 */
static void measure_in_tmp(struct bench *b)
{
	char path[] = "/var/tmp/everprof-bench-XXXXXX";
	struct err err;

	if (!mkdtemp(path)) { /* NOLINT(concurrency-mt-unsafe) */
		err_sys(&err, "cannot create a directory in /var/tmp");
		bench_die(&err);
	}
	bench_yardstick(b);
	bench_storage_measure(b, path);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	nftw(path, bench_storage_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/*
 * Only fill the WAL of a data directory, so that a later start can measure its
 * replay. The WAL budget is so large that nothing is flushed.
 */
static void bench_storage_fill(struct bench *b, const char *path, int64_t bytes)
{
	struct tsdb_stats s = { 0 };
	int64_t shift = 0;
	uint64_t lsn;

	bench_storage_open_db(b, path, 16 * GIB);
	while ((int64_t)s.wal_bytes <= bytes + 64 * MIB) {
		for (size_t i = 0; i < b->count; i++)
			bench_append(b, &b->v[i], 0, shift, &lsn);
		shift += bench_span(b);
		tsdb_stats(b->db, &s);
	}
	tsdb_close(b->db);
}

int bench_storage(int argc, char **argv)
{
	struct bench b = { .instances = 1, .repeat = 1, .step_ms = 15000 };
	struct source_visitor v = { .wants = bench_want_all,
				    .visit = bench_keep_item,
				    .unreadable = bench_complain,
				    .ctx = &b };
	const char *fill_dir = "";
	int64_t bytes = 2 * GIB;
	const struct flag flags[] = {
		{ "series", FLAG_INT, &b.instances, "1",
		  "Append each profile for this many instances." },
		{ "repeat", FLAG_INT, &b.repeat, "1",
		  "Append the folder this many times, one after another in time." },
		{ "interval", FLAG_DURATION, &b.step_ms, "15s",
		  "Time between the profiles of a series." },
		{ "zstd", FLAG_BOOL, &b.zstd_only, "false",
		  "Seal with zstd only, without the columns codec." },
		{ "fill", FLAG_TEXT, &fill_dir, NULL,
		  "Only fill the WAL of this data directory." },
		{ "bytes", FLAG_SIZE, &bytes, "2GB",
		  "Size of the WAL to write with --fill." },
		{ 0 },
	};
	static const struct usage u = {
		"storage FOLDER [FLAGS]",
		"Append a folder of profiles (<program>/<type>/<unix ms>.pb.gz, or tars of these) to a\n"
		"database in /var/tmp; then seal, compact, list, fetch, read and open it. Print the cost\n"
		"of each step, and the speed of the machine to compare with.",
		1, 1
	};
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);

	if (code >= 0)
		return code;
	if (source_walk(argv[0], &v, &err))
		return cmd_fail(&err);
	if (b.instances < 1 || b.repeat < 1 || b.step_ms < 1) {
		err_set(&err, ERR_INVALID,
			"--series and --repeat must be at least 1, and --interval at least 1ms");
		return cmd_fail(&err);
	}
	if (!b.count) {
		err_set(&err, ERR_INVALID, "%s contains no profiles", argv[0]);
		return cmd_fail(&err);
	}
	bench_respace(&b);
	b.unpacker = unpacker_new(64 * MIB);
	b.unpacked = mem_new(struct unpacked);
	b.metrics = metrics_new();
	if (*fill_dir)
		bench_storage_fill(&b, fill_dir, bytes);
	else
		measure_in_tmp(&b);
	return 0;
}
