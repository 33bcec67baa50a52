/* SPDX-License-Identifier: Apache-2.0 */
/*
 * everprof-bench merge: how fast profiles are decompressed and merged, and how
 * much memory that takes. All profiles of a type are merged, first of one
 * program, then of all programs.
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
#include "pprof/merge/merge.h"
#include "pprof/proto/decode.h"

#define RAW_MAX    ((size_t)1024 * MIB)
#define ROUNDS     5 /* number of rounds; the best time is printed */
#define YARD_LEVEL 3 /* level of zstd for the yardstick */
/* decompressed bytes after which the yardstick adds no more profiles */
#define YARD_BYTES (64 * MIB)

/* One profile in memory, as scraped. */
struct body {
	char *job;
	char *type;
	struct bytes data;
};

/* The input and a buffer for decompression. */
struct merge_bench {
	VEC(struct body) bodies;
	struct gzip *gzip;
	struct buf raw;
};

/* source_visitor.wants: take all profiles. */
static bool bench_merge_is_wanted(void *ctx UNUSED, int64_t ms UNUSED)
{
	return true;
}

/* source_visitor.visit: keep a copy if the path names job and type. */
static int bench_merge_add_item(void *ctx, const struct source_item *item,
				struct err *err UNUSED)
{
	struct merge_bench *b = ctx;

	if (item->job.len && item->type.len)
		*vec_add(&b->bodies) = (struct body){
			.job = mem_strndup(item->job),
			.type = mem_strndup(item->type),
			.data = { mem_dup(item->data.ptr, item->data.len),
				  item->data.len },
		};
	return 0;
}

/* source_visitor.unreadable: print the message and go on. */
static void bench_merge_report_unreadable(void *ctx UNUSED,
					  const struct err *err)
{
	console_say("%s", err->msg);
}

/*
 * The decompressed profile, valid until the next call; empty if it is damaged.
 */
static struct bytes bench_merge_unpacked(struct merge_bench *b,
					 const struct body *x)
{
	if (gzip_sniff(x->data) == GZIP_NONE)
		return x->data;
	buf_reset(&b->raw);
	if (gzip_decompress(b->gzip, x->data, &b->raw, NULL))
		return (struct bytes){ 0 };
	return buf_bytes(&b->raw);
}

/* A selection of the input that is merged and measured. */
struct set {
	const char *job; /* job of the program; NULL: all programs */
	const char *type;
};

/* Whether a profile belongs to the selection. */
static bool is_in(const struct set *s, const struct body *x)
{
	return !strcmp(s->type, x->type) &&
	       (!s->job || !strcmp(s->job, x->job));
}

/* The result of one merge. The members `raw` and `memory` are in bytes. */
struct figures {
	size_t count;
	size_t raw;
	size_t memory;
	int64_t cpu_ns;
};

/*
 * Merge a selection once. Its time includes decompression and decoding, as in a
 * query.
 */
static int merge_set(struct merge_bench *b, const struct set *s,
		     struct figures *f, struct err *err)
{
	struct merge *m = merge_new();
	struct decoder *d = decoder_new(RAW_MAX);
	int64_t began = clock_cpu_ns();
	int rc = 0;

	*f = (struct figures){ 0 };
	for (size_t i = 0; i < b->bodies.count && !rc; i++) {
		struct pprof *p;
		struct bytes raw;

		if (!is_in(s, &b->bodies.v[i]))
			continue;
		raw = bench_merge_unpacked(b, &b->bodies.v[i]);
		rc = decoder_run(d, raw, &p, err);
		if (!rc)
			rc = merge_add(m, p, NULL, err);
		f->count++;
		f->raw += raw.len;
	}
	if (!rc)
		(void)merge_finish(m);
	f->cpu_ns = clock_cpu_ns() - began;
	f->memory = merge_memory(m) + decoder_memory(d) + b->raw.cap;
	merge_free(m);
	decoder_free(d);
	return rc;
}

/* Measure a selection and print its best round. */
static int print_set(struct merge_bench *b, const struct set *s,
		     struct err *err)
{
	struct figures best = { .cpu_ns = INT64_MAX };
	int rc = 0;

