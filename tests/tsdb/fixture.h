/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database for one test. It has a directory of its own, a clock that stands
 * still, and a disk that can be told to misbehave. It does no work in the
 * background.
 */
#ifndef TESTS_TSDB_FIXTURE_H
#define TESTS_TSDB_FIXTURE_H

#include "base/clock.h"
#include "base/mem.h"
#include "model/selector.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/hook.h"
#include "tests/tsdb/sample.h"
#include "tsdb/maintain/stats.h"
#include "tsdb/open/tsdb.h"
#include "tsdb/query/querier.h"

struct fixture {
	struct tempdir dir;
	struct hook hook;
	struct metrics *metrics;
	struct clock clock;
	struct tsdb_options o;
	struct tsdb *db;
	struct appender *a;
};

/* Make a fixture whose options are set and whose database is not open yet. */
static inline struct fixture *setup_closed(void)
{
	struct fixture *f = mem_new(struct fixture);

	f->dir = tempdir_make();
	f->metrics = metrics_new();
	f->hook = hook_make();
	clock_set(&f->clock, sample_ms(2000));
	f->o = (struct tsdb_options){ .path = f->dir.path,
				      .fs = &f->hook.fs,
				      .metrics = f->metrics,
				      .clock = &f->clock,
				      .sync_ms = 3600000,
				      .maintain_ms = -1,
				      .clock_steady_ms = -1,
				      .outage_ms = -1,
				      .wal_budget = 64 * MIB,
				      .wal_segment = MIB };
	return f;
}

/*
 * Close the database, if it is open, and open it, which must succeed. Returns
 * 0, so that it can be the first part of an expectation.
 */
static inline int reopen(struct fixture *f)
{
	struct err err = { .msg = "" };
	int rc;

	tsdb_close(f->db);
	f->db = NULL;
	rc = tsdb_open(&f->o, &f->db, &err);
	cr_assert(!rc, "%s", err.msg);
	f->a = tsdb_appender(f->db);
	return rc;
}

static inline struct fixture *setup(void)
{
	struct fixture *f = setup_closed();

	reopen(f);
	return f;
}

static inline struct tsdb_stats stats(struct fixture *f)
{
	struct tsdb_stats s;

	tsdb_stats(f->db, &s);
	return s;
}

static inline void teardown(struct fixture *f)
{
	if (f->db)
		cr_expect(stats(f).open_queriers == 0);
	tsdb_close(f->db);
	metrics_free(f->metrics);
	tempdir_fini(&f->dir);
	mem_free(f);
}

/* Append profile k of a series. Returns the appender's code. */
static inline int put(struct fixture *f, int series, int k)
{
	struct err err;
	uint64_t lsn;

	return sample_append(tsdb_appender(f->db), series, k, &lsn, &err);
}

/* Append profiles [from, to) of one series. */
static inline void put_series(struct fixture *f, int series, int from, int to)
{
	for (int k = from; k < to; k++)
		cr_expect(!put(f, series, k));
}

static inline int maintain(struct fixture *f, bool all)
{
	return tsdb_maintain(f->db, all, NULL);
}

/* How many profiles of a database can be listed and fetched. */
static inline size_t count_in(struct tsdb *db)
{
	struct profile p = { 0 };
	struct querier *q;
	size_t sum = 0;

	querier_open(db, NULL, &q);
	cr_assert(!querier_select(q, NULL, 0, INT64_MIN, INT64_MAX, NULL));
	for (size_t i = 0; i < querier_count(q); i++) {
		struct times_view t = { 0 };

		cr_expect(!querier_times(q, i, INT64_MIN, INT64_MAX, &t, NULL));
		for (size_t k = 0; k < t.count; k++)
			sum += !querier_fetch(q, i, t.ms[k], &p, NULL);
	}
	profile_fini(&p);
	querier_close(q);
	return sum;
}

static inline size_t count(struct fixture *f)
{
	return count_in(f->db);
}

/* Select one series of sample.h; the caller closes the querier. */
static inline struct querier *select_series_of(struct fixture *f, int series,
					       int64_t from, int64_t to)
{
	struct labels *ls = sample_labels(series);
	struct matcher m = { .op = MATCH_EQ,
			     .name = str_of("pod"),
			     .value = labels_get(ls, str_of("pod")) };
	struct querier *q;

	querier_open(f->db, NULL, &q);
	cr_assert(!querier_select(q, &m, 1, from, to, NULL));
	labels_unref(ls);
	return q;
}

/* Whether profile k of the one selected series is there, byte for byte. */
static inline bool is_good(struct querier *q, int series, int k)
{
	struct profile p = { 0 };
	struct buf want = { 0 };
	bool good;

	sample_bytes(series, k, &want);
	good = querier_count(q) == 1 &&
	       !querier_fetch(q, 0, sample_ms(k), &p, NULL) &&
	       bytes_eq(buf_bytes(&want), buf_bytes(&p.raw)) &&
	       bytes_eq(buf_bytes(&p.typeset), sample_types(series)) &&
	       p.period == k && p.duration_ns == 1000 && p.sample_count == 3;
	profile_fini(&p);
	buf_fini(&want);
	return good;
}

/* How many of profiles [from, to) of a series come back as they were. */
static inline int count_good(struct fixture *f, int series, int from, int to)
{
	struct querier *q =
		select_series_of(f, series, sample_ms(from), sample_ms(to) - 1);
	int good = 0;

	for (int k = from; k < to; k++)
		good += is_good(q, series, k);
	querier_close(q);
	return good;
}

#endif
