/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof-bench series: the cost of many series. Profiles of 2 KB with label
 * sets of 8 labels and about 200 bytes are appended, 200 for each second of a
 * simulated clock, while head blocks are flushed and sealed as by `everprof
 * serve`. Then the database is opened again, and times are listed.
 */
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "bench/bench_state.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/process_memory.h"
#include "model/types.h"
#include "pprof/columns/columns.h"
#include "tsdb/maintain/stats.h"
#include "tsdb/open/tsdb.h"
#include "tsdb/query/querier.h"

#define START_MS   1700000000000LL
#define PER_SECOND 200  /* profiles per simulated second */
#define BODY_LEN   2048 /* bytes of a profile */
#define LISTINGS   5    /* number of listings; the best time is printed */

/* Options and figures of one run. */
struct series_bench {
	int64_t series;
	int64_t profiles; /* number of profiles to append */
	/*
	 * number of consecutive profiles of one series, before the next series
	 * begins
	 */
	int64_t lifetime;
	/*
	 * the clock of the database; simulated, so that hours pass in seconds
	 */
	struct clock clock;
	struct metrics *metrics;
	struct tsdb *db;
	struct buf typeset;
	int64_t start_kb;
	int64_t peak_kb;
	uint64_t peak_series;
	uint64_t refused;
};

/*
 * The labels of series `i`, like the labels of pods in Kubernetes: each pod has
 * four profile types, and each node 16 pods. The caller owns the labels.
 */
static struct labels *bench_series_make_labels(int64_t i)
{
	static const char *const types[] = { "heap", "profile", "goroutine",
					     "mutex" };
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;
	char text[64];

	labels_set(&b, str_of(LABEL_NAME), str_of(types[i % 4]));
	labels_set(&b, str_of("job"), str_of("some-service-of-the-fleet"));
	labels_set(&b, str_of("namespace"), str_of("production"));
	labels_set(&b, str_of("cluster"), str_of("europe-west-1"));
	labels_set(&b, str_of("container"), str_of("main"));
	snprintf(text, sizeof(text), "10.%d.%d.%d:6060", (int)(i >> 18),
		 (int)(i >> 10 & 255), (int)(i >> 2 & 255));
	labels_set(&b, str_of("instance"), str_of(text));
	snprintf(text, sizeof(text), "some-service-of-the-fleet-%08x",
		 (unsigned)(i / 4));
	labels_set(&b, str_of("pod"), str_of(text));
	snprintf(text, sizeof(text), "node-%05d", (int)(i / 64));
	labels_set(&b, str_of("node"), str_of(text));
	if (labels_build(&b, &ls, NULL))
		abort();
	labels_builder_fini(&b);
	return ls;
}

/*
 * Make the body of profile `n`. Every second byte is the same in all profiles,
 * and the rest are random, so about half of the body can be compressed.
 */
static void make_body(int64_t n, struct buf *out)
{
	uint64_t x = (uint64_t)n * 0x9e3779b97f4a7c15u + 1;

	buf_reset(out);
	for (size_t i = 0; i < BODY_LEN; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		buf_byte(out, i % 2 ? (uint8_t)x : (uint8_t)i);
	}
}

/*
 * Append profile `n`. Its body is not a valid profile, because storage does not
 * look into bodies.
 */
static int bench_series_bench_append(struct series_bench *b, int64_t n,
				     struct buf *body, struct err *err)
{
	struct appender *a = tsdb_appender(b->db);
	int64_t i = n / b->lifetime % b->series;
	struct labels *ls = bench_series_make_labels(i);
	int64_t totals[] = { n };
	struct sample s = { .labels = ls,
			    .ms = START_MS + n * 1000 / PER_SECOND,
			    .typeset = buf_bytes(&b->typeset),
			    .totals = totals };
	uint64_t lsn;
	int rc;

	make_body(n, body);
	s.body = buf_bytes(body);
	s.raw_len = (uint32_t)body->len;
	s.hash = hash_bytes(s.body);
	rc = a->append(a, &s, &lsn, err);
	labels_unref(ls);
	return rc;
}

/* Update the highest memory and the highest number of series in head blocks. */
static void bench_series_look_at(struct series_bench *b)
{
	struct tsdb_stats s;
	int64_t kb = memory_kb("RssAnon:");

	tsdb_stats(b->db, &s);
	if (kb > b->peak_kb)
		b->peak_kb = kb;
	if (s.head_weight > b->peak_series)
		b->peak_series = s.head_weight;
}

/* Maintenance runs every 100 ms, because the simulated clock runs fast. */
static int bench_series_open_db(struct series_bench *b, const char *path,
				struct err *err)
{
	struct tsdb_options o = { .columns = &codec_columns,
				  .path = path,
				  .clock = &b->clock,
				  .metrics = b->metrics,
				  .max_series = 200000,
				  .maintain_ms = 100 };

	return tsdb_open(&o, &b->db, err);
}

/*
 * Append everything. A profile that storage refuses because there are too many
 * series is lost, as in a scraper.
 */
static int bench_series_bench_append_all(struct series_bench *b,
					 struct err *err)
{
	struct buf body = { 0 };
	int rc = 0;

	for (int64_t n = 0; n < b->profiles && !rc; n++) {
		if (n % PER_SECOND == 0)
			clock_set(&b->clock, START_MS + n * 1000 / PER_SECOND);
		rc = bench_series_bench_append(b, n, &body, err);
		if (rc == ERR_LIMIT) {
			b->refused++;
			rc = 0;
		}
		if (n % 5000 == 0)
			bench_series_look_at(b);
	}
	bench_series_look_at(b);
	buf_fini(&body);
	return rc;
}

