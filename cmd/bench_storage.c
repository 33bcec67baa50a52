/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof bench storage: what storage does with a folder of profiles, beside
 * the yardstick. Append is gzip body to durable, a sync every 100 profiles and
 * at the end; then everything is flushed, sealed, compacted, listed, fetched,
 * read and opened again. Rates are per CPU second of the whole process; the
 * machine's speed in the same run, zstd level 3 over the same profiles on one
 * core, is what makes them comparable.
 */
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
#include "base/mem.h"
#include "base/zstd.h"
#include "cmd/cmd.h"
#include "cmd/memory.h"
#include "cmd/source.h"
#include "pprof/columns.h"
#include "pprof/unpack.h"
#include "tsdb/querier.h"
#include "tsdb/stats.h"

#define START_MS     1700000000000LL
#define SYNC_EVERY   100
#define RETENTION_MS (15LL * 86400 * 1000) /* for the size of blocks */
#define OPENINGS     5
#define SAMPLE_US    20000
#define FETCHES      2000
#define LISTINGS     20
#define YARD_MAX     (64 * MIB)
#define LEVEL        3

struct input {
	char *job;
	char *type;
	int64_t ms;
	struct buf body;
};

struct bench {
	bool zstd_only;
	struct input *v;
	size_t count;
	size_t cap;
	size_t gzip_bytes;
	int64_t instances;
	int64_t step_ms;
	int64_t repeat;

	struct unpacker *unpacker;
	struct unpacked *unpacked;
	struct metrics *metrics;
	struct tsdb *db;
	size_t appended;
	size_t raw_bytes;
	size_t sent_bytes;
	double yard_in; /* MB/s */
	double yard_out;

	/* Peak of RssAnon, taken by a thread of its own. */
	pthread_t sampler;
	_Atomic bool sampling;
	_Atomic int64_t peak_kb;
};

NORETURN static void die(const struct err *err)
{
	fprintf(stderr, "everprof: %s\n", err->msg);
	exit(1); /* NOLINT(concurrency-mt-unsafe) */
}

/* The source: everything in memory, by time. */

static bool want_all(void *ctx UNUSED, int64_t ms)
{
	return ms >= 0;
}

static int keep(void *ctx, const struct source_item *it, struct err *err UNUSED)
{
	struct bench *b = ctx;
	struct input in = { .job = mem_strndup(it->job),
			    .type = mem_strndup(it->type),
			    .ms = it->ms };

	buf_add(&in.body, it->data.ptr, it->data.len);
	b->gzip_bytes += it->data.len;
	b->v = mem_grow(b->v, b->count, &b->cap, sizeof(*b->v));
	b->v[b->count++] = in;
	return 0;
}

static void complain(void *ctx UNUSED, const struct err *err)
{
	fprintf(stderr, "%s\n", err->msg);
}

static int by_series(const void *a, const void *b)
{
	const struct input *x = a;
	const struct input *y = b;
	int order = strcmp(x->job, y->job);

	if (!order)
		order = strcmp(x->type, y->type);
	return order ? order : (x->ms > y->ms) - (x->ms < y->ms);
}

static int by_time(const void *a, const void *b)
{
	const struct input *x = a;
	const struct input *y = b;

	return (x->ms > y->ms) - (x->ms < y->ms);
}

/* Space each series' profiles b->step_ms apart, and interleave the series. */
static void respace(struct bench *b)
{
	int64_t k = 0;

	qsort(b->v, b->count, sizeof(*b->v), by_series);
	for (size_t i = 0; i < b->count; i++) {
		bool same = i && !strcmp(b->v[i].job, b->v[i - 1].job) &&
			    !strcmp(b->v[i].type, b->v[i - 1].type);

		k = same ? k + 1 : 0;
		b->v[i].ms = START_MS + k * b->step_ms;
	}
	qsort(b->v, b->count, sizeof(*b->v), by_time);
}

static int64_t span(const struct bench *b)
{
	return b->v[b->count - 1].ms - START_MS + b->step_ms;
}

/* The yardstick. */

