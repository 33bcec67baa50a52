/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof-bench columns: encodes the profiles of a folder with the columns
 * codec and prints for each series how the profiles were encoded, and their
 * size compared with gzip as scraped and with zstd in chunks. It checks that
 * decoding restores each profile byte for byte.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "base/vec.h"
#include "base/zstd.h"
#include "bench/bench.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/console.h"
#include "cmd/tools/source.h"
#include "pprof/columns/columns.h"

#define RAW_MAX ((size_t)1024 * MIB)
#define LEVEL   5 /* zstd compression level, as in blocks */

/* A chunk ends at this number of profiles or of their bytes, as in storage. */
#define GROUP       32
#define GROUP_BYTES ((size_t)2 * MIB)

/*
 * Sums over one series, or over all series. The members `raw`, `gzip`, `zstd`,
 * `groups` and `table` are in bytes.
 */
struct figures {
	size_t profiles;
	size_t refused; /* profiles that the columns codec refused */
	size_t raw;
	size_t gzip;
	size_t zstd; /* bytes of the chunks, all encoded by zstd */
	/*
	 * bytes of the chunks as columns, or by zstd if the columns codec
	 * refused a chunk
	 */
	size_t groups;
	size_t table; /* bytes of the dictionary table */
	int64_t zstd_ns;
	int64_t encode_ns;
	int64_t decode_ns;
};

/* The state of the benchmark. `job` and `type` name the current series. */
struct columns_bench {
	size_t every; /* use only every n-th profile of a series */
	size_t seen;
	char *job;
	char *type;
	struct gzip *gzip;
	struct zstd *zstd;
	struct codec_encoder *encoder;
	struct codec_decoder *decoder;
	/* what the encoder had counted when the current series began */
	struct columns_counts counts;
	size_t table; /* bytes of the table when the current series began */
	/* profiles of the chunk that is being filled */
	struct buf raw[GROUP];
	size_t count;
	size_t raw_bytes;
	struct buf stored;
	struct buf again;
	struct figures series;
	struct figures all;
};

/* Decode the chunk and compare it with the input. ERR_CORRUPT: they differ. */
static int bench_columns_compare(struct columns_bench *b,
				 const struct bytes *values,
				 const uint32_t *lens, struct err *err)
{
	struct codec_group group = {
		.table = codec_columns.encoder_table(b->encoder),
		.stored = buf_bytes(&b->stored),
		.lens = lens,
		.count = b->count,
	};
	int64_t began = clock_cpu_ns();
	size_t at = 0;
	int rc;

	buf_reset(&b->again);
	rc = codec_columns.decode(b->decoder, &group, 0, b->count, &b->again,
				  err);
	b->series.decode_ns += clock_cpu_ns() - began;
	for (size_t i = 0; i < b->count && !rc; at += lens[i++]) {
		if (memcmp(b->again.ptr + at, values[i].ptr, lens[i]) != 0)
			rc = err_set(
				err, ERR_CORRUPT,
				"%s/%s: a profile was not restored byte for byte",
				b->job, b->type);
	}
	return rc;
}

/*
 * Encode the chunk by zstd and as columns, and add up the bytes of both. If the
 * columns codec refuses the chunk (ERR_UNSUPPORTED), the bytes of zstd are
 * added to both sums, because storage would use zstd.
 */
static int bench_columns_close_group(struct columns_bench *b, struct err *err)
{
	struct bytes values[GROUP];
	uint32_t lens[GROUP];
	struct err why;
	int64_t began = clock_cpu_ns();
	size_t zstd;
	int rc;

	if (!b->count)
		return 0;
	for (size_t i = 0; i < b->count; i++) {
		values[i] = buf_bytes(&b->raw[i]);
		lens[i] = (uint32_t)values[i].len;
	}
	buf_reset(&b->stored);
	zstd_compress(b->zstd, LEVEL, values, b->count, &b->stored);
	zstd = b->stored.len;
	b->series.zstd += zstd;
	b->series.zstd_ns += clock_cpu_ns() - began;
	buf_reset(&b->stored);
	began = clock_cpu_ns();
	rc = codec_columns.encode(b->encoder, values, b->count, &b->stored,
				  &why);
	b->series.encode_ns += clock_cpu_ns() - began;
	if (rc == ERR_UNSUPPORTED) {
		b->series.refused += b->count;
		b->series.groups += zstd;
		rc = 0;
	} else if (!rc) {
		b->series.groups += b->stored.len;
		rc = bench_columns_compare(b, values, lens, err);
	}
	b->count = 0;
	b->raw_bytes = 0;
	return rc;
}

