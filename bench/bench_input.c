/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input of `everprof-bench storage`: loading profiles, giving them evenly
 * spaced times, the yardstick (the speed of zstd), and appending. Errors end
 * the process.
 */
#include "bench/bench_input.h"

#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/zstd.h"
#include "bench/bench_state.h"
#include "cmd/cli/console.h"
#include "cmd/tools/source.h"

#define YARD_MAX (64 * MIB) /* maximum decompressed bytes for the yardstick */
#define LEVEL    3          /* level of zstd for the yardstick */

void bench_die(const struct err *err)
{
	console_say("%s", err->msg);
	exit(1); /* NOLINT(concurrency-mt-unsafe) */
}

bool bench_want_all(void *ctx UNUSED, int64_t ms)
{
	return ms >= 0;
}

int bench_keep_item(void *ctx, const struct source_item *it,
		    struct err *err UNUSED)
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

void bench_complain(void *ctx UNUSED, const struct err *err)
{
	console_line(stderr, "%s", err->msg);
}

/* qsort() comparison: by job, type and time. */
static int by_series(const void *a, const void *b)
{
	const struct input *x = a;
	const struct input *y = b;
	int order = strcmp(x->job, y->job);

	if (!order)
		order = strcmp(x->type, y->type);
	return order ? order : (x->ms > y->ms) - (x->ms < y->ms);
}

/* qsort() comparison: by time alone. */
static int bench_input_by_time(const void *a, const void *b)
{
	const struct input *x = a;
	const struct input *y = b;

	return (x->ms > y->ms) - (x->ms < y->ms);
}

/* The k-th profile of each series gets the time START_MS + k * b->step_ms. */
void bench_respace(struct bench *b)
{
	int64_t k = 0;

	qsort(b->v, b->count, sizeof(*b->v), by_series);
	for (size_t i = 0; i < b->count; i++) {
		bool same = i && !strcmp(b->v[i].job, b->v[i - 1].job) &&
			    !strcmp(b->v[i].type, b->v[i - 1].type);

		k = same ? k + 1 : 0;
		b->v[i].ms = START_MS + k * b->step_ms;
	}
	qsort(b->v, b->count, sizeof(*b->v), bench_input_by_time);
}

int64_t bench_span(const struct bench *b)
{
	return b->v[b->count - 1].ms - START_MS + b->step_ms;
}

/* Every fifth profile is compressed; the best of three rounds counts. */
void bench_yardstick(struct bench *b)
{
	struct zstd *z = zstd_new();
	struct buf raw = buf_init(YARD_MAX);
	struct buf packed = { 0 };
	struct buf again = { 0 };
	struct bytes part;
	int64_t began;

	for (size_t i = 0; i < b->count; i += 5) {
		/* Profiles that are not valid are left out. */
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

/*
 * Make the labels of a profile. `instance` becomes the label "instance", so the
 * same profile appended with another number belongs to another series. The
 * caller owns the labels.
 */
static struct labels *bench_input_make_labels(const struct input *in,
					      int64_t instance)
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

/*
 * The profile is decompressed and checked here, because the scraper does so,
 * too, for each profile; it is part of the measured work.
 */
void bench_append(struct bench *b, const struct input *in, int64_t instance,
		  int64_t shift, uint64_t *lsn)
{
	struct appender *a = tsdb_appender(b->db);
	struct bytes body = buf_bytes(&in->body);
	struct sample s = { .labels = bench_input_make_labels(in, instance),
			    .ms = in->ms + shift };
	struct err err;

	if (unpacker_run(b->unpacker, body, b->unpacked, &err))
		bench_die(&err);
	unpacked_sample(b->unpacked, body, &s);
	if (a->append(a, &s, lsn, &err))
		bench_die(&err);
	labels_unref(s.labels);
	b->raw_bytes += b->unpacked->raw.len;
	b->sent_bytes += body.len;
	/*
	 * One sync for many profiles, as when many scrapes wait for the same
	 * sync.
	 */
	if (++b->appended % SYNC_EVERY == 0 && a->sync(a, *lsn, *lsn, &err))
		bench_die(&err);
}

/*
 * Each profile is appended for all instances before the next profile follows,
 * as a scraper of many instances would do.
 */
void bench_append_all(struct bench *b)
{
	struct appender *a = tsdb_appender(b->db);
	uint64_t lsn = 0;
	struct err err;

	for (int64_t r = 0; r < b->repeat; r++) {
		for (size_t i = 0; i < b->count; i++) {
			for (int64_t k = 0; k < b->instances; k++)
				bench_append(b, &b->v[i], k, r * bench_span(b),
					     &lsn);
		}
	}
	if (a->sync(a, lsn, lsn, &err))
		bench_die(&err);
}