static void yardstick(struct bench *b)
{
	struct zstd *z = zstd_new();
	struct buf raw = buf_init(YARD_MAX);
	struct buf packed = { 0 };
	struct buf again = { 0 };
	struct bytes part;
	int64_t began;

	for (size_t i = 0; i < b->count; i += 5) {
		if (unpacker_run(b->unpacker, buf_bytes(&b->v[i].body),
				 b->unpacked, NULL))
			continue;
		buf_add(&raw, b->unpacked->raw.ptr, b->unpacked->raw.len);
	}
	part = buf_bytes(&raw);
	for (int round = 0; round < 3; round++) {
		double mb = (double)raw.len / 1e6;
		double rate;

		buf_reset(&packed);
		buf_reset(&again);
		began = clock_cpu_ns();
		zstd_compress(z, LEVEL, &part, 1, &packed);
		rate = mb * 1e9 / (double)(clock_cpu_ns() - began);
		b->yard_in = rate > b->yard_in ? rate : b->yard_in;
		began = clock_cpu_ns();
		if (zstd_decompress(z, buf_bytes(&packed), raw.len, &again,
				    NULL))
			abort();
		rate = mb * 1e9 / (double)(clock_cpu_ns() - began);
		b->yard_out = rate > b->yard_out ? rate : b->yard_out;
	}
	printf("yardstick: zstd -3 %.0f MB/s in, %.0f MB/s out\n", b->yard_in,
	       b->yard_out);
	buf_fini(&raw);
	buf_fini(&packed);
	buf_fini(&again);
	zstd_free(z);
}

/* Appending. */

static struct labels *make_labels(const struct input *in, int64_t instance)
{
	struct labels_builder b = { 0 };
	struct labels *ls = NULL;
	char name[32];

	snprintf(name, sizeof(name), "host-%" PRId64 ":6060", instance);
	labels_set(&b, str_of(LABEL_NAME), str_of(in->type));
	labels_set(&b, str_of("job"), str_of(in->job));
	labels_set(&b, str_of("instance"), str_of(name));
	if (labels_build(&b, &ls, NULL))
		abort();
	labels_builder_fini(&b);
	return ls;
}

static void append_one(struct bench *b, const struct input *in,
		       int64_t instance, int64_t shift, uint64_t *lsn)
{
	struct appender *a = tsdb_appender(b->db);
	struct bytes body = buf_bytes(&in->body);
	struct sample s = { .labels = make_labels(in, instance),
			    .ms = in->ms + shift };
	struct err err;

	if (unpacker_run(b->unpacker, body, b->unpacked, &err))
		die(&err);
	unpacked_sample(b->unpacked, body, &s);
	if (a->append(a, &s, lsn, &err))
		die(&err);
	labels_unref(s.labels);
	b->raw_bytes += b->unpacked->raw.len;
	b->sent_bytes += body.len;
	if (++b->appended % SYNC_EVERY == 0 && a->sync(a, *lsn, &err))
		die(&err);
}

static void append_all(struct bench *b)
{
	struct appender *a = tsdb_appender(b->db);
	uint64_t lsn = 0;
	struct err err;

	for (int64_t r = 0; r < b->repeat; r++) {
		for (size_t i = 0; i < b->count; i++) {
			for (int64_t k = 0; k < b->instances; k++)
				append_one(b, &b->v[i], k, r * span(b), &lsn);
		}
	}
	if (a->sync(a, lsn, &err))
		die(&err);
}

static void print_rate(struct bench *b, const char *what, int64_t ns)
{
	double s = (double)ns / 1e9;
	double mb = (double)b->raw_bytes / 1e6;

	printf("%-8s %8.0f profiles per CPU s, %6.0f raw MB per CPU s (%.2f of the yardstick)\n",
	       what, (double)b->appended / s, mb / s, mb / s / b->yard_in);
}

/* Reading. */

static struct querier *select_all(struct bench *b)
{
	struct querier *q;

	querier_open(b->db, &q);
	querier_select(q, NULL, 0, INT64_MIN, INT64_MAX);
	return q;
}

static size_t list_once(struct querier *q)
{
	size_t sum = 0;

	for (size_t i = 0; i < querier_count(q); i++) {
		struct times_view t;
		struct err err;

		if (querier_times(q, i, INT64_MIN, INT64_MAX, &t, &err))
			die(&err);
		sum += t.count;
	}
	return sum;
}

static void bench_list(struct bench *b, const char *what)
{
	struct querier *q = select_all(b);
	size_t listed = list_once(q);
	int64_t began = clock_cpu_ns();

	for (int i = 0; i < LISTINGS; i++)
		listed = list_once(q);
	printf("%-8s %zu timestamps of %zu series in %.2f CPU ms\n", what,
	       listed, querier_count(q),
	       (double)(clock_cpu_ns() - began) / 1e6 / LISTINGS);
	querier_close(q);
}