/* How many times smaller `b` is than `a`; 0 if `b` is 0. */
static double bench_columns_print_times(size_t a, size_t b)
{
	return b ? (double)a / (double)b : 0;
}

/* The rate in MB per CPU second; 0: the time was not measured. */
static double bench_columns_print_rate(size_t bytes, int64_t ns)
{
	return ns ? (double)bytes * 1e3 / (double)ns : 0;
}

/* Print one line of the table whose titles bench_columns_run() prints. */
static void bench_columns_print(const char *job, const char *type,
				const struct figures *f,
				const struct columns_counts *c)
{
	printf("%-14s %-13s %5zu %5zu %5zu %5zu %6zu %6zu %8.1f %8.1f %7.1f "
	       "%7.1f %6.0f %6.0f %6.0f\n",
	       job, type, f->profiles, c->exact[0], c->exact[1] + c->exact[2],
	       c->patched, f->refused, f->gzip / f->profiles,
	       (double)f->groups / (double)f->profiles,
	       (double)f->table / (double)f->profiles,
	       bench_columns_print_times(f->gzip, f->groups + f->table),
	       bench_columns_print_times(f->gzip, f->zstd),
	       bench_columns_print_rate(f->raw, f->zstd_ns),
	       bench_columns_print_rate(f->raw, f->encode_ns),
	       bench_columns_print_rate(f->raw, f->decode_ns));
}

/* Add the figures of a series to the sums. */
static void bench_columns_add(struct figures *to, const struct figures *f)
{
	to->profiles += f->profiles;
	to->refused += f->refused;
	to->raw += f->raw;
	to->gzip += f->gzip;
	to->zstd += f->zstd;
	to->groups += f->groups;
	to->table += f->table;
	to->zstd_ns += f->zstd_ns;
	to->encode_ns += f->encode_ns;
	to->decode_ns += f->decode_ns;
}

/* The difference of two readings of the encoder's counters. */
static struct columns_counts
bench_columns_time_since(const struct columns_counts *now,
			 const struct columns_counts *was)
{
	struct columns_counts d = *now;

	for (size_t i = 0; i < ARRAY_SIZE(d.exact); i++)
		d.exact[i] -= was->exact[i];
	d.patched -= was->patched;
	d.patch_bytes -= was->patch_bytes;
	return d;
}

/*
 * End the current series: encode its last chunk, print its figures and add them
 * to the sums. All series of a target share one dictionary table; the bytes by
 * which the table has grown are counted for this series.
 */
static int close_series(struct columns_bench *b, struct err *err)
{
	const struct columns_counts *now = columns_encoder_counts(b->encoder);
	struct columns_counts counts;
	size_t table;
	int rc = bench_columns_close_group(b, err);

	if (rc || !b->series.profiles)
		return rc;
	table = columns_encoder_table_size(b->encoder);
	b->series.table = table - b->table;
	b->table = table;
	counts = bench_columns_time_since(now, &b->counts);
	b->counts = *now;
	bench_columns_print(b->job, b->type, &b->series, &counts);
	bench_columns_add(&b->all, &b->series);
	b->series = (struct figures){ 0 };
	b->seen = 0;
	return 0;
}

/*
 * End the current target: close its last series, and end its stripe (the chunks
 * that share one dictionary table).
 */
static int close_target(struct columns_bench *b, struct err *err)
{
	int rc = close_series(b, err);

	buf_reset(&b->stored);
	if (!rc)
		rc = codec_columns.encoder_finish(b->encoder, &b->stored, err);
	b->table = 0;
	return rc;
}

/* Whether `have`, the current job or type, equals `s`, that of an item. */
static bool is_same(const char *have, struct str s)
{
	return have && str_eq(str_of(have), s);
}

/*
 * If the item begins a new series or a new target, close the current series or
 * target and remember the job and type of the item. The walk is in the order of
 * names, so the items of a series are contiguous.
 */
static int bench_columns_run_turn(struct columns_bench *b,
				  const struct source_item *item,
				  struct err *err)
{
	int rc = 0;

