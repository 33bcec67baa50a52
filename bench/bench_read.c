/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reading side of `everprof-bench storage`. Times are CPU times, except for
 * the latency of single fetches, so that other load does not matter.
 */
#include "bench/bench_read.h"

#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bench/bench_state.h"
#include "tsdb/query/querier.h"

#define FETCHES  2000 /* number of fetches that measure the latency */
#define LISTINGS 20   /* number of listings; their mean is printed */

void bench_print_rate(struct bench *b, const char *what, int64_t ns)
{
	double s = (double)ns / 1e9;
	double mb = (double)b->raw_bytes / 1e6;

	printf("%-8s %8.0f profiles per CPU s, %6.0f raw MB per CPU s (%.2f of the yardstick)\n",
	       what, (double)b->appended / s, mb / s, mb / s / b->yard_in);
}

/* A querier over all series and times; the caller closes it. */
static struct querier *select_all(struct bench *b)
{
	struct querier *q;

	querier_open(b->db, NULL, &q);
	if (querier_select(q, NULL, 0, INT64_MIN, INT64_MAX, NULL))
		abort(); /* without limits and matchers it never fails */
	return q;
}

/* Ask for the times of all series. Returns the number of times. */
static size_t bench_read_list_once(struct querier *q)
{
	size_t sum = 0;

	for (size_t i = 0; i < querier_count(q); i++) {
		struct times_view t;
		struct err err;

		if (querier_times(q, i, INT64_MIN, INT64_MAX, &t, &err))
			bench_die(&err);
		sum += t.count;
	}
	return sum;
}

/* The first listing is not measured: it warms caches. */
void bench_list(struct bench *b, const char *what)
{
	struct querier *q = select_all(b);
	size_t listed = bench_read_list_once(q);
	int64_t began = clock_cpu_ns();

	for (int i = 0; i < LISTINGS; i++)
		listed = bench_read_list_once(q);
	printf("%-8s %zu timestamps of %zu series in %.2f CPU ms\n", what,
	       listed, querier_count(q),
	       (double)(clock_cpu_ns() - began) / 1e6 / LISTINGS);
	querier_close(q);
}

/* qsort() comparison of durations, ascending. */
static int by_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/*
 * The fetched profiles are chosen by a fixed random sequence, so that runs can
 * be compared.
 */
void bench_fetch(struct bench *b, const char *what)
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
			bench_die(&err);
		at = t.ms[(x >> 4) % t.count];
		began = clock_mono_ns();
		if (querier_fetch(q, s, at, &p, &err))
			bench_die(&err);
		took[i] = clock_mono_ns() - began;
	}
	qsort(took, FETCHES, sizeof(*took), by_ns);
	printf("%-8s one profile: p50 %.3f ms, p99 %.3f ms\n", what,
	       (double)took[median] / 1e6, (double)took[p99] / 1e6);
	profile_fini(&p);
	mem_free(took);
	querier_close(q);
}

/* Read series by series, each in the order of time, as an export does. */
void bench_read(struct bench *b)
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
			bench_die(&err);
		ms = mem_dup(t.ms, t.count * sizeof(*ms));
		for (size_t k = 0; k < t.count; k++) {
			if (querier_fetch(q, i, ms[k], &p, &err))
				bench_die(&err);
			bytes += p.raw.len;
		}
	}
	s = (double)(clock_cpu_ns() - began) / 1e9;
	printf("%-8s %6.0f raw MB per CPU s, one profile after another\n",
	       "read", (double)bytes / 1e6 / s);
	profile_fini(&p);
	querier_close(q);
}