/* List the times of all series. Returns the number of times. */
static size_t bench_series_list_once(struct querier *q, size_t series)
{
	size_t sum = 0;

	for (size_t i = 0; i < series; i++) {
		struct times_view t;

		if (querier_times(q, i, INT64_MIN, INT64_MAX, &t, NULL))
			return 0;
		sum += t.count;
	}
	return sum;
}

/*
 * Read the totals (sums by sample type) of all profiles from chunk metadata.
 * Returns the number of profiles.
 */
static size_t total_once(struct querier *q, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		struct totals_view t = { 0 };

		if (!querier_totals(q, i, INT64_MIN, INT64_MAX, &t, NULL))
			count += t.count;
	}
	return count;
}

/* Measure selecting, listing and reading totals. */
static void bench_series_list_series(struct series_bench *b)
{
	struct querier *q;
	int64_t began = clock_cpu_ns();
	int64_t best = INT64_MAX;
	size_t count = 0;

	querier_open(b->db, NULL, &q);
	if (querier_select(q, NULL, 0, INT64_MIN, INT64_MAX, NULL))
		abort(); /* without limits and matchers it never fails */
	printf("select   %zu series in %.0f CPU ms\n", querier_count(q),
	       (double)(clock_cpu_ns() - began) / 1e6);
	for (int i = 0; i < LISTINGS; i++) {
		began = clock_cpu_ns();
		count = bench_series_list_once(q, querier_count(q));
		began = clock_cpu_ns() - began;
		best = began < best ? began : best;
	}
	printf("list     %zu timestamps in %.2f CPU ms, the best of %d\n",
	       count, (double)best / 1e6, LISTINGS);
	best = INT64_MAX;
	for (int i = 0; i < LISTINGS; i++) {
		began = clock_cpu_ns();
		count = total_once(q, querier_count(q));
		began = clock_cpu_ns() - began;
		best = began < best ? began : best;
	}
	printf("totals   of %zu profiles in %.2f CPU ms, the best of %d\n",
	       count, (double)best / 1e6, LISTINGS);
	querier_close(q);
}

/*
 * Run all phases: append, open the database again, seal its head blocks, list.
 */
static int bench_series_measure(struct series_bench *b, const char *path,
				struct err *err)
{
	struct tsdb_stats s;
	int64_t began;
	int rc;

	b->start_kb = memory_kb("RssAnon:");
	rc = bench_series_open_db(b, path, err);
	if (!rc)
		rc = bench_series_bench_append_all(b, err);
	if (rc)
		return rc;
	tsdb_stats(b->db, &s);
	printf("append   %" PRId64 " profiles of %" PRId64 " series, %" PRIu64
	       " refused\n",
	       b->profiles, b->series, b->refused);
	printf("memory   RssAnon %.1f MiB at its peak (%.1f at the start); %" PRIu64
	       " series in head blocks at most\n",
	       (double)b->peak_kb / 1024, (double)b->start_kb / 1024,
	       b->peak_series);
	printf("end      %" PRIu64 " head blocks, %" PRIu64 " blocks, %" PRIu64
	       " profiles only in the WAL\n",
	       s.heads, s.blocks, s.unflushed);
	tsdb_close(b->db);
	b->db = NULL;
	began = clock_mono_ns();
	rc = bench_series_open_db(b, path, err);
	if (rc)
		return rc;
	printf("open     %.0f ms; RssAnon %.1f MiB\n",
	       (double)(clock_mono_ns() - began) / 1e6,
	       (double)memory_kb("RssAnon:") / 1024);
	rc = tsdb_maintain(b->db, true, err);
	if (!rc)
		bench_series_list_series(b);
	tsdb_close(b->db);
	return rc;
}

/* nftw() callback that removes one file or folder of the database. */
static int bench_series_remove_entry(const char *path,
				     const struct stat *st UNUSED,
				     int type UNUSED, struct FTW *ftw UNUSED)
{
	return remove(path);
}

/* The encoded sample types that all profiles have. */
static void make_typeset(struct series_bench *b)
{
	struct typeset t = { .count = 1 };

	t.types[0] = (struct value_type){ str_of("samples"), str_of("count") };
	typeset_encode(&t, &b->typeset);
}

int bench_series(int argc, char **argv)
{
	struct series_bench b = { .series = 100000,
				  .profiles = 300000,
				  .lifetime = 1 };
	const struct flag flags[] = {
		{ "series", FLAG_INT, &b.series, "100000",
		  "Number of series." },
		{ "profiles", FLAG_INT, &b.profiles, "300000",
		  "Total number of profiles, at 200 a second." },
		{ "lifetime", FLAG_INT, &b.lifetime, "1",
		  "Number of consecutive profiles of a series, before the next series." },
		{ 0 },
	};
	static const struct usage u = {
		"series [FLAGS]",
		"Append small profiles of many series to a database in /var/tmp, as serve would over\n"
		"hours. Print memory use, start-up time and the time of listings.",
		0, 0
	};
	char path[] = "/var/tmp/everprof-bench-XXXXXX";
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	if (b.series < 1 || b.profiles < 1 || b.lifetime < 1)
		return 2;
	if (!mkdtemp(path)) {
		err_sys(&err, "cannot create a directory in /var/tmp");
		return cmd_fail(&err);
	}
	b.metrics = metrics_new();
	make_typeset(&b);
	rc = bench_series_measure(&b, path, &err);
	metrics_free(b.metrics);
	buf_fini(&b.typeset);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	nftw(path, bench_series_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	return rc ? cmd_fail(&err) : 0;
}