	if (!is_same(b->job, item->job))
		rc = close_target(b, err);
	else if (!is_same(b->type, item->type))
		rc = close_series(b, err);
	else
		return 0;
	mem_free(b->job);
	mem_free(b->type);
	b->job = mem_strndup(item->job);
	b->type = mem_strndup(item->type);
	return rc;
}

/* source_visitor.wants: take all profiles. */
static bool bench_columns_is_wanted(void *ctx UNUSED, int64_t ms UNUSED)
{
	return true;
}

/*
 * source_visitor.visit: add a profile to the chunk. A chunk that is full is
 * closed first.
 */
static int bench_columns_add_item(void *ctx, const struct source_item *item,
				  struct err *err)
{
	struct columns_bench *b = ctx;
	struct buf raw = buf_init(RAW_MAX);
	int rc = bench_columns_run_turn(b, item, err);

	if (rc || b->seen++ % b->every)
		return rc;
	if (gzip_sniff(item->data) == GZIP_NONE)
		buf_add(&raw, item->data.ptr, item->data.len);
	else
		rc = gzip_decompress(b->gzip, item->data, &raw, err);
	if (!rc && (b->count == GROUP || b->raw_bytes + raw.len > GROUP_BYTES))
		rc = bench_columns_close_group(b, err);
	if (rc) {
		buf_fini(&raw);
		return rc;
	}
	b->series.profiles++;
	b->series.raw += raw.len;
	b->series.gzip += item->data.len;
	b->raw_bytes += raw.len;
	buf_fini(&b->raw[b->count]);
	b->raw[b->count++] = raw;
	return 0;
}

/* source_visitor.unreadable: print the message and go on. */
static void bench_columns_report_unreadable(void *ctx UNUSED,
					    const struct err *err)
{
	console_say("%s", err->msg);
}

/* Walk the folder and print a line for each series and the sum. */
static int bench_columns_run(struct columns_bench *b, const char *path,
			     struct err *err)
{
	const struct source_visitor v = { bench_columns_is_wanted,
					  bench_columns_add_item,
					  bench_columns_report_unreadable, b };
	int rc;

	printf("%-14s %-13s %5s %5s %5s %5s %6s %6s %8s %8s %7s %7s %6s %6s "
	       "%6s\n",
	       "job", "type", "files", "go", "pprof", "patch", "refuse", "gzip",
	       "group B", "table B", "x gzip", "zstd x", "MB/s", "MB/s",
	       "MB/s");
	rc = source_walk(path, &v, err);
	if (!rc)
		rc = close_target(b, err);
	if (rc)
		return rc;
	if (!b->all.profiles)
		return err_set(err, ERR_NOTFOUND,
			       "%s contains no files <job>/<type>/<ms>.pb.gz",
			       path);
	bench_columns_print("all", "", &b->all,
			    columns_encoder_counts(b->encoder));
	return 0;
}

int bench_columns(int argc, char **argv)
{
	int64_t every = 1;
	const struct flag flags[] = {
		{ "every", FLAG_INT, &every, "1",
		  "Use only every n-th profile of a series." },
		{ 0 },
	};
	static const struct usage u = {
		"columns FOLDER",
		"Encode the profiles of a folder of tars with the columns codec, one stripe for each\n"
		"job, and verify that decoding restores them. For each series, print how profiles were\n"
		"encoded, bytes per profile, the ratio to gzip, and megabytes per CPU second of zstd,\n"
		"encoding and decoding.",
		1, 1
	};
	struct columns_bench b = { 0 };
	struct err err;
	int code = cmd_begin(&u, flags, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	b.every = every > 0 ? (size_t)every : 1;
	b.gzip = gzip_new();
	b.zstd = zstd_new();
	b.encoder = codec_columns.encoder_new(LEVEL);
	b.decoder = codec_columns.decoder_new();
	rc = bench_columns_run(&b, argv[0], &err);
	mem_free(b.job);
	mem_free(b.type);
	gzip_free(b.gzip);
	zstd_free(b.zstd);
	codec_columns.encoder_free(b.encoder);
	codec_columns.decoder_free(b.decoder);
	for (size_t i = 0; i < GROUP; i++)
		buf_fini(&b.raw[i]);
	buf_fini(&b.stored);
	buf_fini(&b.again);
	return rc ? cmd_fail(&err) : 0;
}