	for (int i = 0; i < ROUNDS && !rc; i++) {
		struct figures f;

		rc = merge_set(b, s, &f, err);
		if (!rc && f.cpu_ns < best.cpu_ns)
			best = f;
	}
	if (rc || !best.count)
		return rc;
	printf("%-24s %5zu %8.1f %10.0f %8.0f %8.1f\n", s->type, best.count,
	       (double)best.raw / 1e6,
	       (double)best.count * 1e9 / (double)best.cpu_ns,
	       (double)best.raw * 1e3 / (double)best.cpu_ns,
	       (double)best.memory / (double)MIB);
	return 0;
}

/*
 * Print the yardstick, the speed of zstd -3 over the same profiles, so that
 * runs on different machines can be compared.
 */
static void bench_merge_yardstick(struct merge_bench *b)
{
	struct zstd *z = zstd_new();
	struct buf raw = { 0 };
	struct buf packed = { 0 };
	int64_t best = INT64_MAX;

	for (size_t i = 0; i < b->bodies.count && raw.len < YARD_BYTES; i++) {
		struct bytes one = bench_merge_unpacked(b, &b->bodies.v[i]);

		buf_add(&raw, one.ptr, one.len);
	}
	for (int i = 0; i < 3; i++) {
		struct bytes part = buf_bytes(&raw);
		int64_t began = clock_cpu_ns();

		buf_reset(&packed);
		zstd_compress(z, YARD_LEVEL, &part, 1, &packed);
		began = clock_cpu_ns() - began;
		best = began < best ? began : best;
	}
	printf("yardstick: zstd -3 %.0f MB/s in\n",
	       (double)raw.len * 1e3 / (double)best);
	zstd_free(z);
	buf_fini(&raw);
	buf_fini(&packed);
}

/* Load the folder and measure all selections. */
static int bench_merge_run(struct merge_bench *b, const char *path,
			   struct err *err)
{
	static const struct set sets[] = {
		{ "prometheus", "heap" }, { "prometheus", "profile" },
		{ "etcd", "goroutine" },  { NULL, "heap" },
		{ NULL, "profile" },      { NULL, "goroutine" },
	};
	const struct source_visitor v = { bench_merge_is_wanted,
					  bench_merge_add_item,
					  bench_merge_report_unreadable, b };
	int rc = source_walk(path, &v, err);

	if (rc)
		return rc;
	if (!b->bodies.count)
		return err_set(err, ERR_NOTFOUND,
			       "%s contains no files <job>/<type>/<ms>.pb.gz",
			       path);
	bench_merge_yardstick(b);
	printf("%-24s %5s %8s %10s %8s %8s\n", "type", "files", "raw MB",
	       "per CPU s", "MB/CPU s", "MiB");
	for (size_t i = 0; i < ARRAY_SIZE(sets) && !rc; i++) {
		if (i == 0 || (sets[i].job != sets[i - 1].job))
			printf("-- %s\n",
			       sets[i].job ? sets[i].job : "all programs");
		rc = print_set(b, &sets[i], err);
	}
	return rc;
}

int bench_merge(int argc, char **argv)
{
	static const struct flag none[] = { { 0 } };
	static const struct usage u = {
		"merge FOLDER",
		"Merge the profiles of a folder of tars. Print profiles and megabytes per CPU second,\n"
		"and the memory that merging took.",
		1, 1
	};
	struct merge_bench b = { .raw = buf_init(RAW_MAX) };
	struct err err;
	int code = cmd_begin(&u, none, &argc, argv);
	int rc;

	if (code >= 0)
		return code;
	b.gzip = gzip_new();
	rc = bench_merge_run(&b, argv[0], &err);
	for (size_t i = 0; i < b.bodies.count; i++) {
		mem_free(b.bodies.v[i].job);
		mem_free(b.bodies.v[i].type);
		mem_free(b.bodies.v[i].data.ptr);
	}
	vec_fini(&b.bodies);
	gzip_free(b.gzip);
	buf_fini(&b.raw);
	return rc ? cmd_fail(&err) : 0;
}