static int by_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void bench_fetch(struct bench *b, const char *what)
{
	struct querier *q = select_all(b);
	int64_t *took = mem_zalloc(FETCHES, sizeof(*took));
	const size_t median = FETCHES / 2;
	const size_t p99 = (size_t)FETCHES * 99 / 100;
	struct profile p = { 0 };
	unsigned x = 1;

	for (int i = 0; i < FETCHES; i++) {
		struct times_view t;
		int64_t began;
		size_t s;
		int64_t at;
		struct err err;

		x = x * 1103515245 + 12345;
		s = (x >> 8) % querier_count(q);
		if (querier_times(q, s, INT64_MIN, INT64_MAX, &t, &err))
			die(&err);
		at = t.ms[(x >> 4) % t.count];
		began = clock_mono_ns();
		if (querier_fetch(q, s, at, &p, &err))
			die(&err);
		took[i] = clock_mono_ns() - began;
	}
	qsort(took, FETCHES, sizeof(*took), by_ns);
	printf("%-8s one profile: p50 %.3f ms, p99 %.3f ms\n", what,
	       (double)took[median] / 1e6, (double)took[p99] / 1e6);
	profile_fini(&p);
	mem_free(took);
	querier_close(q);
}

/* Every value of every series, in order. */
static void bench_read(struct bench *b)
{
	struct querier *q = select_all(b);
	struct profile p = { 0 };
	size_t bytes = 0;
	int64_t began = clock_cpu_ns();
	double s;

	for (size_t i = 0; i < querier_count(q); i++) {
		struct times_view t;
		CLEANUP(mem_freep) int64_t *ms = NULL;
		struct err err;

		if (querier_times(q, i, INT64_MIN, INT64_MAX, &t, &err))
			die(&err);
		ms = mem_dup(t.ms, t.count * sizeof(*ms));
		for (size_t k = 0; k < t.count; k++) {
			if (querier_fetch(q, i, ms[k], &p, &err))
				die(&err);
			bytes += p.raw.len;
		}
	}
	s = (double)(clock_cpu_ns() - began) / 1e9;
	printf("%-8s %6.0f raw MB per CPU s, one profile after another\n",
	       "read", (double)bytes / 1e6 / s);
	profile_fini(&p);
	querier_close(q);
}

/* Bytes given to write() by this process so far. */
static int64_t written_bytes(void)
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

static uint64_t directory_bytes;

static int add_bytes(const char *path UNUSED, const struct stat *st, int type,
		     struct FTW *ftw UNUSED)
{
	if (type == FTW_F)
		directory_bytes += (uint64_t)st->st_size;
	return 0;
}

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

static void print_sizes(struct bench *b, const char *when)
{
	struct tsdb_stats s;
	double mb = 1e6;

	tsdb_stats(b->db, &s);
	printf("%-8s WAL %.1f MB, ranges' values %.1f MB and logs %.1f MB, %" PRIu64
	       " blocks %.1f MB; %.1f MB gzip as scraped, %.1f MB raw\n",
	       when, (double)s.wal_bytes / mb, (double)s.values_bytes / mb,
	       (double)s.groups_bytes / mb, s.blocks,
	       (double)s.block_bytes / mb, (double)b->sent_bytes / mb,
	       (double)b->raw_bytes / mb);
}

/* With all that it takes to give them back: tables, index and meta.json, too. */
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

static void open_db(struct bench *b, const char *path, int64_t budget)
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
		die(&err);
}

static int remove_entry(const char *path, const struct stat *st UNUSED,
			int type UNUSED, struct FTW *ftw UNUSED)
{
	return remove(path);
}

/* Peak memory. */

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

static void begin_sampling(struct bench *b)
{
	atomic_store(&b->peak_kb, 0);
	atomic_store(&b->sampling, true);
	if (pthread_create(&b->sampler, NULL, sample_memory, b))
		abort();
}

static void end_sampling(struct bench *b, const char *what, int64_t before_kb)
{
	atomic_store(&b->sampling, false);
	pthread_join(b->sampler, NULL);
	printf("%-8s RssAnon %+.1f MB at its peak over the loaded folder; VmHWM %.1f MB\n",
	       what, (double)(atomic_load(&b->peak_kb) - before_kb) / 1024,
	       (double)memory_kb("VmHWM:") / 1024);
}

static void bench_open(struct bench *b, const char *path)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < OPENINGS; i++) {
		int64_t began;

		tsdb_close(b->db);
		began = clock_mono_ns();
		open_db(b, path, 4 * GIB);
		began = clock_mono_ns() - began;
		best = began < best ? began : best;
	}
	printf("%-8s %.1f ms, the best of %d\n", "open", (double)best / 1e6,
	       OPENINGS);
}

