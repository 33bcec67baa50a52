/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database on a disk that misbehaves on demand: calls that fail, and files
 * that somebody meddles with.
 */
#ifndef TESTS_TSDB_MISHAP_H
#define TESTS_TSDB_MISHAP_H

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/selector.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/sample.h"
#include "tsdb/querier.h"

/* Calls of one kind, on paths that hold a text, fail so many times. */
struct hook {
	struct fs fs; /* first: its calls cast back */
	enum fs_op op;
	const char *part;
	int number;
	int times; /* -1: always */
	unsigned slow_us;
	_Atomic long hits;
	/* A stretch that the disk does not give back, mapped or not. */
	const char *sector; /* in files whose path holds this; NULL: none */
	uint64_t from;
	uint64_t to;
	_Atomic long misses;
};

struct fixture {
	struct tempdir dir;
	struct hook hook;
	struct metrics *metrics;
	struct clock clock;
	struct tsdb_options o;
	struct tsdb *db;
};

static inline int hook_before(struct fs *fs, const struct fs_call *call)
{
	struct hook *h = (struct hook *)fs;

	if (h->sector && (call->op == FS_READ || call->op == FS_PAGE) &&
	    strstr(call->path, h->sector) && call->offset < h->to &&
	    call->offset + call->len > h->from) {
		h->misses++;
		return EIO;
	}
	if (!h->times || call->op != h->op || !strstr(call->path, h->part))
		return 0;
	h->hits++;
	if (h->slow_us)
		usleep(h->slow_us);
	if (h->times > 0)
		h->times--;
	return h->number;
}

static inline void hook_after(struct fs *fs, const struct fs_call *call)
{
	(void)fs;
	(void)call;
}

static inline void arm(struct fixture *f, enum fs_op op, const char *part,
		       int number, int times)
{
	f->hook.op = op;
	f->hook.part = part;
	f->hook.number = number;
	f->hook.hits = 0;
	f->hook.times = times;
}

static inline void break_sector(struct fixture *f, const char *part,
				uint64_t from, uint64_t to)
{
	f->hook.from = from;
	f->hook.to = to;
	f->hook.misses = 0;
	f->hook.sector = part;
}

static inline int reopen(struct fixture *f)
{
	tsdb_close(f->db);
	f->db = NULL;
	return tsdb_open(&f->o, &f->db, NULL);
}

static inline struct fixture *setup(void)
{
	struct fixture *f = mem_new(struct fixture);

	f->dir = tempdir_make();
	f->metrics = metrics_new();
	f->hook.fs = (struct fs){ .before = hook_before, .after = hook_after };
	clock_set(&f->clock, sample_ms(2000));
	f->o = (struct tsdb_options){ .path = f->dir.path,
				      .fs = &f->hook.fs,
				      .metrics = f->metrics,
				      .clock = &f->clock,
				      .sync_ms = 3600000,
				      .maintain_ms = -1,
				      .wal_budget = 64 * MIB,
				      .wal_segment = MIB };
	cr_assert(!reopen(f));
	return f;
}

static inline void teardown(struct fixture *f)
{
	tsdb_close(f->db);
	metrics_free(f->metrics);
	tempdir_fini(&f->dir);
	mem_free(f);
}

static inline int put(struct fixture *f, int series, int k)
{
	struct err err;
	uint64_t lsn;

	return sample_append(tsdb_appender(f->db), series, k, &lsn, &err);
}

static inline void put_all(struct fixture *f, int series, int from, int to)
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

	querier_open(db, &q);
	querier_select(q, NULL, 0, INT64_MIN, INT64_MAX);
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

/* What `dump` finds in the directory as it is: changes nothing. */
static inline size_t count_dumped(struct fixture *f)
{
	struct metrics *m = metrics_new();
	struct tsdb_options o = f->o;
	struct tsdb *db = NULL;
	size_t sum = 0;

	o.metrics = m;
	o.read_only = true;
	if (!tsdb_open(&o, &db, NULL))
		sum = count_in(db);
	tsdb_close(db);
	metrics_free(m);
	return sum;
}

/*
 * A copy of the directory as a power cut would leave it, without the end that
 * a clean stop makes, becomes the fixture's; nobody has it open.
 */
static inline void pull_the_plug(struct fixture *f)
{
	CLEANUP(mem_freep)
	char *copy = mem_printf("cp -r %s %s.copy", f->dir.path, f->dir.path);
	CLEANUP(mem_freep)
	char *swap = mem_printf("rm -r %s && mv %s.copy %s", f->dir.path,
				f->dir.path, f->dir.path);

	cr_assert(!system(copy));
	tsdb_close(f->db);
	f->db = NULL;
	cr_assert(!system(swap));
}

/* A shell command in the data directory, while the database is open. */
static inline void meddle_live(struct fixture *f, const char *what)
{
	CLEANUP(mem_freep)
	char *command = mem_printf("cd %s && %s", f->dir.path, what);

	cr_assert(!system(command), "%s", what);
}

/* A shell command in the data directory, while nobody has it open. */
static inline void meddle(struct fixture *f, const char *what)
{
	CLEANUP(mem_freep)
	char *command = mem_printf("cd %s && %s", f->dir.path, what);

	tsdb_close(f->db);
	f->db = NULL;
	cr_assert(!system(command));
}

#endif
