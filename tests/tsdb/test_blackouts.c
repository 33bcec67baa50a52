/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blackouts: at random moments, calls of one kind on some files fail for a
 * while, as when a controller resets, between appends, flushes, seals,
 * compactions, snapshots and restarts. When the disk answers again, every
 * profile that was accepted is there, byte for byte.
 *
 * EVERPROF_ROUNDS sets the number of lives; without it, there are 30.
 * EVERPROF_SEED sets the first seed.
 */
#include <stdlib.h>

#include "tests/tsdb/mishap.h"
#include "tsdb/maintain/snapshot.h"

TestSuite(blackouts, .timeout = 7200);

enum {
	SERIES = 6,
	PROFILES_MAX = 400,
	STEPS = 60,
	WINDOW_STEPS = 480, /* profiles of a series in a window */
};

/* A database on a bad disk, and what it has accepted. */
struct blackout_life {
	struct fixture *f;
	uint64_t random;
	int next[SERIES]; /* the next profile of each series */
	bool accepted[SERIES][PROFILES_MAX];
	int snapshots;
};

/* A random number below n (xorshift64). */
static unsigned pick(struct blackout_life *l, unsigned n)
{
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return (unsigned)(l->random >> 33) % n;
}

/* Let a kind of calls on some files fail from now on. */
static void begin_blackout(struct blackout_life *l)
{
	static const char *const parts[] = {
		"/wal/0", "/groups", "/values",   "/chunks",
		"/index", "ranges/", "meta.json", "",
	};
	static const enum fs_op ops[] = { FS_READ, FS_READ,  FS_READ, FS_PAGE,
					  FS_OPEN, FS_WRITE, FS_SYNC, FS_STAT };

	arm(l->f, ops[pick(l, ARRAY_SIZE(ops))],
	    parts[pick(l, ARRAY_SIZE(parts))], EIO, 1 + (int)pick(l, 300));
}

static void end_blackout(struct blackout_life *l)
{
	l->f->hook.times = 0;
}

/* Append some profiles of a series, each in a window of its own at times. */
static void append_some(struct blackout_life *l)
{
	unsigned series = pick(l, SERIES);

	for (unsigned i = 0; i < 12 && l->next[series] < PROFILES_MAX; i++) {
		int k = l->next[series]++;

		if (!put(l->f, (int)series, k * 10))
			l->accepted[series][k] = true;
	}
}

/*
 * Close the database as it is, and open it again. While the disk fails, it may
 * refuse to open: a server would be started again.
 */
static void restart(struct blackout_life *l)
{
	struct err err;

	tsdb_close(l->f->db);
	l->f->db = NULL;
	while (tsdb_open(&l->f->o, &l->f->db, &err))
		end_blackout(l);
	l->f->a = tsdb_appender(l->f->db);
}

/* One step of a life. What fails because of the disk is no failure. */
static void take_step(struct blackout_life *l)
{
	CLEANUP(mem_freep) char *name = mem_printf("s%d", l->snapshots++);

	switch (pick(l, 12)) {
	case 0:
		begin_blackout(l);
		break;
	case 1:
	case 2:
		end_blackout(l);
		break;
	case 3:
		(void)!tsdb_flush(l->f->db, NULL);
		break;
	case 4:
		(void)!maintain(l->f, pick(l, 2));
		break;
	case 5:
		(void)!tsdb_snapshot(l->f->db, name, true, NULL, NULL);
		break;
	case 6:
		restart(l);
		break;
	default:
		append_some(l);
	}
}

/* Count the accepted profiles that are not there, or not as they were. */
static int count_missing(struct blackout_life *l)
{
	int missing = 0;

	for (int s = 0; s < SERIES; s++) {
		struct querier *q =
			select_series_of(l->f, s, INT64_MIN, INT64_MAX);

		for (int k = 0; k < PROFILES_MAX; k++)
			missing += l->accepted[s][k] && !is_good(q, s, k * 10);
		querier_close(q);
	}
	return missing;
}

/* The profiles that starts have counted as missing from the WAL. */
static int64_t counted_missing(const struct blackout_life *l)
{
	return metric_get(metrics_counter(
		l->f->metrics, "everprof_tsdb_wal_profiles_missing_total", "",
		NULL));
}

static void live_once(uint64_t seed)
{
	struct blackout_life *l = mem_new(struct blackout_life);
	int missing;

	l->random = seed * 0x9e3779b97f4a7c15ull + 1;
	l->f = setup_closed();
	l->f->o.outage_ms = 0; /* the default: longer than this test */
	l->f->o.wal_segment = 20000;
	clock_set(&l->f->clock, sample_ms(PROFILES_MAX * 10));
	reopen(l->f);
	for (int i = 0; i < STEPS; i++)
		take_step(l);
	end_blackout(l);
	restart(l);
	cr_expect(!maintain(l->f, true), "seed %llu", (unsigned long long)seed);
	missing = count_missing(l);
	cr_expect(!missing, "seed %llu: %d profiles are missing",
		  (unsigned long long)seed, missing);
	restart(l);
	cr_expect(!count_missing(l), "seed %llu: after a restart",
		  (unsigned long long)seed);
	cr_expect(!counted_missing(l), "seed %llu: counted as missing: %d",
		  (unsigned long long)seed, (int)counted_missing(l));
	teardown(l->f);
	mem_free(l);
}

Test(blackouts, nothing_accepted_is_lost_when_the_disk_fails_for_a_while)
{
	const char *rounds = getenv("EVERPROF_ROUNDS");
	const char *seed = getenv("EVERPROF_SEED");
	uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
	uint64_t count = rounds ? strtoull(rounds, NULL, 10) : 30;

	for (uint64_t i = 0; i < count; i++)
		live_once(first + i);
}

Test(blackouts, lives_that_lost_profiles_once_lose_none)
{
	static const uint64_t seeds[] = { 412,  4385, 5474,  6431, 7302,
					  8451, 8523, 12247, 13699 };

	for (size_t i = 0; i < ARRAY_SIZE(seeds); i++)
		live_once(seeds[i]);
}