/* Append and flush; returns the CPU time that it took. */
static int64_t write_phase(struct bench *b)
{
	int64_t began = clock_cpu_ns();
	int64_t append_ns;
	struct err err;

	append_all(b);
	append_ns = clock_cpu_ns() - began;
	print_rate(b, "append", append_ns);
	print_sizes(b, "unflushed");
	bench_list(b, "list");
	bench_fetch(b, "fetch");
	began = clock_cpu_ns();
	if (tsdb_flush(b->db, &err))
		die(&err);
	print_rate(b, "flush", clock_cpu_ns() - began);
	append_ns += clock_cpu_ns() - began;
	print_sizes(b, "flushed");
	bench_list(b, "list");
	bench_fetch(b, "fetch");
	return append_ns;
}

static void measure(struct bench *b, const char *path)
{
	int64_t before = memory_kb("RssAnon:");
	int64_t written = written_bytes();
	struct tsdb_stats s;
	int64_t total;
	int64_t began;
	struct err err;

	open_db(b, path, 4 * GIB);
	begin_sampling(b);
	total = write_phase(b);
	end_sampling(b, "append", before);
	begin_sampling(b);
	began = clock_cpu_ns();
	if (tsdb_maintain(b->db, true, &err))
		die(&err);
	print_rate(b, "seal", clock_cpu_ns() - began);
	print_rate(b, "all", clock_cpu_ns() - began + total);
	end_sampling(b, "seal", before);
	printf("%-8s %.2f bytes written for each that came\n", "",
	       (double)(written_bytes() - written) / (double)b->sent_bytes);
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

static void measure_in_tmp(struct bench *b)
{
	char path[] = "/var/tmp/everprof-bench-XXXXXX";
	struct err err;

	if (!mkdtemp(path)) { /* NOLINT(concurrency-mt-unsafe) */
		err_sys(&err, "make a folder in /var/tmp");
		die(&err);
	}
	yardstick(b);
	measure(b, path);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void fill(struct bench *b, const char *path, int64_t bytes)
{
	struct tsdb_stats s = { 0 };
	int64_t shift = 0;
	uint64_t lsn;

	open_db(b, path, 16 * GIB);
	while ((int64_t)s.wal_bytes <= bytes + 64 * MIB) {
		for (size_t i = 0; i < b->count; i++)
			append_one(b, &b->v[i], 0, shift, &lsn);
		shift += span(b);
		tsdb_stats(b->db, &s);
	}
	tsdb_close(b->db);
}

int cmd_bench_storage(int argc, char **argv)
{
	struct bench b = { .instances = 1, .repeat = 1, .step_ms = 15000 };
	struct source_visitor v = { .wants = want_all,
				    .visit = keep,
				    .unreadable = complain,
				    .ctx = &b };
	const char *fill_dir = "";
	int64_t bytes = 2 * GIB;
	const struct flag flags[] = {
		{ "series", FLAG_INT, &b.instances, "1",
		  "Append each profile for so many instances." },
		{ "repeat", FLAG_INT, &b.repeat, "1",
		  "Append the folder so often, one behind another in time." },
		{ "interval", FLAG_DURATION, &b.step_ms, "15s",
		  "Time between the profiles of a series." },
		{ "zstd", FLAG_BOOL, &b.zstd_only, "false",
		  "Seal with zstd alone, not as columns." },
		{ "fill", FLAG_TEXT, &fill_dir, NULL,
		  "Only fill this data directory's WAL." },
		{ "bytes", FLAG_SIZE, &bytes, "2GB", "With --fill: how far." },
		{ 0 },
	};
	static const struct usage u = {
		"bench storage FOLDER [FLAGS]",
		"Appends a folder of profiles, <program>/<type>/<unix ms>.pb.gz "
		"or tars of these, to a\ndatabase in /var/tmp; seals, compacts, "
		"lists, fetches, reads and opens it, and prints\nwhat each "
		"takes beside the speed of the machine.",
		1, 1
	};
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);

	if (code >= 0)
		return code;
	if (source_walk(argv[0], &v, &err))
		return cmd_fail(&err);
	if (!b.count || b.instances < 1 || b.repeat < 1 || b.step_ms < 1) {
		err_set(&err, ERR_INVALID, "nothing to do with %s", argv[0]);
		return cmd_fail(&err);
	}
	respace(&b);
	b.unpacker = unpacker_new(64 * MIB);
	b.unpacked = mem_new(struct unpacked);
	b.metrics = metrics_new();
	if (*fill_dir)
		fill(&b, fill_dir, bytes);
	else
		measure_in_tmp(&b);
	return 0;
}
